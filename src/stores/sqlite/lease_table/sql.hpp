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

/// The times that a statement about rows of the application's goes by. It must outlive the statement's execution.
class row_times {
 public:
  row_times() = default;
  /// `now`: of the clock that the table's rows go by.
  row_times(const statement_values& values, microseconds now);

  microseconds now() const noexcept { return now_; }
  void bind_now(sqlite_statement& to, int at) const noexcept;
  void bind_expiry(sqlite_statement& to, int at, const statement_values& values) const noexcept;

 private:
  microseconds now_{};
  bool by_column_ = false;
  std::string now_text_{}, end_text_{};  // of a shared expiry column
};

/// What this process adds to the values of a statement.
struct own_values {
  std::int64_t now;  ///< microseconds since boot, read anew for each try
  std::string_view boot;
  const row_times* rows = nullptr;  ///< of a statement about a row
};
/// Gives a statement, prepared from that text, what it has as parameters.
void bind(sqlite_statement& to, const sql::statement_text& text, const statement_values& values,
          const own_values& own) noexcept;

/// What the templates say of a key, in the tables of these names, which must outlive it.
sql::dictionary key_words(const sql::table_names& names);

/// All of a store's SQL about its lock tables, with their names. Immutable.
class lease_sql {
 public:
  /// So many keys are looked at by one statement.
  static constexpr std::size_t most_polls = 64;

  explicit lease_sql(sql::table_names names);

  const sql::table_names& names() const noexcept { return names_; }
  const sql::statement_text& statement(statement_id which) const noexcept {
    return statements_[static_cast<std::size_t>(which)];
  }
  /// The statement `poll` for many keys, its parameters 1 to most_polls: the key comes behind the columns of that one.
  /// A parameter that is NULL is no key.
  const std::string& poll_all() const noexcept { return poll_all_; }

 private:
  sql::table_names names_;
  std::vector<sql::statement_text> statements_{};
  std::string poll_all_{};
};

}  // namespace dlock::stores::sqlite::lease_table
