// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace dlock_gen {

enum class token_kind { name, number, text, character, punctuation };

/// A word of C++: `begin` and `end` are offsets in the text that was split.
struct token {
  token_kind kind = token_kind::punctuation;
  std::string_view text{};
  std::size_t begin = 0;
  std::size_t end = 0;

  bool is(std::string_view what) const noexcept { return text == what; }
};

/// Whether a name may begin with it; digits may follow.
bool starts_name(char c) noexcept;

/// The words of `text` from `begin` to `end`, without comments and preprocessor lines. An unfinished text ends with the
/// source.
std::vector<token> split(std::string_view text, std::size_t begin = 0, std::size_t end = std::string_view::npos);

/// The index of the first word that begins at or after that offset; tokens.size() if none does.
std::size_t index_at(const std::vector<token>& tokens, std::size_t offset);

/// The index of the word that closes the bracket `tokens[open]`, one of ( [ {; tokens.size() if there is none.
std::size_t closing(const std::vector<token>& tokens, std::size_t open);

}  // namespace dlock_gen
