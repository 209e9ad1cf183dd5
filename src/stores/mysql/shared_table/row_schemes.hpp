// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/stores/mysql_shared_tables.hpp"
#include "stores/mysql/shared_table/connection.hpp"
#include "stores/mysql/shared_table/layout.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::shared_table {

/// The URL takes precedence over `options`. Throw std::invalid_argument naming the parameter and its value.
table_scheme unique_insert(store_url url, const unique_insert_options& options);
table_scheme state_row(store_url url, const state_row_options& options);
table_scheme shedlock(store_url url, const shedlock_options& options);

// ---- dictionaries ---------------------------------------------------------------------------------------------------

/// The words that these schemes share, which use {key}, {:key}, {owner}, {expiry}, {taken}, {remaining} and {passed}.
sql::dictionary::word_list row_words() noexcept;
/// The dictionary for rows with a key, an owner and an expiry. The words of a scheme come first; {table}, {id}, {key},
/// {:key}, {owner}, {expiry}, {digits} and {unit} come from its settings. The scheme must add {granted}, {first},
/// {free}, {taken}, {held}, {owned}, and {freed} or {free_row}, and the clock of the expiry as {passed}, {remaining}
/// and {until}. Throws store_error if the table lacks a column, or one has a wrong type.
sql::dictionary describe(const layout& table, const table_settings& settings, sql::dictionary::word_list scheme,
                         sql::dictionary::word_list clock = {});
/// The statements in those words.
scheme_sql sql_of(const sql::dictionary& words, const layout& table, const table_settings& settings);

/// For an expiry that other programs compare with their NOW(): {passed}, {remaining}, {until} and {extended}. It has
/// passed when it is less than NOW() in the column's own precision, as for these programs.
sql::dictionary::word_list clock_of(const column& expiry) noexcept;
/// {expiry}, {digits} and {unit}.
void set_expiry(sql::dictionary& to, const column& expiry);

}  // namespace dlock::stores::mysql::shared_table
