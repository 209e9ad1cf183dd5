// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/shared_table/row_schemes.hpp"

#include <fmt/format.h>

namespace dlock::stores::mysql::shared_table {
namespace {

constexpr std::size_t owner_size = 49;  // of session and attempt

/// A lock without an expiry has so much left.
constexpr microseconds never{3'153'600'000'000'000};

/// For a DATETIME: the zone in which the other programs' NOW() counts, unless they set one of their own.
constexpr const char* use_other_programs_zone = "SET SESSION time_zone = @@GLOBAL.time_zone";

/// Each statement is a separate transaction, about one row, so the level changes nothing that they see. But where
/// rows are deleted and made again and again, InnoDB takes three times as long for it in READ COMMITTED.
constexpr const char* use_repeatable_read = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";

/// Of both schemes. They differ by what make_sql() says of a row that is taken.
constexpr scheme_texts row_sql{.take = R"(
UPDATE {table}
SET {set_taken}{owner} = :owner,
    {expiry} = {until}
WHERE {key} = {:key}
  AND ({is_free} OR {passed})
)",
                               .insert = R"(
INSERT INTO {table}
SET {key} = :key,
    {owner} = :owner,
    {expiry} = {until}{insert_state}
)",
                               .poll = R"(
SELECT {is_taken}, LEFT({owner}, 100), {remaining}, 0
FROM {table}
WHERE {key} = {:key}
)",
                               .take_over = R"(
UPDATE {table}
SET {owner} = :owner,
    {expiry} = {until}
WHERE {key} = {:key}{and_taken}
  AND {owner} = :holder
  AND {passed}
)",
                               .extend = R"(
UPDATE {table}
SET {expiry} = {extended}
WHERE {key} = {:key}{and_taken}
  AND {owner} = :owner
  AND NOT ({passed})
)",
                               .release = R"(
{free_row}
WHERE {key} = {:key}{and_taken}
  AND {owner} = :owner
)",
                               .held = R"(
SELECT {key}, LEFT({owner}, 100), {remaining}, 0
FROM {table}
WHERE {is_held}
)",
                               .taken = "{is_taken}",
                               .expired = R"(
SELECT {id}
FROM {table}
WHERE {is_expired}
)",
                               .free_expired = R"(
{free_row}
WHERE {is_expired}
  AND {id} =
)"};

}  // namespace

row_scheme_settings::row_scheme_settings(store_url url, const unique_insert_options& options)
    : table_settings(table_settings::take(url, "unique_insert", options.table)),
      row_is_lock(true),
      key(take_column(url, "key", options.key)),
      owner(take_column(url, "owner", options.owner)),
      expiry(take_column(url, "expiry", options.expiry)),
      // Of a table that has such a column without a default.
      state(url.take_param("state", options.state)) {
  if (!state.empty()) state = checked_name("state", state);
  take_wake(url, options.wake);
  url.expect_no_more_params();
}

row_scheme_settings::row_scheme_settings(store_url url, const state_row_options& options)
    : table_settings(table_settings::take(url, "state_row", options.table)),
      row_is_lock(false),
      key(take_column(url, "key", options.key)),
      owner(take_column(url, "owner", options.owner)),
      expiry(take_column(url, "expiry", options.expiry)),
      state(take_column(url, "state", options.state)) {
  take_wake(url, options.wake);
  url.expect_no_more_params();
}

expiry_sql::expiry_sql(const column& expiry) {
  const auto name = expiry.quoted();
  const auto now = fmt::format("NOW({})", expiry.digits);
  passed = fmt::format("{} < {}", name, now);
  remaining = fmt::format("IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), {}) + {}, {})", name, expiry.unit().count(),
                          never.count());
  until = fmt::format("{} + INTERVAL :ttl MICROSECOND", now);
  // A DATETIME keeps what the clock on the wall shows, which goes back or forward where summer time ends or begins. The
  // later of both ways to add is never too early: in autumn a lease may look taken for an hour longer.
  if (expiry.type == column_type::datetime) {
    until = fmt::format("GREATEST({}, FROM_UNIXTIME(UNIX_TIMESTAMP({}) + :ttl / 1000000))", until, now);
  }
  extended = fmt::format("GREATEST({}, {})", name, until);
}

scheme_sql make_sql(const layout& table, const row_scheme_settings& settings) {
  const auto& key = table.key(settings.key);
  const auto& owner_column = table.owner(settings.owner, owner_size);
  const auto& expiry_column = table.expiry(settings.expiry);
  const auto state = settings.state.empty() ? std::string{} : table.number(settings.state, "state").quoted();
  const expiry_sql time(expiry_column);
  const auto owner = owner_column.quoted(), expiry = expiry_column.quoted();
  const auto id = table.primary().quoted(), key_name = key.quoted(), key_value = key_parameter(key);
  const auto insert_state = state.empty() ? std::string{} : ", " + state + " = 1";
  std::string set_taken, and_taken;
  auto is_free = fmt::format("COALESCE({}, '') = ''", owner);
  auto is_taken = fmt::format("COALESCE({}, '') <> ''", owner);
  auto is_held = fmt::format("{} <> '' AND NOT ({})", owner, time.passed);
  auto is_expired = time.passed;
  auto free_row = "DELETE FROM " + table.table();
  if (!settings.row_is_lock) {
    set_taken = state + " = 1, ";
    and_taken = " AND " + state + " = 1";
    is_free = state + " = 0";
    is_taken = state + " <> 0";
    is_held = fmt::format("{} AND COALESCE({}, 0) = 0", is_taken, time.passed);
    is_expired = fmt::format("{} AND {}", is_taken, time.passed);
    free_row = fmt::format("UPDATE {} SET {} = 0, {} = ''", table.table(), state, owner);
    // A program that takes the key next by plain SQL may set no expiry: an old one would end its lock.
    if (expiry_column.nullable) free_row += fmt::format(", {} = NULL", expiry);
  }
  auto made = sql_of(row_sql, table, key, expiry_column.unit(),
                     {{"table", table.table()},
                      {"id", id},
                      {"key", key_name},
                      {":key", key_value},
                      {"owner", owner},
                      {"expiry", expiry},
                      {"insert_state", insert_state},
                      {"set_taken", set_taken},
                      {"and_taken", and_taken},
                      {"is_free", is_free},
                      {"is_taken", is_taken},
                      {"is_held", is_held},
                      {"is_expired", is_expired},
                      {"free_row", free_row},
                      {"until", time.until},
                      {"extended", time.extended},
                      {"passed", time.passed},
                      {"remaining", time.remaining}});
  made.inserts_first = settings.row_is_lock;
  if (settings.row_is_lock) made.at_start.emplace_back(use_repeatable_read);
  if (expiry_column.type == column_type::datetime) made.at_start.emplace_back(use_other_programs_zone);
  return made;
}

}  // namespace dlock::stores::mysql::shared_table
