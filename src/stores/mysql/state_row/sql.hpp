// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "dlock/stores/mysql_state_row.hpp"
#include "stores/mysql/shared_table/store.hpp"

namespace dlock::stores::mysql::state_row {

/// The scheme's columns, as a URL names them.
struct state_row_settings : shared_table::table_settings {
  /// What the URL names comes before `options`. Throws std::invalid_argument naming the parameter and its value.
  state_row_settings(store_url url, const state_row_options& options);

  std::string key{};
  std::string state{};  ///< 0: free
  std::string owner{};
  std::string expiry{};
};

/// Throws store_error where the table lacks something.
shared_table::scheme_sql make_sql(const shared_table::layout& table, const state_row_settings& settings);

}  // namespace dlock::stores::mysql::state_row
