// SPDX-License-Identifier: BSL-1.0
#include "odb/sql_words.hpp"

#include <algorithm>
#include <cctype>

namespace dlock::detail {

namespace {

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

bool is_word_at(std::string_view text, std::size_t at, std::string_view word) {
  if (at != 0 && word_character(text[at - 1])) return false;
  if (at + word.size() < text.size() && word_character(text[at + word.size()])) return false;
  return text.size() - at >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, char b) { return a == static_cast<char>(std::toupper(static_cast<unsigned char>(b))); });
}

}  // namespace dlock::detail
