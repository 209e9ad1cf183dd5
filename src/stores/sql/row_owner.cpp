// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::sql {

namespace {

constexpr std::size_t session_digits = 32;
constexpr std::size_t plain_size = session_digits + 1 + 16;

/// -1: not a digit as we write them.
int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string row_owner::text() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string made = session.hex();
  made.reserve(plain_size + 1);
  made.push_back('/');
  for (int shift = 60; shift >= 0; shift -= 4) made.push_back(digits[nonce >> static_cast<unsigned>(shift) & 15U]);
  return made;
}

std::optional<row_owner> row_owner::parse(std::string_view text) noexcept {
  if (text.size() == plain_size + 1 && text.back() == '+') text.remove_suffix(1);
  if (text.size() != plain_size || text[session_digits] != '/') return {};
  row_owner owner;
  for (std::size_t i = 0; i < plain_size; ++i) {
    if (i == session_digits) continue;
    const int value = digit(text[i]);
    if (value < 0) return {};
    if (i < session_digits) {
      auto& byte = owner.session.bytes[i / 2];
      byte = static_cast<unsigned char>(byte << 4 | value);
    } else {
      owner.nonce = owner.nonce << 4 | static_cast<unsigned>(value);
    }
  }
  return owner;
}

}  // namespace dlock::stores::sql
