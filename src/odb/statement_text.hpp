// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/query-dynamic.hxx>
#include <odb/transaction.hxx>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

/// The names, quoted, of the columns that a statement's last condition compares with one parameter each: "WHERE
/// `t`.`a`=? AND `t`.`b`=?". Empty: it has another form.
std::vector<std::string> compared_columns(std::string_view statement);

/// Whether a SELECT reads several tables; those of its sub-queries are not meant.
bool joins_tables(std::string_view statement);

/// Shows each statement that ODB is about to execute in a transaction to `see`, which may throw: then it is not
/// executed.
void before_each(odb::transaction& in, const std::function<void(std::string_view)>& see,
                 const std::function<void()>& work);

/// A query taken apart at its ORDER BY, so that more can be said in its condition. Refers to the parameters of `from`,
/// which must outlive it.
struct query_parts {
  /// Throws std::invalid_argument for a query that has more than a condition and an ORDER BY.
  explicit query_parts(const odb::query_base& from);

  odb::query_base condition{};  ///< may be empty: all rows
  odb::query_base order{};      ///< begins with ORDER BY; may be empty
};

}  // namespace dlock::detail
