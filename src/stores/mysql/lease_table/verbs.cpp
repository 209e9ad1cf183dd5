// SPDX-License-Identifier: GPL-2.0-or-later

/// The verbs on lock and session rows: each one prepared statement.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/mysql/client/guard.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/batch.hpp"
#include "stores/mysql/lease_table/grant.hpp"
#include "stores/mysql/lease_table/rows.hpp"
#include "stores/mysql/lease_table/store.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

reply refuse(std::string text) {
  reply made;
  made.why = make_own_fault(std::move(text));
  return made;
}

void fill(mysql_values& to, const request& from) noexcept {
  to.key.assign(from.resource);
  to.session.assign(bytes_of(from.session));
  to.nonce = from.nonce;
  to.fence = from.fence;
  to.own_ttl = from.ttl.count();
  to.no_own_ttl = from.kind == lease_kind::session && from.action != verb::extend;
  to.min_hold = from.min_hold.count();
}

/// Affected rows alone say whether the condition held.
reply changed(lease_connection& on, mysql_hot which, mysql_done& done) {
  reply made;
  made.result = on.run(which, done, made.why);
  if (made.result == outcome::yes && done.rows == 0) made.result = outcome::no;
  return made;
}

reply changed(lease_connection& on, mysql_hot which) {
  mysql_done done;
  return changed(on, which, done);
}

/// LAST_INSERT_ID's value means something only if the condition held.
reply granted(lease_connection& on, const mysql_sql& sql, mysql_hot which, const request& what) {
  mysql_done done;
  reply made = changed(on, which, done);
  if (made.result != outcome::yes) return made;
  tell_fence(
      on, done.insert_id,
      [&] {
        return sql.names().expand(
            fmt::format("SELECT {{lock.fence}} FROM {{lock}} WHERE {{lock.lock_key}}={} AND "
                        "{{lock.session_id}}={} AND {{lock.nonce}}={}",
                        mysql_literal(what.resource), mysql_literal(bytes_of(what.session)), what.nonce));
      },
      made);
  return made;
}

/// An INSERT that found the row there already says no: somebody else made it.
reply unless_there(reply made) {
  if (made.result != outcome::failed || made.why.native != static_cast<int>(mysql_duplicate_key)) return made;
  return {outcome::no, 0, {}, {}};
}

reply insert(lease_connection& on, const mysql_sql& sql, const request& what) {
  reply made = granted(on, sql, mysql_hot::insert, what);
  if (made.result != outcome::no) return unless_there(std::move(made));
  return refuse(fmt::format("insert: table {} has no row with id 1: open the store with schema=create to repair it",
                            sql.names().table("floor")));
}

seen seen_of(const mysql_look_row& row) {
  seen made;
  made.fence = row.fence;
  made.holder = id_of(row.holder.view());
  if (!made.holder) return made;
  made.kind = row.kept != 0 ? lease_kind::session : lease_kind::expiring;
  made.gone = row.kept != 0 && row.gone != 0;
  made.expired = row.left_us <= 0;
  made.left = microseconds{std::max<std::int64_t>(0, row.left_us)};
  if (row.gone == 0) {
    made.who =
        describe_holder({row.host.bytes.data(), row.host.size}, row.pid, {row.label.bytes.data(), row.label.size});
  }
  return made;
}

reply look(lease_connection& on) {
  reply made;
  mysql_look_row row;
  made.result = on.look(row, made.why);
  if (made.result == outcome::yes) made.holder = seen_of(row);
  return made;
}

reply take_over(lease_connection& on, const mysql_sql& sql, const request& what) {
  on.values().holder.assign(bytes_of(what.expected->holder));
  on.values().seen_fence = what.expected->fence;
  return granted(on, sql, mysql_hot::take_over, what);
}

reply execute_one(lease_connection& on, const mysql_sql& sql, const mysql_row_sql& rows, const request& what) {
  if (what.row != nullptr) return execute_on_row(on, rows, what);
  if (what.resource.empty() || what.resource.size() > on.values().key.bytes.size()) {
    return refuse(fmt::format("a key of {} bytes: 1 to 255 are possible", what.resource.size()));
  }
  fill(on.values(), what);
  switch (what.action) {
    case verb::take: return granted(on, sql, mysql_hot::take, what);
    case verb::insert: return insert(on, sql, what);
    case verb::look: return look(on);
    case verb::take_over: return take_over(on, sql, what);
    case verb::extend: return changed(on, mysql_hot::extend);
    case verb::release: return changed(on, what.min_hold.count() > 0 ? mysql_hot::release_later : mysql_hot::release);
    case verb::cancel: return changed(on, mysql_hot::cancel);
  }
  return refuse("no such verb");
}

/// A dead holder may have left a transaction open that has the row locked. MySQL can't bound the wait of an UPDATE below
/// a second (MariaDB can, and its statements do), so it is asked first, by a read that locks and does not wait.
bool asks_first(const lease_connection& on, const request& what) noexcept {
  if (!on.quick_prefix().empty()) return false;
  return what.action == verb::take_over || (what.action == verb::take && what.looked);
}

reply execute_after_asking(lease_connection& on, const mysql_sql& sql, const mysql_row_sql& rows, const request& what) {
  const auto from = what.row != nullptr
                        ? what.row->table->table + " WHERE " + rows.rows_by_id(*what.row->table, {&what.row, 1})
                        : sql.names().expand("{lock} WHERE {lock.lock_key}=") + mysql_literal(what.resource);
  reply made;
  made.result = on.query("SELECT 1 FROM " + from + " FOR UPDATE NOWAIT", "ask for a row", nullptr, nullptr, made.why);
  if (made.result == outcome::unknown) made.result = outcome::failed;  // a read: nothing of it can be done later
  if (made.result != outcome::yes) return made;
  made = execute_one(on, sql, rows, what);
  ++made.statements;
  return made;
}

}  // namespace

void mysql_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  auto& with = static_cast<native&>(on);
  if (requests.size() > 1 && one_statement_can(requests)) {
    execute_in_one(with, sql_, requests, replies);
    return;
  }
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto run = asks_first(with, requests[i]) ? execute_after_asking : execute_one;
    replies[i] = guarded(with, "lock", [&] { return run(with, sql_, row_sql_, requests[i]); });
  }
}

reply mysql_store::session(connection& on, session_verb action, const session_record& of) noexcept {
  auto& with = static_cast<native&>(on);
  return guarded(with, "session", [&] {
    auto& values = with.values();
    values.session.assign(bytes_of(of.id));
    values.ttl = of.ttl.count();
    switch (action) {
      case session_verb::open:
        values.host.assign(clip_utf8(of.host, 255));
        values.pid = of.pid;
        values.label.assign(clip_utf8(of.label, 64));
        return unless_there(changed(with, mysql_hot::session_open));
      case session_verb::renew: return changed(with, mysql_hot::session_renew);
      case session_verb::remove_expired: return changed(with, mysql_hot::session_remove_expired);
      case session_verb::close: return changed(with, mysql_hot::session_close);
    }
    return refuse("no such session verb");
  });
}

}  // namespace dlock::stores::mysql::lease_table
