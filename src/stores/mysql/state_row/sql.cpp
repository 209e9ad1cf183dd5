// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/state_row/sql.hpp"

namespace dlock::stores::mysql::state_row {

using namespace shared_table;

namespace {

constexpr const char* take_sql = R"(
UPDATE {table}
SET {state} = 1,
    {owner} = :owner,
    {expiry} = {until}
WHERE {key} = {:key}
  AND ({state} = 0 OR {passed})
)";

constexpr const char* insert_sql = R"(
INSERT INTO {table}
SET {key} = :key,
    {state} = 1,
    {owner} = :owner,
    {expiry} = {until}
)";

constexpr const char* look_sql = R"(
SELECT {state} <> 0, LEFT({owner}, 100), {left}, 0
FROM {table}
WHERE {key} = {:key}
)";

constexpr const char* take_over_sql = R"(
UPDATE {table}
SET {owner} = :owner,
    {expiry} = {until}
WHERE {key} = {:key}
  AND {state} = 1
  AND {owner} = :holder
  AND {passed}
)";

constexpr const char* extend_sql = R"(
UPDATE {table}
SET {expiry} = {extended}
WHERE {key} = {:key}
  AND {state} = 1
  AND {owner} = :owner
  AND NOT ({passed})
)";

constexpr const char* release_sql = R"(
UPDATE {table}
SET {state} = 0,
    {owner} = ''{no_expiry}
WHERE {key} = {:key}
  AND {state} = 1
  AND {owner} = :owner
)";

constexpr const char* held_sql = R"(
SELECT {key}, LEFT({owner}, 100), {left}, 0
FROM {table}
WHERE {state} <> 0
  AND COALESCE({passed}, 0) = 0
)";

constexpr const char* expired_sql = R"(
SELECT {id}
FROM {table}
WHERE {state} <> 0
  AND {passed}
)";

constexpr const char* free_expired_sql = R"(
UPDATE {table}
SET {state} = 0,
    {owner} = ''{no_expiry}
WHERE {state} <> 0
  AND {passed}
  AND {id} =
)";

}  // namespace

state_row_settings::state_row_settings(store_url url, const state_row_options& options)
    : table_settings(table_settings::take(url, "state_row", options.table)) {
  key = take_column(url, "key", options.key);
  state = take_column(url, "state", options.state);
  owner = take_column(url, "owner", options.owner);
  expiry = take_column(url, "expiry", options.expiry);
  url.expect_no_more_params();
}

scheme_sql make_sql(const layout& table, const state_row_settings& settings) {
  const auto& key = table.key(settings.key);
  const auto& owner = table.owner(settings.owner, 49);
  const auto& expires = table.expiry(settings.expiry);
  const expiry_sql time(expires);
  const auto k = key.quoted(), value = key_parameter(key), s = table.number(settings.state, "state").quoted();
  const auto o = owner.quoted(), e = expires.quoted(), id_column = table.primary().quoted();
  // Who takes the key next by plain SQL may set no expiry: an old one would free it under its feet.
  const auto clear = expires.nullable ? ", " + e + " = NULL" : std::string{};
  const sql::named_part t{"table", table.table()}, id{"id", id_column}, name{"key", k}, k_value{":key", value},
      state{"state", s}, who{"owner", o}, end{"expiry", e}, no_end{"no_expiry", clear}, until{"until", time.until},
      longer{"extended", time.extended}, passed{"passed", time.passed}, left{"left", time.left};
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
      .statements = statements_of(texts, {t, id, name, k_value, state, who, end, no_end, until, longer, passed, left}),
      .key = key,
      .primary = table.primary(),
      .unit = time.unit};
  made.statements.key_is_bytes = key.type == column_type::bytes;
  if (expires.type == column_type::datetime) made.statements.at_start.emplace_back(use_other_programs_zone);
  return made;
}

}  // namespace dlock::stores::mysql::state_row
