// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string_view>

namespace dlock::detail {

/// Calls `word(at, depth)` for each place of an SQL text outside of quotation marks; depth: of parentheses.
template <class Word>
void for_each_character(std::string_view text, Word word) {
  int depth = 0;
  char quote = 0;
  for (std::size_t at = 0; at != text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '"' || c == '`') quote = c;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    word(at, depth);
  }
}

/// Whether that word, and no longer one, stands there, in letters of any case. `word` in capitals.
bool is_word_at(std::string_view text, std::size_t at, std::string_view word);

}  // namespace dlock::detail
