// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/unique_insert/sql.hpp"

namespace dlock::stores::mysql::unique_insert {

using namespace shared_table;

namespace {

constexpr const char* insert_sql = R"(
INSERT INTO {table}
SET {key} = :key,
    {owner} = :owner,
    {expiry} = {until}{state}
)";

constexpr const char* take_sql = R"(
UPDATE {table}
SET {owner} = :owner,
    {expiry} = {until}
WHERE {key} = {:key}
  AND (COALESCE({owner}, '') = '' OR {passed})
)";

constexpr const char* look_sql = R"(
SELECT COALESCE({owner}, '') <> '', LEFT({owner}, 100), {left}, 0
FROM {table}
WHERE {key} = {:key}
)";

constexpr const char* take_over_sql = R"(
UPDATE {table}
SET {owner} = :owner,
    {expiry} = {until}
WHERE {key} = {:key}
  AND {owner} = :holder
  AND {passed}
)";

constexpr const char* extend_sql = R"(
UPDATE {table}
SET {expiry} = {extended}
WHERE {key} = {:key}
  AND {owner} = :owner
  AND NOT ({passed})
)";

constexpr const char* release_sql = R"(
DELETE FROM {table}
WHERE {key} = {:key}
  AND {owner} = :owner
)";

constexpr const char* held_sql = R"(
SELECT {key}, LEFT({owner}, 100), {left}, 0
FROM {table}
WHERE {owner} <> ''
  AND NOT ({passed})
)";

constexpr const char* expired_sql = R"(
SELECT {id}
FROM {table}
WHERE {passed}
)";

constexpr const char* free_expired_sql = R"(
DELETE FROM {table}
WHERE {passed}
  AND {id} =
)";

}  // namespace

unique_insert_settings::unique_insert_settings(store_url url, const unique_insert_options& options)
    : table_settings(table_settings::take(url, "unique_insert", options.table)) {
  key = take_column(url, "key", options.key);
  owner = take_column(url, "owner", options.owner);
  expiry = take_column(url, "expiry", options.expiry);
  // Of a table that has such a column without a default.
  state = url.take_param("state", options.state);
  if (!state.empty()) state = checked_name("state", state);
  url.expect_no_more_params();
}

scheme_sql make_sql(const layout& table, const unique_insert_settings& settings) {
  const auto& key = table.key(settings.key);
  const auto& owner = table.owner(settings.owner, 49);
  const auto& expires = table.expiry(settings.expiry);
  const expiry_sql time(expires);
  const auto state = settings.state.empty() ? std::string{} : table.number(settings.state, "state").quoted();
  const auto id_column = table.primary().quoted();
  const auto k = key.quoted(), value = key_parameter(key), o = owner.quoted(), e = expires.quoted();
  const sql::named_part t{"table", table.table()}, id{"id", id_column}, name{"key", k}, k_value{":key", value},
      who{"owner", o}, end{"expiry", e}, until{"until", time.until}, longer{"extended", time.extended},
      passed{"passed", time.passed}, left{"left", time.left};
  const std::string with_state = state.empty() ? "" : ", " + state + " = 1";
  const sql::named_part set_state{"state", with_state};
  const scheme_texts texts{.take = take_sql,
                           .insert = insert_sql,
                           .look = look_sql,
                           .take_over = take_over_sql,
                           .extend = extend_sql,
                           .release = release_sql,
                           .held = held_sql,
                           .expired = expired_sql,
                           .free_expired = free_expired_sql};
  scheme_sql made{
      .statements = statements_of(texts, {t, id, name, k_value, who, end, until, longer, passed, left, set_state}),
      .key = key,
      .primary = table.primary(),
      .unit = time.unit};
  made.statements.key_is_bytes = key.type == column_type::bytes;
  // Each statement is a transaction of its own, about one row, so the level changes nothing that they see. But where rows are
  // deleted and made again and again, InnoDB takes three times as long for it in READ COMMITTED.
  made.statements.at_start.emplace_back("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  if (expires.type == column_type::datetime) made.statements.at_start.emplace_back(use_other_programs_zone);
  return made;
}

}  // namespace dlock::stores::mysql::unique_insert
