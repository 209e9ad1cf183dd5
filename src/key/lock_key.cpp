// SPDX-License-Identifier: BSL-1.0
#include "dlock/lock_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "dlock/detail/append_value.hpp"
#include "dlock/detail/key_pattern.hpp"
#include "dlock/detail/sha256.hpp"
#include "dlock/lock_keys.hpp"

namespace dlock {

namespace {

constexpr std::size_t digest_size = 64;
static_assert(lock_key::readable_size + 1 + digest_size == lock_key::max_size);

bool has_folded_shape(std::string_view bytes) noexcept {
  if (bytes.size() != lock_key::max_size || bytes[lock_key::readable_size] != ':') return false;
  const std::string_view digest = bytes.substr(lock_key::readable_size + 1);
  return std::all_of(digest.begin(), digest.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void fold(std::string& text) {
  if (text.size() < lock_key::max_size) return;
  if (text.size() == lock_key::max_size && !has_folded_shape(text)) return;
  const std::string digest = detail::sha256_hex(text);
  text.resize(lock_key::readable_size);
  text.push_back(':');
  text.append(digest);
}

std::string checked(std::string text) {
  if (text.empty()) throw std::invalid_argument("dlock: key '' is empty: a key has at least one byte");
  return text;
}

/// Whether the text contains {name} or {name.name}, in single braces.
bool has_part(std::string_view text) noexcept {
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] != '{') continue;
    if (text[at + 1] == '{') {
      ++at;
      continue;
    }
    const auto inside = text.substr(at + 1, detail::find_char(text.substr(at + 1), '}'));
    if (at + 1 + inside.size() != text.size() && detail::is_path(inside)) return true;
  }
  return false;
}

}  // namespace

namespace detail {

std::string_view checked_text(const char* text) {
  if (text == nullptr) throw std::invalid_argument("dlock: key is a null pointer: a key has at least one byte");
  return text;
}

std::string_view checked_array(const char* array, std::size_t size, bool may_be_literal) {
  const std::string_view text(array, find_char({array, size}, '\0'));
  // A literal fills its array; the text in a buffer or a field mostly doesn't, and is data.
  if (may_be_literal && text.size() + 1 == size && has_part(text)) {
    const auto shown = printable_text(text);
    throw std::invalid_argument(fmt::format(
        "dlock: key \"{0}\" is a pattern, and would be one lock for all values: write dlock::key<\"{0}\">(...), or, if "
        "this very text is the key, \"{0}\"sv (a std::string_view)",
        shown));
  }
  return text;
}

}  // namespace detail

lock_key::lock_key(verbatim, std::string bytes, std::size_t original_size) noexcept
    : bytes_(std::move(bytes)), original_size_(original_size), hash_(std::hash<std::string_view>()(bytes_)) {}

lock_key::lock_key(std::string text) : bytes_(checked(std::move(text))), original_size_(bytes_.size()) {
  fold(bytes_);
  hash_ = std::hash<std::string_view>()(bytes_);
}

lock_key::lock_key(std::string_view text) : lock_key(std::string(text)) {}

lock_key lock_key::from_stored(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > max_size) {
    throw std::invalid_argument(fmt::format("dlock: stored key '{}' has {} bytes: a store holds 1 to {}",
                                            detail::printable_text(bytes.substr(0, max_size)), bytes.size(), max_size));
  }
  return lock_key(verbatim(), std::string(bytes), bytes.size());
}

lock_key lock_key::of_row(std::shared_ptr<const row_table> table, std::vector<row_value> id) {
  if (table == nullptr) throw std::invalid_argument("dlock: key of a row: table = null");
  if (id.empty() || id.size() != table->id.size()) {
    throw std::invalid_argument(fmt::format("dlock: key of a row of '{}': {} id values for {} columns", table->label,
                                            id.size(), table->id.size()));
  }
  std::string text = table->label;
  for (const auto& each : id) {
    text.push_back(':');
    std::visit([&](const auto& value) { detail::append_value(text, value, table->label, "id"); }, each);
  }
  lock_key key(std::move(text));
  key.row_ = std::make_shared<const row_id>(row_id{std::move(table), std::move(id)});
  return key;
}

bool lock_key::folded() const noexcept { return has_folded_shape(bytes_); }

std::string lock_key::explain() const {
  if (!folded()) return fmt::format("'{}'", printable(*this));
  const std::string start = detail::printable_text(view().substr(0, readable_size));
  const std::string_view digest = view().substr(readable_size + 1);
  if (original_size_ == max_size) {  // it was read from a store, which does not keep the length of the original text
    return fmt::format("'{}...' (folded: first {} bytes, SHA-256 {})", start, readable_size, digest);
  }
  return fmt::format("'{}...' (folded: first {} of {} bytes, SHA-256 {})", start, readable_size, original_size_,
                     digest);
}

std::string printable(const lock_key& key) { return detail::printable_text(key.view()); }

// ---- several -------------------------------------------------------------------------------------------------------

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
