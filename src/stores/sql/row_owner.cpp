// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/row_owner.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <system_error>

#include "dlock/detail/sha256.hpp"

namespace dlock::stores::sql {

namespace {

constexpr std::size_t session_digits = 32;
constexpr std::size_t plain_size = session_digits + 1 + 16;
// Only small letters, because the column's collation may not tell 'a' from 'A'.
constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuv";

/// Reads hexadecimal digits as dlock writes them.
bool read_hex(std::string_view text, std::uint64_t& number) noexcept {
  return text.find_first_not_of(digits.substr(0, 16)) == std::string_view::npos &&
         std::from_chars(text.data(), text.data() + text.size(), number, 16).ec == std::errc{};
}

/// Reads "<session>/" from a text that is long enough.
bool read_session(std::string_view text, id128& session) noexcept {
  if (text.size() != plain_size || text.find_first_not_of(digits.substr(0, 16)) != session_digits) return false;
  const auto read = id128::parse(text.substr(0, session_digits));
  if (text[session_digits] != '/' || !read) return false;
  session = *read;
  return true;
}

std::string_view without_mark(std::string_view text) noexcept {
  if (text.size() == plain_size + 1 && text.back() == row_holder::verified_mark) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string row_owner::text() const { return fmt::format("{}/{:016x}", session.hex(), nonce); }

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

void row_holder::write(char* to) const noexcept {
  const auto put = [&](char character) { *to++ = character; };
  for (const auto byte : session.bytes) {
    put(digits[byte >> 4U]);
    put(digits[byte & 15U]);
  }
  put('/');
  for (unsigned shift = 20; shift != 0;) put(digits[tables.number() >> (shift -= 5) & 31U]);
  for (unsigned shift = 48; shift != 0;) put(digits[nonce >> (shift -= 4) & 15U]);
}

std::string row_holder::text() const {
  std::string made(size, ' ');
  write(made.data());
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
  return fmt::format("a program with other lock tables (id {}), session {}",
                     plain.substr(session_digits + 1, tables_id::size), other.session.hex());
}

}  // namespace dlock::stores::sql
