// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "dlock/stores/mysql_shared_tables.hpp"
#include "stores/mysql/shared_table/store.hpp"

namespace dlock::stores::mysql::shared_table {

/// The schemes whose rows have a key, an owner and an expiry: unique_insert, where a row is a lock, and state_row,
/// where a row stays and its state says whether it is taken. They differ by their statements alone.
struct row_scheme_settings : table_settings {
  /// What the URL names comes before `options`. Throws std::invalid_argument naming the parameter and its value.
  row_scheme_settings(store_url url, const unique_insert_options& options);
  row_scheme_settings(store_url url, const state_row_options& options);

  bool row_is_lock;  ///< unique_insert
  std::string key{};
  std::string owner{};
  std::string expiry{};
  std::string state{};  ///< empty: the table has none
};

/// Throws store_error where the table lacks something.
scheme_sql make_sql(const layout& table, const row_scheme_settings& settings);

/// SQL about the column of an expiry, which other programs compare with their NOW(). It has passed when it is less than
/// NOW() in the column's own precision: what they say, too.
struct expiry_sql {
  explicit expiry_sql(const column& expiry);

  std::string passed{};
  std::string remaining{};
  std::string until{};
  std::string extended{};
};

}  // namespace dlock::stores::mysql::shared_table
