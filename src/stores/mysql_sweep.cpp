// SPDX-License-Identifier: GPL-2.0-or-later
// Rule 11: clean-up in small steps by primary key, each a statement of its own: one over a range would make
// renewals wait, and a cleaner stopped inside a transaction would stop the next.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "stores/mysql_guard.hpp"
#include "stores/mysql_store.hpp"

namespace dlock::stores {

using namespace dlock::detail;

namespace {

constexpr std::size_t rows_looked_at = 8;  // for each row that may go

struct sweeper {
  mysql_connection& on;
  const odb_names& names;
  microseconds idle;
  std::size_t limit;
  std::uint64_t gone = 0;
  reply result{};

  bool run(const std::string& sql, mysql_rows* rows, std::uint64_t* changed) {
    result.what = on.query(names.expand(sql), "sweep", rows, changed, result.why);
    return result.what == outcome::yes;
  }

  // A dead holder's row goes to nobody, exactly as a taker would get it (rule 2): holder and fence named, the
  // session killed first. A key that nobody asks for again could never be cleaned up otherwise.
  bool free_dead(const std::string& key, const std::string& session, const std::string& fence) {
    const auto holder = mysql_literal(session);
    return run("DELETE FROM {session} WHERE {session.id}=" + holder +
                   " AND {session.expires_at_us}+{session.ttl_us}<={now}",
               nullptr, nullptr) &&
           run("UPDATE {lock} SET {lock.session_id}=NULL, {lock.expires_at_us}=NULL WHERE {lock.lock_key}=" + key +
                   " AND {lock.session_id}=" + holder + " AND {lock.fence}=" + fence +
                   " AND ({lock.expires_at_us}<={now} OR ({lock.expires_at_us} IS NULL AND NOT EXISTS "
                   "(SELECT 1 FROM "
                   "{session} s WHERE s.{session.id}=" +
                   holder + ")))",
               nullptr, nullptr);
  }

  // The floor first: a row that is made anew in between starts above it already.
  bool delete_key(const std::string& key, const std::string& fence) {
    std::uint64_t changed = 0;
    if (!run("UPDATE {floor} SET {floor.fence}=GREATEST({floor.fence}, " + fence + ") WHERE {floor.id}=1", nullptr,
             &changed)) {
      return false;
    }
    if (changed == 0) {
      result.what = outcome::failed;
      result.why = make_own_fault(fmt::format("sweep: table {} has no row with id 1", names.table("floor")));
      return false;
    }
    changed = 0;
    if (!run("DELETE FROM {lock} WHERE {lock.lock_key}=" + key +
                 " AND {lock.session_id} IS NULL AND {lock.fence}<=" + fence,
             nullptr, &changed)) {
      return false;
    }
    gone += changed;
    return true;
  }

  /// One step through the lock table behind `after`; moves it on.
  bool sweep_keys(std::string& after) {
    mysql_rows rows;
    const auto many = limit * rows_looked_at;
    if (!run("SELECT l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}, l.{lock.acquired_at_us}+" +
                 std::to_string(idle.count()) +
                 "<={now}, IF(l.{lock.expires_at_us} IS NULL, s.{session.id} IS NULL OR "
                 "s.{session.expires_at_us}+s.{session.ttl_us}<={now}, l.{lock.expires_at_us}<={now}) FROM "
                 "{lock} l "
                 "LEFT JOIN {session} s ON s.{session.id}=l.{lock.session_id} WHERE l.{lock.lock_key}>" +
                 mysql_literal(after) + " ORDER BY l.{lock.lock_key} LIMIT " + std::to_string(many),
             &rows, nullptr)) {
      return false;
    }
    after = rows.size() < many ? std::string{} : *rows.back().at(0);
    const auto most = gone + limit;
    for (const auto& row : rows) {
      if (row.at(3) != "1") continue;
      if (gone == most) {
        after = *row.at(0);
        break;
      }
      const auto key = mysql_literal(*row.at(0));
      if (row.at(1)) {
        if (row.at(4) == "1" && !free_dead(key, *row.at(1), *row.at(2))) return false;
        if (row.at(4) != "1") continue;
      }
      if (!delete_key(key, *row.at(2))) return false;
    }
    return true;
  }

  /// Sessions dead for longer than their ttl that hold nothing.
  bool sweep_sessions() {
    mysql_rows dead;
    if (!run("SELECT {session.id} FROM {session} WHERE {session.expires_at_us}+{session.ttl_us}<={now} "
             "LIMIT " +
                 std::to_string(limit),
             &dead, nullptr)) {
      return false;
    }
    if (dead.empty()) return true;
    std::string ids;
    for (const auto& row : dead) ids += (ids.empty() ? "" : ",") + mysql_literal(*row.at(0));
    mysql_rows holding;
    if (!run("SELECT DISTINCT {lock.session_id} FROM {lock} WHERE {lock.session_id} IN (" + ids + ")", &holding,
             nullptr)) {
      return false;
    }
    for (const auto& row : dead) {
      if (std::find(holding.begin(), holding.end(), row) != holding.end()) continue;
      std::uint64_t changed = 0;
      if (!run("DELETE FROM {session} WHERE {session.id}=" + mysql_literal(*row.at(0)) +
                   " AND {session.expires_at_us}<={now}",
               nullptr, &changed)) {
        return false;
      }
      gone += changed;
    }
    return true;
  }
};

}  // namespace

reply mysql_store::sweep(connection& on, microseconds idle, std::size_t limit) noexcept {
  auto& with = static_cast<native&>(on);
  return guarded(with, "sweep", [&] {
    const std::lock_guard lock(sweep_mutex_);
    sweeper work{with, sql_.names(), idle, std::max<std::size_t>(1, limit)};
    // idle 0: keys are kept for ever.
    if (idle.count() <= 0 || work.sweep_keys(sweep_after_)) work.sweep_sessions();
    work.result.fence = work.gone;
    return std::move(work.result);
  });
}

}  // namespace dlock::stores
