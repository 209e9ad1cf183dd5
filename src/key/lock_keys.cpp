// SPDX-License-Identifier: BSL-1.0
#include "dlock/lock_keys.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace dlock {

lock_keys::lock_keys(std::vector<lock_key> keys) : keys_(std::move(keys)) {
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  if (keys_.empty()) throw std::invalid_argument("dlock: keys = {}: 0 keys, at least 1 is needed");
  if (keys_.size() > max_size) {
    throw std::invalid_argument("dlock: keys = " + std::to_string(keys_.size()) + " keys: at most " +
                                std::to_string(max_size) + " can be locked together");
  }
}

std::size_t lock_keys::find(const lock_key& key) const noexcept {
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
  return at != keys_.end() && *at == key ? static_cast<std::size_t>(at - keys_.begin()) : size();
}

std::string printable(const lock_keys& keys) {
  std::string text;
  for (const auto& each : keys) text += (text.empty() ? "'" : ", '") + printable(each) + "'";
  return text;
}

}  // namespace dlock
