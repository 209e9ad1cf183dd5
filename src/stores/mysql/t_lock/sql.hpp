// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <string>

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

}  // namespace dlock::stores::mysql::t_lock
