// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/stores/mysql_shared_tables.hpp"
#include "stores/mysql/shared_table/connection.hpp"
#include "stores/mysql/shared_table/layout.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::shared_table {

/// What the URL names comes before `options`. Throw std::invalid_argument naming the parameter and its value.
table_scheme unique_insert(store_url url, const unique_insert_options& options);
table_scheme state_row(store_url url, const state_row_options& options);
table_scheme shedlock(store_url url, const shedlock_options& options);

// ---- dictionaries ---------------------------------------------------------------------------------------------------

/// What all these schemes mean by most words, given {key}, {:key}, {owner}, {expiry}, {taken}, {remaining} and
/// {passed}.
sql::dictionary::word_list row_words() noexcept;
/// Of rows that have a key, an owner and an expiry. The words of a scheme come first; the table and the columns that
/// its settings name are {table}, {id}, {key}, {:key}, {owner}, {expiry}, {digits} and {unit}. It still says {granted},
/// {first}, {free}, {taken}, {held}, {owned}, and {freed} or {free_row}; and by which clock the expiry goes, by
/// {passed}, {remaining} and {until}. Throws store_error where the table lacks a column, or one is of another type.
sql::dictionary describe(const layout& table, const table_settings& settings, sql::dictionary::word_list scheme,
                         sql::dictionary::word_list clock = {});
/// Those statements.
scheme_sql sql_of(const sql::dictionary& words, const layout& table, const table_settings& settings);

/// Of an expiry that other programs compare with their NOW(): {passed}, {remaining}, {until} and {extended}. It has
/// passed when it is less than NOW() in the column's own precision, which is what they say, too.
sql::dictionary::word_list clock_of(const column& expiry) noexcept;
/// {expiry}, {digits} and {unit}.
void set_expiry(sql::dictionary& to, const column& expiry);

}  // namespace dlock::stores::mysql::shared_table
