// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/lock_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "dlock/detail/append_value.hpp"
#include "dlock/detail/sha256.hpp"

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

std::string fold(std::string text) {
  if (text.size() < lock_key::max_size) return text;
  if (text.size() == lock_key::max_size && !has_folded_shape(text)) return text;
  const std::string digest = detail::sha256_hex(text);
  text.resize(lock_key::readable_size);
  text.push_back(':');
  text.append(digest);
  return text;
}

std::string checked(std::string text) {
  if (text.empty()) throw std::invalid_argument("dlock: key '' is empty: a key has at least one byte");
  return text;
}

std::string_view checked_pointer(const char* text) {
  if (text == nullptr) throw std::invalid_argument("dlock: key is a null pointer: a key has at least one byte");
  return text;
}

struct code_point {
  char32_t value;
  std::size_t size;  // bytes; 0: not well-formed UTF-8
};

// Decodes the first code point of a text that begins with a byte above 0x7f.
code_point decode(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {0, 0};
  char32_t value = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i != size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0u) != 0x80u) return {0, 0};
    value = value << 6 | (next & 0x3fu);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  return overlong || surrogate || value > 0x10ffff ? code_point{0, 0} : code_point{value, size};
}

// Characters that could make two different keys look alike on a screen, or disturb it.
bool is_deceptive(char32_t c) noexcept {
  return c < 0xa1 || c == 0xad || c == 0x61c || (c >= 0x180b && c <= 0x180f) || (c >= 0x2000 && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202f) || (c >= 0x205f && c <= 0x206f) || c == 0x3000 || (c >= 0xfe00 && c <= 0xfe0f) ||
         c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) || c >= 0xe0000;
}

}  // namespace

lock_key::lock_key(verbatim, std::string bytes, std::size_t original_size) noexcept
    : bytes_(std::move(bytes)), original_size_(original_size), hash_(std::hash<std::string_view>()(bytes_)) {}

lock_key::lock_key(std::string text) : bytes_(checked(std::move(text))), original_size_(bytes_.size()) {
  bytes_ = fold(std::move(bytes_));
  hash_ = std::hash<std::string_view>()(bytes_);
}

lock_key::lock_key(std::string_view text) : lock_key(std::string(text)) {}

lock_key::lock_key(const char* text) : lock_key(checked_pointer(text)) {}

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
  lock_key made(std::move(text));
  made.row_ = std::make_shared<const row_id>(row_id{std::move(table), std::move(id)});
  return made;
}

bool lock_key::folded() const noexcept { return has_folded_shape(bytes_); }

std::string lock_key::explain() const {
  if (!folded()) return fmt::format("'{}'", printable(*this));
  const std::string start = detail::printable_text(view().substr(0, readable_size));
  const std::string_view digest = view().substr(readable_size + 1);
  if (original_size_ == max_size) {  // read from a store: how long the text was is not known
    return fmt::format("'{}...' (folded: first {} bytes, SHA-256 {})", start, readable_size, digest);
  }
  return fmt::format("'{}...' (folded: first {} of {} bytes, SHA-256 {})", start, readable_size, original_size_,
                     digest);
}

std::string printable(const lock_key& key) { return detail::printable_text(key.view()); }

std::string detail::printable_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t used = 1;
    if (byte == '\\') {
      result.append("\\\\");
    } else if (byte >= 0x20 && byte < 0x7f) {
      result.push_back(text.front());
    } else if (const code_point next = byte > 0x7f ? decode(text) : code_point{0, 0};
               next.size != 0 && !is_deceptive(next.value)) {
      result.append(text.substr(0, next.size));
      used = next.size;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", byte);
    }
    text.remove_prefix(used);
  }
  return result;
}

}  // namespace dlock
