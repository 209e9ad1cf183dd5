// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The sources have SQL as raw strings with one clause a line, {placeholders} for names of tables and columns, and
/// named parameters (":key"). These functions convert it to the form that a client library expects, once, when a store
/// is made, or write the values into the text.

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

/// The text of a placeholder or parameter.
struct named_part {
  std::string_view name;
  std::string_view text;
};

/// Replaces {lock}, {lock.fence}, ... by names of tables and columns, and other placeholders by `parts`, which are not
/// expanded again. Throws std::logic_error for an unknown placeholder or an unused part, and names it.
std::string expand(const table_names& names, std::string_view sql, std::initializer_list<named_part> parts);
/// Replaces each placeholder by what `text_of` returns; nullopt means that it is unknown.
std::string expand(std::string_view sql, const std::function<std::optional<std::string>(std::string_view)>& text_of);
/// Replaces placeholders by these parts alone, some of which may be unused.
std::string expand_any(std::string_view sql, std::initializer_list<named_part> parts);

/// Replaces each run of blanks and line ends by one blank, and removes those at both ends. Keeps quoted texts.
std::string in_one_line(std::string_view sql);

/// The meanings of placeholders: values, which are inserted unchanged, and words, whose texts may use other words. Each
/// kind of table has a dictionary; each statement is one template. Immutable after it is filled.
class dictionary {
 public:
  using word_list = std::span<const named_part>;

  /// A word of a list hides those of the same name in later lists. Names of tables and columns come last. The lists and
  /// `names` must outlive it.
  explicit dictionary(std::vector<word_list> words, const table_names* names = nullptr)
      : words_(std::move(words)), names_(names) {}

  /// Sets a value. It hides a word of that name.
  dictionary& set(std::string_view name, std::string value);
  /// Adds a list before the others.
  dictionary& prefer(word_list words);
  bool knows(std::string_view name) const { return find(name).has_value(); }
  /// Throws std::logic_error for an unknown placeholder, and names it.
  std::string expand(std::string_view text) const;
  /// Expands the text, and puts it in one line.
  std::string fill(std::string_view text) const { return in_one_line(expand(text)); }

 private:
  std::optional<std::string> find(std::string_view name) const;

  std::vector<word_list> words_;
  const table_names* names_;
  std::vector<std::pair<std::string, std::string>> values_{};
};

// ---- names of tables and columns ------------------------------------------------------------------------------------

/// The last part of a name such as `db`.`order`, without its quotation marks; and the reverse.
std::string bare_name(std::string_view name, char quote);
std::string quoted_name(std::string_view name, char quote);

// ---- statements that are prepared ----------------------------------------------------------------------------------

/// How a database wants its parameters marked.
enum class marker {
  question,  ///< MySQL: a '?' for each use of a parameter
  name,      ///< SQLite: the name; a name used twice is one parameter
};

/// A statement of a store, and its parameters.
struct statement_text {
  std::string sql{};
  std::vector<std::size_t> parameters{};  ///< for each marker the parameter's index in the list of known names
  const char* name = "";                  ///< for messages
};

/// Finds the parameters of a statement whose placeholders are expanded. Throws std::logic_error for a parameter that is
/// not among `known`, and names it and the statement.
statement_text find_parameters(const char* name, std::string_view sql, std::span<const std::string_view> known,
                               marker marker);

/// Throws std::logic_error if no statement uses a parameter, and names it.
void expect_all_used(std::span<const statement_text> statements, std::span<const std::string_view> known);

template <class Id>
struct statement_source {
  Id id;
  const char* name;  ///< for messages
  const char* sql;
};

/// The statements of these lists, one after the other, indexed by their ids. Throws std::logic_error as the functions
/// above do, and if the sources are not in the order of their ids.
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

/// Replaces the parameters by these values. Throws std::logic_error for a parameter without a value or a value without
/// a parameter, and names it.
std::string write_values(std::string_view sql, std::span<const named_part> values);
inline std::string write_values(std::string_view sql, std::initializer_list<named_part> values) {
  return write_values(sql, std::span(values.begin(), values.size()));
}

/// A value of a statement for a transaction of the application.
struct named_value {
  std::string name;
  verification::parameter value;
  std::string literal{};
};

/// Makes both forms of such a statement: with markers ('?') and parameters, and as one text. Throws as write_values().
verification with_values(std::string_view sql, std::span<const named_value> values);

}  // namespace dlock::stores::sql
