// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/named_lock/name.hpp"

#include <algorithm>

#include "dlock/detail/sha256.hpp"

namespace dlock::stores::mysql::named_lock {

namespace {

constexpr std::size_t longest_name = 64;  // MySQL's limit; MariaDB's is greater

bool names_itself(std::string_view text) {
  if (text.empty() || text.size() > longest_name || text.front() == '#' || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && !(c >= 'A' && c <= 'Z'); });
}

}  // namespace

std::string lock_name(std::string_view prefix, std::string_view key) {
  auto text = std::string(prefix).append(key);
  if (names_itself(text)) return text;
  return '#' + detail::sha256_hex(text).substr(0, longest_name - 1);
}

}  // namespace dlock::stores::mysql::named_lock
