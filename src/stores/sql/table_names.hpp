// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Table and column names of the lock tables, with the table prefix of this store. The mapped classes in odb/ define
/// the tables; a test compares these names with them.

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace dlock::stores::sql {

/// Immutable after it is filled.
class table_names {
 public:
  static constexpr std::string_view default_prefix = "dlock_";
  /// What the version table calls the set of our tables: the program may have tables of its own in it.
  static constexpr const char* schema = "dlock";

  /// Throws std::invalid_argument unless the prefix is 1 to 40 letters, digits or underscores. `quote` is the
  /// database's quotation mark.
  table_names(std::string prefix, char quote);

  /// {table} and {table.<column>}.
  void add_table(const std::string& table, std::initializer_list<std::string_view> columns);
  void add_text(const std::string& placeholder, std::string text);

  const std::string& prefix() const noexcept { return prefix_; }
  /// A table's name without quotation marks, e.g. for information_schema.
  std::string table(std::string_view name) const { return prefix_ + std::string(name); }
  std::string quoted_table(std::string_view name) const;

  /// Replaces {lock}, {lock.fence}, ... Throws std::logic_error for one that is not known.
  std::string expand(std::string_view sql) const;
  /// Null if it is not known.
  const std::string* find(std::string_view placeholder) const;
  /// All placeholders.
  const std::map<std::string, std::string, std::less<>>& all() const noexcept { return texts_; }
  /// Puts the prefix in place of the default one in a statement of the schema, and makes the creation of a table
  /// harmless where it is there already.
  std::string adapt(std::string_view statement) const;

 private:
  std::string quoted(std::string_view name) const;

  std::string prefix_;
  char quote_;
  std::map<std::string, std::string, std::less<>> texts_{};
};

/// {lock}, {session}, {floor}, {version} and {lock.<column>}, {session.<column>}, {floor.<column>}.
table_names make_table_names(std::string prefix, char quote);

}  // namespace dlock::stores::sql
