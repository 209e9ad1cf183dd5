// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/sql/lease_sql.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/statement_values.hpp"
#include "stores/sql/table_names.hpp"
#include "stores/sqlite/client/statement.hpp"

namespace dlock::stores::sqlite::lease_table {

using sql::parameter;
using sql::statement_id;
constexpr auto statement_count = static_cast<std::size_t>(statement_id::count_);

using sql::statement_values;

/// The times for a statement about rows of the application. They must outlive the statement's execution.
class row_times {
 public:
  row_times() = default;
  /// `now` is by the clock of the table's rows.
  row_times(const statement_values& values, microseconds now);

  microseconds now() const noexcept { return now_; }
  void bind_now(sqlite_statement& to, int at) const noexcept;
  void bind_expiry(sqlite_statement& to, int at, const statement_values& values) const noexcept;

 private:
  microseconds now_{};
  bool by_column_ = false;
  std::string now_text_{}, end_text_{};  // for a shared expiry column
};

/// The values that this process adds to a statement.
struct own_values {
  std::int64_t now;  ///< microseconds since boot, read again for each attempt
  std::string_view boot;
  const row_times* rows = nullptr;  ///< for a statement about a row
};
/// Binds the parameters of a statement that was prepared from that text.
void bind(sqlite_statement& to, const sql::statement_text& text, const statement_values& values,
          const own_values& own) noexcept;

/// The words of the templates for keys in the tables of `names`, which must outlive it.
sql::dictionary key_words(const sql::table_names& names);

/// A store's SQL about its lock tables, and their names. Immutable.
class lease_sql {
 public:
  /// How many keys one statement polls.
  static constexpr std::size_t most_polls = 64;

  explicit lease_sql(sql::table_names names);

  const sql::table_names& names() const noexcept { return names_; }
  const sql::statement_text& statement(statement_id which) const noexcept {
    return statements_[static_cast<std::size_t>(which)];
  }
  /// The statement `poll` for many keys, which are its parameters 1 to most_polls: the key follows the columns of
  /// `poll`. A parameter that is NULL is no key.
  const std::string& poll_all() const noexcept { return poll_all_; }

 private:
  sql::table_names names_;
  std::vector<sql::statement_text> statements_{};
  std::string poll_all_{};
};

}  // namespace dlock::stores::sqlite::lease_table
