// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "dlock/stores/mysql_t_lock.hpp"
#include "stores/mysql/shared_table/store.hpp"

namespace dlock::stores::mysql::t_lock {

struct t_lock_settings : shared_table::table_settings {
  /// What the URL names comes before `options`. Throws std::invalid_argument naming the parameter and its value.
  t_lock_settings(store_url url, const t_lock_options& options);

  std::chrono::milliseconds skew{};
};

/// Those that have no verb, by their places in shared_statements::others.
enum class other : std::size_t { clock, row, enter, stay, leave };

/// Throws store_error where the table lacks something.
shared_table::scheme_sql make_sql(const shared_table::layout& table, const t_lock_settings& settings);

/// Reads the fence of a grant from its row, where the server's answer had none. `owner`: session and attempt. Finds no row if
/// the grant is over.
std::string granted_fence_sql(const shared_table::scheme_sql& sql, const std::string& table, const request& grant,
                              std::string_view owner);

}  // namespace dlock::stores::mysql::t_lock
