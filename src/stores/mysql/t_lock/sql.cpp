// SPDX-License-Identifier: BSL-1.0

// Every UPDATE adds 1 to the version, because only that protects the published compare-and-set. Rows are never deleted,
// and versions never set back, so the version at the grant is the fence.
#include "stores/mysql/t_lock/store.hpp"

#include <fmt/format.h>

#include "stores/mysql/client/text.hpp"
#include "stores/mysql/shared_table/row_schemes.hpp"
#include "stores/sql/lock_statements.hpp"

namespace dlock::stores::mysql::t_lock {

using namespace shared_table;

namespace {

constexpr std::size_t longest_owner = 64;  // of a request's id; ours are session, attempt, and a fence of ten digits
constexpr long longest_skew_ms = 3'600'000;

// "<session>/<attempt>/<fence>" in full, which t_lock_store::holder_named() recognises as ours under any collation.
constexpr const char* by_dlock =
    "CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin "
    "REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$'";

constexpr sql::named_part t_lock_words[] = {
    {"granted",
     "request_id = CONCAT(:owner, '/', version + 1), lock_count = 1, timeout = {until}, "
     "version = LAST_INSERT_ID(version + 1)"},
    // Its fence is 1. The server's reply may not say so: with an AUTO_INCREMENT column it returns that column's number.
    {"first", "SET lock_key = :key, request_id = CONCAT(:owner, '/1'), lock_count = 1, timeout = {until}, version = 1"},
    {"free", "(request_id = '' OR {passed})"},
    {"taken", "request_id <> ''"},
    {"held", "{taken} AND NOT ({passed})"},
    {"holder", "LEFT(request_id, 100), {remaining}, version"},
    {"as_seen", "request_id = CONCAT(:holder, '/', :fence)"},
    {"owned", "request_id LIKE :owner"},
    {"freed", "request_id = '', lock_count = 0, timeout = 0, version = version + 1"},
    {"extended", "timeout = GREATEST(timeout, {until}), version = version + 1"},
    {"key", "lock_key"},
    {"until", "{now} + :ttl DIV 1000 + {skew}"},
    {"now", "({clock} DIV 1000)"},
    {"clock", server_clock},
    {"passed", "{end} < {now}"},
    {"remaining", "({end} + 1) * 1000 - {clock}"},
    // dlock's times are the server's on both sides. Another program's clock may be behind, whatever its ids look like.
    // Its sums may have overflowed in either direction, and MySQL refuses to add to such a value.
    {"end", "GREATEST(0, LEAST(timeout, 253402300799000)) + IF({by_dlock}, 0, {skew})"},
    // A request that other programs share. Its id is compared byte by byte, because the column may ignore case.
    {"mine", "CAST(CONVERT(request_id USING utf8mb4) AS BINARY) = CAST(CONVERT(:owner USING utf8mb4) AS BINARY)"},
};

// Counts the request's earlier holds even after their time has passed, as other programs do: a late release, which
// ignores the time, must not free what we have by then.
constexpr const char* enter_sql = R"(
UPDATE {table}
SET lock_count = IF({mine}, GREATEST(lock_count, 0) + 1, 1),
    timeout = GREATEST(IF({mine} AND NOT ({passed}), timeout, 0), :until + {skew}),
    request_id = :owner,
    version = LAST_INSERT_ID(version + 1)
WHERE lock_key = {:key}
  AND (request_id = '' OR {mine} OR {passed})
)";

constexpr const char* row_sql = R"(
INSERT INTO {table}
SET lock_key = :key,
    request_id = '',
    lock_count = 0,
    timeout = 0,
    version = 0
)";

constexpr const char* stay_sql = R"(
UPDATE {table}
SET timeout = GREATEST(timeout, LAST_INSERT_ID({now} + :ttl DIV 1000) + {skew}),
    version = version + 1
WHERE lock_key = {:key}
  AND {mine}
  AND {now} < :until
)";

constexpr const char* leave_sql = R"(
UPDATE {table}
SET request_id = IF(lock_count > 1, request_id, ''),
    timeout = IF(lock_count > 1, timeout, 0),
    version = version + 1,
    lock_count = lock_count - 1
WHERE lock_key = {:key}
  AND {mine}
  AND lock_count > 0
  AND {now} < :until
)";

}  // namespace

std::string granted_fence_sql(const scheme_sql& sql, const request& grant, std::string_view owner) {
  const auto key = value_literal(sql.key, grant.resource);
  if (grant.request_id.empty()) {
    return fmt::format(
        "SELECT SUBSTRING_INDEX(request_id, '/', -1) FROM {} WHERE lock_key={} AND request_id LIKE '{}/%'", sql.table,
        key, owner);
  }
  return fmt::format(
      "SELECT version FROM {} WHERE lock_key={} AND CAST(CONVERT(request_id USING utf8mb4) AS BINARY)={}", sql.table,
      key, mysql_literal(grant.request_id));
}

namespace {

scheme_sql make_sql(const layout& table, std::chrono::milliseconds skew) {
  const auto& key = table.key("lock_key");
  static_cast<void>(table.owner("request_id", longest_owner));
  for (const char* const number : {"lock_count", "timeout", "version"}) static_cast<void>(table.number(number, number));
  sql::dictionary words({t_lock_words, row_words(), sql::common_words()});
  words.set("table", table.table()).set(":key", key_parameter(key)).set("by_dlock", by_dlock);
  auto made = sql_of(words.set("skew", std::to_string(skew.count())), table, key, std::chrono::milliseconds{1});
  made.others = {statement_of("read the clock", "SELECT {now}", words), statement_of("make a row", row_sql, words),
                 statement_of("enter", enter_sql, words), statement_of("stay", stay_sql, words),
                 statement_of("leave", leave_sql, words)};
  return made;
}

}  // namespace

table_scheme t_lock_scheme(store_url url, const t_lock_options& options) {
  auto settings = table_settings::take(url, "t_lock", options.table);
  const std::chrono::milliseconds skew{
      url.take_number("skew", options.skew.count(), 0, longest_skew_ms, "milliseconds")};
  settings.take_wake(url, options.wake);
  url.expect_no_more_params();
  return {settings, [skew](const layout& table) { return make_sql(table, skew); }};
}

}  // namespace dlock::stores::mysql::t_lock
