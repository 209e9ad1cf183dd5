// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "dlock/export.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace DLOCK_EXPORT dlock {

/// The key that a session watches while it keeps keys without a lease (lock_options::linger). Processes that wait for
/// one of these notify the watch: see request::wake. Nobody takes that key.
class linger_bell {
 public:
  explicit linger_bell(const id128& session) noexcept {
    std::copy(session.bytes.begin(), session.bytes.end(), std::copy(prefix.begin(), prefix.end(), bytes_.begin()));
  }
  std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  static constexpr std::string_view prefix{"\0linger/", 8};
  std::array<char, prefix.size() + sizeof(id128::bytes)> bytes_{};
};

/// Whether that poll notifies the process that keeps the key.
inline bool rings_holder(const request& asked, const reply& polled) noexcept {
  return asked.wake && polled.result == outcome::yes && polled.holder.holder && lingers(polled.holder.nonce);
}

}  // namespace dlock
