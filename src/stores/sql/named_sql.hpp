// SPDX-License-Identifier: BSL-1.0
#pragma once

/// SQL as the sources have it: raw strings with one clause a line, {placeholders} for names of tables and columns, and
/// parameters by name (":key"). What is here makes of it what a client library wants: once, when a store is made, or
/// where the values stand in the text.

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/verification.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// A text by name: of a placeholder, or for a parameter.
struct named_part {
  std::string_view name;
  std::string_view text;
};

/// Puts names of tables and columns in place of {lock}, {lock.fence} ..., and these parts, which are not expanded
/// again. Throws std::logic_error, which names it, for a placeholder that is not known and for a part that is not used.
std::string expand(const table_names& names, std::string_view sql, std::initializer_list<named_part> parts);
/// The same with what `text_of` gives for a placeholder; nullopt: it is not known.
std::string expand(std::string_view sql, const std::function<std::optional<std::string>(std::string_view)>& text_of);
/// The same with these parts alone; a part that is not used may be there.
std::string expand_any(std::string_view sql, std::initializer_list<named_part> parts);

/// With one blank for each run of blanks and line ends, and none at its ends. Quoted texts stay as they are.
std::string in_one_line(std::string_view sql);

/// What placeholders stand for: values, which are put in as they are, and words, whose texts may use other words. A
/// kind of table is a dictionary; a statement is written once, as a template. Immutable after it is filled.
class dictionary {
 public:
  using word_list = std::span<const named_part>;

  /// A word of a list hides those of the same name in later lists. Names of tables and columns come last. The lists and
  /// `names` must outlive it.
  explicit dictionary(std::vector<word_list> words, const table_names* names = nullptr)
      : words_(std::move(words)), names_(names) {}

  /// Hides a word of that name, and replaces a value.
  dictionary& set(std::string_view name, std::string value);
  /// A list that comes before the others.
  dictionary& prefer(word_list words);
  bool knows(std::string_view name) const { return find(name).has_value(); }
  /// Throws std::logic_error, which names it, for a placeholder that is not known.
  std::string expand(std::string_view text) const;
  /// Likewise, in one line.
  std::string fill(std::string_view text) const { return in_one_line(expand(text)); }

 private:
  std::optional<std::string> find(std::string_view name) const;

  std::vector<word_list> words_;
  const table_names* names_;
  std::vector<std::pair<std::string, std::string>> values_{};
};

// ---- names of tables and columns ------------------------------------------------------------------------------------

/// The last part of a name such as `db`.`order`, without its quotation marks; and the way back.
std::string bare_name(std::string_view name, char quote);
std::string quoted_name(std::string_view name, char quote);

// ---- statements that are prepared ----------------------------------------------------------------------------------

/// How a database wants its parameters marked.
enum class marker {
  question,  ///< a '?' for each time that a parameter is used: MySQL
  name,      ///< as they are; a name used twice is one parameter: SQLite
};

/// A statement of a store, and which parameters it has.
struct statement_text {
  std::string sql{};
  std::vector<std::size_t> parameters{};  ///< in the order of the markers: their places in the list of known names
  const char* name = "";                  ///< for messages
};

/// Finds the parameters of a statement whose names of tables are expanded. Throws std::logic_error, which names
/// statement and parameter, for one that is not among `known`.
statement_text find_parameters(const char* name, std::string_view sql, std::span<const std::string_view> known,
                               marker marker);

/// Throws std::logic_error, which names it, if there is a parameter that no statement has.
void expect_all_used(std::span<const statement_text> statements, std::span<const std::string_view> known);

template <class Id>
struct statement_source {
  Id id;
  const char* name;  ///< for messages
  const char* sql;
};

/// All statements of a store, to be found by their ids: those of these lists, one after the other. Throws
/// std::logic_error as the functions above do, and if the sources are not in the order of their ids.
template <class Id>
std::vector<statement_text> make_statements(std::initializer_list<std::span<const statement_source<Id>>> lists,
                                            const dictionary& words, std::span<const std::string_view> parameters,
                                            marker marker) {
  std::vector<statement_text> statements;
  for (const auto& sources : lists) {
    for (const auto& source : sources) {
      if (static_cast<std::size_t>(source.id) != statements.size()) {
        throw std::logic_error(fmt::format("dlock: SQL '{}' is not in the order of the ids", source.name));
      }
      statements.push_back(find_parameters(source.name, words.expand(source.sql), parameters, marker));
    }
  }
  expect_all_used(statements, parameters);
  return statements;
}

// ---- statements whose values stand in the text ---------------------------------------------------------------------

/// The text with these for its parameters. Throws std::logic_error, which names it, for a parameter without a value and
/// for a value without a parameter.
std::string write_values(std::string_view sql, std::span<const named_part> values);
inline std::string write_values(std::string_view sql, std::initializer_list<named_part> values) {
  return write_values(sql, std::span(values.begin(), values.size()));
}

/// A value of a statement for a transaction of the application's.
struct named_value {
  std::string name;
  verification::parameter value;
  std::string literal{};
};

/// Such a statement in both forms at once: with markers ('?') and parameters, and as one text. Throws as write_values()
/// does.
verification with_values(std::string_view sql, std::span<const named_value> values);

}  // namespace dlock::stores::sql
