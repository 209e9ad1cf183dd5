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
  /// The name of our tables in the version table, which may also have versions of the program's own tables.
  static constexpr const char* schema = "dlock";

  /// Throws std::invalid_argument unless the prefix is 1 to 40 letters, digits or underscores. `quote` is the
  /// database's quotation mark.
  table_names(std::string prefix, char quote);

  /// Adds {table} and {table.<column>}.
  void add_table(const std::string& table, std::initializer_list<std::string_view> columns);
  void add_text(const std::string& placeholder, std::string text);

  const std::string& prefix() const noexcept { return prefix_; }
  /// A table's name without quotation marks, for example for information_schema.
  std::string table(std::string_view name) const { return prefix_ + std::string(name); }
  std::string quoted_table(std::string_view name) const;
  std::string quoted(std::string_view name) const;

  /// Replaces {lock}, {lock.fence}, ... Throws std::logic_error for an unknown placeholder.
  std::string expand(std::string_view sql) const;
  /// Returns null for an unknown placeholder.
  const std::string* find(std::string_view placeholder) const;
  /// All placeholders.
  const std::map<std::string, std::string, std::less<>>& all() const noexcept { return texts_; }
  /// Replaces the default prefix in a statement of the schema, and adds IF NOT EXISTS to CREATE TABLE.
  std::string adapt(std::string_view statement) const;

 private:
  std::string prefix_;
  char quote_;
  std::map<std::string, std::string, std::less<>> texts_{};
};

/// {lock}, {session}, {floor}, {version} and {lock.<column>}, {session.<column>}, {floor.<column>}.
table_names make_table_names(std::string prefix, char quote);

}  // namespace dlock::stores::sql
