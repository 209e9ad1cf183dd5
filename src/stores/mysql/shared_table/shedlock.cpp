// SPDX-License-Identifier: BSL-1.0

/// scheme=shedlock: ShedLock's published table, shared with programs whose JDBC provider uses the database's time. A
/// row stays; it is free when lock_until has passed. The comments describe version 7 of ShedLock.

#include "stores/mysql/shared_table/row_schemes.hpp"

namespace dlock::stores::mysql::shared_table {
namespace {

constexpr sql::named_part shedlock_words[] = {
    {"granted", "{expiry} = {until}, {since} = {now}, {owner} = :owner"},
    {"first", "SET {key} = :key, {granted}"},
    {"free", "{passed}"},
    // ShedLock leaves its name in the row that it frees.
    {"taken", "({owner} <> '' OR {in_time})"},
    {"held", "{in_time}"},
    {"in_time", "{expiry} > {now}"},
    // Without our name, so that a late statement finds no grant of that name.
    {"freed", "{expiry} = {now}, {owner} = ''"},
};

constexpr sql::named_part shedlock_clock[] = {
    {"now", "UTC_TIMESTAMP({digits})"},
    {"passed", "{expiry} <= {now}"},
    {"remaining", "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), {expiry})"},
    // {now} is rounded down, and ShedLock takes a lock at the very moment of its end, so a unit is added.
    {"until", "{now} + INTERVAL :ttl + {unit} MICROSECOND"},
};

/// ShedLock writes UTC's date and time, which a TIMESTAMP takes for local time of the session's time zone. So does
/// dlock, in the zone of sessions that set none.
constexpr const char* use_default_zone = "SET SESSION time_zone = @@GLOBAL.time_zone";

}  // namespace

table_scheme shedlock(store_url url, const shedlock_options& options) {
  auto settings = table_settings::take(url, "shedlock", options.table);
  settings.take_columns(
      url, {{"key", options.key}, {"owner", options.owner}, {"expiry", options.expiry}, {"since", options.since}});
  settings.take_wake(url, options.wake);
  url.expect_no_more_params();
  return {settings, [settings](const layout& table) {
            auto words = describe(table, settings, shedlock_words, shedlock_clock);
            words.set("since", table.time(settings.columns.at("since"), "since").quoted());
            auto made = sql_of(words, table, settings);
            made.at_start = {use_default_zone};
            return made;
          }};
}

}  // namespace dlock::stores::mysql::shared_table
