// SPDX-License-Identifier: BSL-1.0

/// The schemes whose rows have a key, an owner and an expiry: unique_insert, where a row is a lock, and state_row,
/// where rows stay and have a state.

#include "stores/mysql/shared_table/row_schemes.hpp"

#include <fmt/format.h>

#include <utility>

#include "stores/sql/lock_statements.hpp"

namespace dlock::stores::mysql::shared_table {
namespace {

constexpr std::size_t owner_size = 49;  // the size of session and attempt

/// For a DATETIME: the time zone of the other programs' NOW(), unless they set one of their own.
constexpr const char* use_other_programs_zone = "SET SESSION time_zone = @@GLOBAL.time_zone";

/// Each statement is a transaction about one row, so the level does not change what it sees. But if rows are deleted
/// and inserted again and again, InnoDB takes three times as long in READ COMMITTED.
constexpr const char* use_repeatable_read = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";

constexpr sql::named_part words_of_rows[] = {
    {"row", "{key} = {:key}"},
    {"seen", "{taken}, {holder}"},
    {"holder", "LEFT({owner}, 100), {remaining}, 0"},
    {"as_seen", "{owner} = :holder"},
    {"dead", "{passed}"},
    {"owned", "{owner} = :owner"},
    {"ours", "{owned}"},
    {"in_time", "NOT ({passed})"},
    {"extended", "{expiry} = GREATEST({expiry}, {until})"},
};

// A lock without an expiry (NULL) has a hundred years left.
constexpr sql::named_part timestamp_words[] = {
    {"now", "NOW({digits})"},
    {"passed", "{expiry} < {now}"},
    {"remaining", "IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), {expiry}) + {unit}, 3153600000000000)"},
    {"until", "{now} + INTERVAL :ttl MICROSECOND"},
};

// A DATETIME keeps local time, which jumps where summer time begins or ends. The later of both ways to add is never too
// early: in autumn a lease may look taken for an hour longer.
constexpr sql::named_part datetime_words[] = {
    timestamp_words[0],
    timestamp_words[1],
    timestamp_words[2],
    {"until", "GREATEST({now} + INTERVAL :ttl MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP({now}) + :ttl / 1000000))"},
};

constexpr sql::named_part unique_insert_words[] = {
    {"granted", "{owner} = :owner, {expiry} = {until}"},
    {"first", "SET {key} = :key, {granted}{and_state}"},
    {"free", "(COALESCE({owner}, '') = '' OR {passed})"},
    {"taken", "COALESCE({owner}, '') <> ''"},
    {"held", "{owner} <> '' AND NOT ({passed})"},
    {"free_row", "DELETE FROM {table}"},
    {"expired", "{passed}"},
};

constexpr sql::named_part state_row_words[] = {
    {"granted", "{state} = 1, {taken_over}"},
    {"taken_over", "{owner} = :owner, {expiry} = {until}"},
    {"first", "SET {key} = :key, {taken_over}, {state} = 1"},
    {"free", "({state} = 0 OR {passed})"},
    {"taken", "{state} <> 0"},
    {"held", "{taken} AND COALESCE({passed}, 0) = 0"},
    {"as_seen", "{state} = 1 AND {owner} = :holder"},
    {"owned", "{state} = 1 AND {owner} = :owner"},
    {"freed", "{state} = 0, {owner} = ''{no_expiry}"},
    {"expired", "{taken} AND {passed}"},
};

/// Empty if the table has none.
std::string state_column(const layout& table, const table_settings& settings) {
  const auto named = settings.columns.find("state");
  return named == settings.columns.end() ? std::string{} : table.number(named->second, "state").quoted();
}

scheme_sql unique_insert_sql(const layout& table, const table_settings& settings) {
  auto words = describe(table, settings, unique_insert_words);
  // For a table that has such a column without a default.
  const auto state = state_column(table, settings);
  auto made = sql_of(words.set("and_state", state.empty() ? "" : ", " + state + " = 1"), table, settings);
  made.inserts_first = true;
  made.at_start.insert(made.at_start.begin(), use_repeatable_read);
  return made;
}

scheme_sql state_row_sql(const layout& table, const table_settings& settings) {
  auto words = describe(table, settings, state_row_words);
  const auto& expiry = table.expiry(settings.columns.at("expiry"));
  // A program that takes the key next by plain SQL may set no expiry, so an old one would end its lock.
  words.set("no_expiry", expiry.nullable ? ", " + expiry.quoted() + " = NULL" : "");
  return sql_of(words.set("state", state_column(table, settings)), table, settings);
}

}  // namespace

sql::dictionary::word_list row_words() noexcept { return words_of_rows; }

sql::dictionary::word_list clock_of(const column& expiry) noexcept {
  return expiry.type == column_type::datetime ? sql::dictionary::word_list(datetime_words) : timestamp_words;
}

void set_expiry(sql::dictionary& to, const column& expiry) {
  to.set("expiry", expiry.quoted());
  to.set("digits", std::to_string(expiry.digits)).set("unit", std::to_string(expiry.unit().count()));
}

sql::dictionary describe(const layout& table, const table_settings& settings, sql::dictionary::word_list scheme,
                         sql::dictionary::word_list clock) {
  const auto& key = table.key(settings.columns.at("key"));
  const auto& owner = table.owner(settings.columns.at("owner"), owner_size);
  const auto& expiry = table.expiry(settings.columns.at("expiry"));
  sql::dictionary words({scheme, row_words(), clock.empty() ? clock_of(expiry) : clock, sql::common_words()});
  words.set("table", table.table()).set("id", table.primary().quoted());
  words.set("key", key.quoted()).set(":key", key_parameter(key)).set("owner", owner.quoted());
  set_expiry(words, expiry);
  return words;
}

scheme_sql sql_of(const sql::dictionary& words, const layout& table, const table_settings& settings) {
  const auto& expiry = table.expiry(settings.columns.at("expiry"));
  auto made = sql_of(words, table, table.key(settings.columns.at("key")), expiry.unit());
  if (expiry.type == column_type::datetime) made.at_start.emplace_back(use_other_programs_zone);
  return made;
}

table_scheme unique_insert(store_url url, const unique_insert_options& options) {
  auto settings = table_settings::take(url, "unique_insert", options.table);
  settings.take_columns(url, {{"key", options.key}, {"owner", options.owner}, {"expiry", options.expiry}});
  if (const auto state = url.take_param("state", options.state); !state.empty())
    settings.columns["state"] = checked_name("state", state);
  settings.take_wake(url, options.wake);
  url.expect_no_more_params();
  return {settings, [settings](const layout& table) { return unique_insert_sql(table, settings); }};
}

table_scheme state_row(store_url url, const state_row_options& options) {
  auto settings = table_settings::take(url, "state_row", options.table);
  settings.take_columns(
      url, {{"key", options.key}, {"owner", options.owner}, {"expiry", options.expiry}, {"state", options.state}});
  settings.take_wake(url, options.wake);
  url.expect_no_more_params();
  return {settings, [settings](const layout& table) { return state_row_sql(table, settings); }};
}

}  // namespace dlock::stores::mysql::shared_table
