// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/row_owner.hpp"

#include <cstdlib>

#include "dlock/detail/sha256.hpp"

namespace dlock::stores::sql {

namespace {

constexpr std::size_t session_digits = 32;
constexpr std::size_t nonce_digits = 16;
constexpr std::size_t plain_size = session_digits + 1 + nonce_digits;
// One letter case: the column's collation may not tell 'a' from 'A'.
constexpr char digits[] = "0123456789abcdefghijklmnopqrstuv";

/// -1: not a digit as we write them.
int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// The lowest `count` hexadecimal digits.
void append_hex(std::string& to, std::uint64_t number, std::size_t count) {
  for (auto shift = 4 * count; shift != 0;) to.push_back(digits[number >> (shift -= 4) & 15U]);
}

bool read_hex(std::string_view text, std::uint64_t& number) noexcept {
  for (const char c : text) {
    const int value = digit(c);
    if (value < 0) return false;
    number = number << 4 | static_cast<unsigned>(value);
  }
  return true;
}

/// "<session>/" of a text that has the size for it.
bool read_session(std::string_view text, id128& session) noexcept {
  if (text.size() != plain_size || text[session_digits] != '/') return false;
  for (std::size_t i = 0; i != session.bytes.size(); ++i) {
    std::uint64_t byte = 0;
    if (!read_hex(text.substr(2 * i, 2), byte)) return false;
    session.bytes[i] = static_cast<unsigned char>(byte);
  }
  return true;
}

std::string_view without_mark(std::string_view text) noexcept {
  if (text.size() == plain_size + 1 && text.back() == '+') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string row_owner::text() const {
  std::string made = session.hex();
  made.push_back('/');
  append_hex(made, nonce, nonce_digits);
  return made;
}

std::optional<row_owner> row_owner::parse(std::string_view text) noexcept {
  row_owner owner;
  if (!read_session(text, owner.session) || !read_hex(text.substr(session_digits + 1), owner.nonce)) return {};
  return owner;
}

tables_id tables_id::made_of(std::string_view name) {
  return tables_id(std::strtoull(dlock::detail::sha256_hex(name).substr(0, 8).c_str(), nullptr, 16));
}

std::string tables_id::text() const {
  std::string made;
  for (unsigned shift = 20; shift != 0;) made.push_back(digits[number_ >> (shift -= 5) & 31U]);
  return made;
}

std::string row_holder::text() const {
  std::string made = session.hex();
  made.reserve(plain_size + 1);
  made.push_back('/');
  made += tables.text();
  append_hex(made, nonce, nonce_digits - tables_id::size);
  return made;
}

std::optional<row_holder> row_holder::parse(std::string_view text, tables_id ours) noexcept {
  text = without_mark(text);
  row_holder holder{.tables = ours};
  if (!ours.known() || !read_session(text, holder.session)) return {};
  const auto rest = text.substr(session_digits + 1);
  if (rest.substr(0, tables_id::size) != ours.text() || !read_hex(rest.substr(tables_id::size), holder.nonce))
    return {};
  return holder;
}

std::string row_holder::describe_foreign(std::string_view text) {
  row_holder other;
  const auto plain = without_mark(text);
  if (!read_session(plain, other.session) ||
      !read_hex(plain.substr(session_digits + 1 + tables_id::size), other.nonce)) {
    return std::string(text);
  }
  return std::string("a program with other lock tables (id ")
      .append(plain.substr(session_digits + 1, tables_id::size))
      .append("), session ")
      .append(other.session.hex());
}

}  // namespace dlock::stores::sql
