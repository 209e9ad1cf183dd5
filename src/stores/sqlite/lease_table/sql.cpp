// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/sql.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "stores/sqlite/lease_table/row_sql.hpp"

namespace dlock::stores::sqlite::lease_table {
namespace {

constexpr sql::named_part words[] = {
    {"now", ":now"},
    {"next_fence", "{lock.fence} + 1"},
    {"reserved_fence", "{lock.fence} + :count"},
    {"first_fence", "{floor.fence} + 1"},
    {"unverified", ""},
    {"only_primary", ""},
    {"lock_floor", ""},
    {"returning", "RETURNING {lock.fence}"},
    {"greatest", "MAX"},
    {"if", "IIF"},
    {"seen_expiry", "l.{lock.expires_at_us}, s.{session.expires_at_us}"},
    {"boot", ":boot"},
    {"connection", ":connection"},
    {"other_boot", " OR (s.{session.boot} <> :boot AND s.{session.expires_at_us} > :now + s.{session.ttl_us})"},
    {"wide_fence", "h.fence"},
};

// The rules are those of docs/protocol.md.
constexpr sql::statement_source<statement_id> own[] = {
    // Runs before a session's row is deleted, which showed how late it is: after a reboot that time would be ahead of
    // the clock.
    {statement_id::latest, "note the time", R"(
UPDATE {floor}
SET {floor.fence} = MAX({floor.fence}, :now)
WHERE {floor.id} = 2
)"},

    // Rule 2, for the session that a row locked in place names.
    {statement_id::poll_session, "poll a session", R"(
SELECT {session.expires_at_us}, {session.host}, {session.pid}, {session.label}
FROM {session}
WHERE {session.id} = :session
)"},
};

// A poll of many keys.
constexpr sql::named_part batch_words[] = {
    {"row", "{lock.lock_key} IN (:keys)"},
    {"seen", "{seen_holder}, l.{lock.lock_key}"},
};

}  // namespace

row_times::row_times(const statement_values& values, microseconds now)
    : now_(now), by_column_(sql::by_column(*values.row->table)) {
  if (!by_column_) return;
  now_text_ = row_time(now, false);
  end_text_ = row_time(now + microseconds{values.own_ttl}, true);
}

void row_times::bind_now(sqlite_statement& to, int at) const noexcept {
  by_column_ ? to.bind_text(at, now_text_) : to.bind(at, now_.count());
}

void row_times::bind_expiry(sqlite_statement& to, int at, const statement_values& values) const noexcept {
  if (by_column_) return to.bind_text(at, end_text_);
  values.no_own_ttl ? to.bind_null(at) : to.bind(at, now_.count() + values.own_ttl);
}

namespace {

void bind_id(sqlite_statement& to, int at, const row_value& value) noexcept {
  if (const auto* text = std::get_if<std::string>(&value)) {
    to.bind_text(at, *text);
  } else if (const auto* signed_number = std::get_if<std::int64_t>(&value)) {
    to.bind(at, *signed_number);
  } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    to.bind(at, *number);
  }
}

}  // namespace

void bind(sqlite_statement& to, const sql::statement_text& text, const statement_values& values,
          const own_values& own) noexcept {
  const auto* const times = own.rows;
  int at = 0;
  for (const auto number : text.parameters) {
    ++at;
    switch (static_cast<parameter>(number)) {
      case parameter::now: times != nullptr ? times->bind_now(to, at) : to.bind(at, own.now); break;
      case parameter::key: to.bind_blob(at, values.key); break;
      case parameter::session: to.bind_id(at, values.session); break;
      case parameter::nonce: to.bind(at, values.nonce); break;
      case parameter::fence: to.bind(at, values.fence); break;
      case parameter::own_ttl: values.no_own_ttl ? to.bind_null(at) : to.bind(at, values.own_ttl); break;
      case parameter::min_hold: to.bind(at, values.min_hold); break;
      case parameter::holder:
      case parameter::seen_session: to.bind_id(at, values.holder); break;
      case parameter::seen_fence: to.bind(at, values.seen_fence); break;
      case parameter::ttl: to.bind(at, values.ttl); break;
      case parameter::host: to.bind_text(at, values.host); break;
      case parameter::pid: to.bind(at, values.pid); break;
      case parameter::label: to.bind_text(at, values.label); break;
      case parameter::count: to.bind(at, values.count); break;
      case parameter::boot: to.bind_text(at, own.boot); break;
      case parameter::owner: to.bind_text(at, values.owner); break;
      case parameter::verified_owner: to.bind_text(at, values.verified_owner); break;
      case parameter::seen_owner: to.bind_text(at, values.seen_owner); break;
      case parameter::seen_verified_owner: to.bind_text(at, values.seen_verified_owner); break;
      case parameter::expiry: times->bind_expiry(to, at, values); break;
      case parameter::horizon: to.bind(at, (times->now() + row_horizon).count()); break;
      default: bind_id(to, at, values.row->values[number - static_cast<std::size_t>(parameter::id)]); break;
    }
  }
}

sql::dictionary key_words(const sql::table_names& names) { return sql::key_dictionary({words}, names); }

lease_sql::lease_sql(sql::table_names names) : names_(std::move(names)) {
  sql::add_words(names_, words);
  const auto shared = sql::shared_statements();
  statements_ =
      sql::make_statements<statement_id>({shared, own}, key_words(names_), sql::lock_parameters, sql::marker::name);
  std::string keys;
  for (std::size_t i = 1; i <= most_polls; ++i) keys += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  poll_all_ = sql::write_values(
      sql::key_dictionary({batch_words, words}, names_).fill(sql::template_of(sql::lock_statement::poll).sql),
      {{"keys", keys}});
}

}  // namespace dlock::stores::sqlite::lease_table
