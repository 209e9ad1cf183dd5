// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "dlock/stores/mysql_unique_insert.hpp"
#include "stores/mysql/shared_table/store.hpp"

namespace dlock::stores::mysql::unique_insert {

/// The scheme's columns, as a URL names them.
struct unique_insert_settings : shared_table::table_settings {
  /// What the URL names comes before `options`. Throws std::invalid_argument naming the parameter and its value.
  unique_insert_settings(store_url url, const unique_insert_options& options);

  std::string key{};
  std::string owner{};
  std::string expiry{};
  std::string state{};  ///< empty: the table has none
};

/// Throws store_error where the table lacks something.
shared_table::scheme_sql make_sql(const shared_table::layout& table, const unique_insert_settings& settings);

}  // namespace dlock::stores::mysql::unique_insert
