// SPDX-License-Identifier: BSL-1.0
// Rule 11: clean-up in small steps by primary key, each a statement of its own: one over a range would make
// renewals wait, and a cleaner stopped inside a transaction would stop the next.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/store.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

/// So many rows of the lock table are looked at in one step.
constexpr std::size_t window = 5000;
/// So many dead sessions are asked about on one way through the lock table.
constexpr std::size_t most_sessions = 500;
/// A statement that waited so long for a lock ends the step: the next one may fare no better.
constexpr std::chrono::milliseconds long_wait{200};

/// A key that nobody has been granted for long, and that is free or whose holder is dead.
struct unused_key {
  std::string key{};
  std::string holder{};  ///< empty: nobody
  std::uint64_t fence = 0;
  bool kept = false;
};

/// What became of a change.
enum class did { it, nothing, failed };  // nothing: somebody has it locked

/// Executes the statements of a step, and keeps what came of them.
class sweep_statements {
 public:
  sweep_statements(lease_connection& connection, const sql::table_names& names)
      : connection_(connection), names_(names) {}

  bool run(std::string_view text, mysql_rows* rows, std::uint64_t* changed) {
    result_.result = connection_.query(sql::in_one_line(names_.expand(text)), "sweep", rows, changed, result_.why);
    return result_.result == outcome::yes;
  }

  /// A statement about one row, which checks again whether it may.
  did change(const std::string& text, std::uint64_t& changed) {
    const auto began = std::chrono::steady_clock::now();
    changed = 0;
    if (run(std::string(connection_.quick_prefix()) + text, nullptr, &changed)) return did::it;
    if (result_.result != outcome::failed || !result_.why.contended) return did::failed;
    result_ = {.result = outcome::yes};
    waited_ = waited_ || std::chrono::steady_clock::now() - began > long_wait;
    return did::nothing;
  }
  bool change(const std::string& text) {
    std::uint64_t changed = 0;
    if (change(text, changed) == did::failed) return false;
    changed_ = changed;
    return true;
  }

  /// Of those that `which` names only those stay whose row nobody has locked. MariaDB is told with each statement not
  /// to wait instead.
  template <class Candidates, class Name>
  bool leave_out_locked(const std::string& from, const std::string& column, Candidates& candidates, Name name) {
    if (candidates.empty() || !connection_.quick_prefix().empty()) return true;
    std::vector<std::string> names;
    for (const auto& each : candidates) names.push_back(mysql_literal(name(each)));
    mysql_rows rows;
    const auto text =
        sql::write_values("SELECT :column FROM :table WHERE :column IN (:names) FOR UPDATE SKIP LOCKED",
                          {{"column", column}, {"table", from}, {"names", fmt::to_string(fmt::join(names, ","))}});
    if (!run(text, &rows, nullptr)) return false;
    std::erase_if(candidates, [&](const auto& each) {
      return std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.at(0) == name(each); });
    });
    return true;
  }

  /// Rows that the last change has changed.
  std::uint64_t changed() const noexcept { return changed_; }
  /// Whether a change has waited for a lock for long.
  bool waited() const noexcept { return waited_; }
  did fail(fault why) {
    result_ = {.why = std::move(why)};
    return did::failed;
  }
  /// That of the last statement.
  reply take_result() { return std::move(result_); }

 private:
  lease_connection& connection_;
  const sql::table_names& names_;
  std::uint64_t changed_ = 0;
  bool waited_ = false;
  reply result_{.result = outcome::yes};
};

/// One step: at most `limit` keys and `limit` sessions go.
class sweeper {
 public:
  sweeper(lease_connection& connection, const sql::table_names& names, mysql_cleanup_cursor& at, microseconds idle,
          std::size_t limit)
      : statements_(connection, names), names_(names), at_(at), idle_(idle.count()), limit_(limit) {}

  reply run() {
    if (!step()) at_ = {};
    auto result = statements_.take_result();
    result.fence = gone_;
    result.more = !at_.after.empty() || !at_.forgotten.empty();
    return result;
  }

 private:
  bool step() {
    if (at_.forgotten.empty() && !go_on()) return false;
    return delete_sessions();
  }

  bool go_on() {
    if (at_.after.empty() && !note_dead_sessions()) return false;
    if (idle_ <= 0 && at_.dead.empty()) return true;
    if (!scan_window()) return false;
    // At the end: who was not met on the way holds nothing.
    if (at_.after.empty()) at_.forgotten.assign(at_.dead.begin(), at_.dead.end());
    return true;
  }

  /// Sessions that have been dead for longer than their ttl.
  bool note_dead_sessions() {
    mysql_rows rows;
    at_.dead.clear();
    const auto text = sql::write_values(R"(
SELECT {session.id}
FROM {session}
WHERE {session.expires_at_us} + {session.ttl_us} <= {now}
ORDER BY {session.id}
LIMIT :most
)",
                                        {{"most", std::to_string(most_sessions)}});
    if (!statements_.run(text, &rows, nullptr)) return false;
    for (const auto& row : rows) at_.dead.insert(row.at(0).value_or(""));
    return true;
  }

  bool scan_window() {
    std::string end;
    std::vector<unused_key> found;
    if (!find_end(end) || !find_idle(end, found)) return false;
    if (found.size() == 2 * limit_) end = found.back().key;
    if (!sweep_keys(std::move(found), end)) return false;
    if (!at_.dead.empty() && !note_holders(end)) return false;
    at_.after = std::move(end);
    return true;
  }

  /// Where the window ends; empty: the table ends before.
  bool find_end(std::string& end) {
    mysql_rows rows;
    const auto text = sql::write_values(R"(
SELECT {lock.lock_key}
FROM {lock}
WHERE {lock.lock_key} > :after
ORDER BY {lock.lock_key}
LIMIT 1 OFFSET :window
)",
                                        {{"after", mysql_literal(at_.after)}, {"window", std::to_string(window - 1)}});
    if (!statements_.run(text, &rows, nullptr)) return false;
    if (!rows.empty()) end = rows.front().at(0).value_or("");
    return true;
  }

  std::string in_window(const std::string& end) const {
    const auto begin = "l.{lock.lock_key} > " + mysql_literal(at_.after);
    return end.empty() ? begin : begin + " AND l.{lock.lock_key} <= " + mysql_literal(end);
  }

  /// Twice as many as may go, because some may be locked.
  bool find_idle(const std::string& end, std::vector<unused_key>& found) {
    if (idle_ <= 0) return true;
    mysql_rows rows;
    const auto text = sql::write_values(
        R"(
SELECT l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us} IS NULL
FROM {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE :in_window
  AND l.{lock.acquired_at_us} + :idle <= {now}
  AND (l.{lock.session_id} IS NULL
       OR IF(l.{lock.expires_at_us} IS NULL,
             s.{session.id} IS NULL OR s.{session.expires_at_us} + s.{session.ttl_us} <= {now},
             l.{lock.expires_at_us} <= {now}))
ORDER BY l.{lock.lock_key}
LIMIT :most
)",
        {{"in_window", in_window(end)}, {"idle", std::to_string(idle_)}, {"most", std::to_string(2 * limit_)}});
    if (!statements_.run(text, &rows, nullptr)) return false;
    for (const auto& row : rows) {
      found.push_back({row.at(0).value_or(""), row.at(1).value_or(""),
                       std::strtoull(row.at(2).value_or("0").c_str(), nullptr, 10), row.at(3) == "1"});
    }
    return true;
  }

  /// `end` becomes the last one looked at, if that is not all.
  bool sweep_keys(std::vector<unused_key> found, std::string& end) {
    if (!statements_.leave_out_locked("{lock}", "{lock.lock_key}", found,
                                      [](const unused_key& each) { return each.key; }))
      return false;
    if (found.empty()) return true;
    const auto floor = raise_floor(found);
    if (floor != did::it) return floor == did::nothing;
    for (auto each = found.begin(); each != found.end(); ++each) {
      if ((!each->holder.empty() && !free_dead(*each)) || !delete_key(*each)) return false;
      if ((gone_ == limit_ || statements_.waited()) && std::next(each) != found.end()) {
        end = each->key;
        return true;
      }
    }
    return true;
  }

  /// Before a row goes, so that one which is made anew starts above it.
  did raise_floor(const std::vector<unused_key>& found) {
    const auto highest = std::max_element(found.begin(), found.end(),
                                          [](const unused_key& a, const unused_key& b) { return a.fence < b.fence; });
    std::uint64_t changed = 0;
    const auto text = sql::write_values(R"(
UPDATE {floor}
SET {floor.fence} = GREATEST({floor.fence}, :seen_fence)
WHERE {floor.id} = 1
)",
                                        {{"seen_fence", std::to_string(highest->fence)}});
    const auto done = statements_.change(text, changed);
    if (done != did::it || changed != 0) return done;
    return statements_.fail(make_own_fault(fmt::format("sweep: table {} has no row with id 1", names_.table("floor"))));
  }

  // A dead holder's row goes to nobody, exactly as a taker would get it (rule 2): holder and fence named, the
  // session killed first. A key that nobody asks for again could never be cleaned up otherwise.
  bool free_dead(const unused_key& idle) {
    const auto holder = mysql_literal(idle.holder);
    if (idle.kept && !statements_.change(sql::write_values(R"(
DELETE FROM {session}
WHERE {session.id} = :holder
  AND {session.expires_at_us} + {session.ttl_us} <= {now}
)",
                                                           {{"holder", holder}}))) {
      return false;
    }
    return statements_.change(sql::write_values(
        R"(
UPDATE {lock}
SET
  {lock.session_id} = NULL,
  {lock.expires_at_us} = NULL
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :holder
  AND {lock.fence} = :seen_fence
  AND ({lock.expires_at_us} <= {now}
       OR ({lock.expires_at_us} IS NULL
           AND NOT EXISTS (SELECT 1 FROM {session} s WHERE s.{session.id} = :holder)))
)",
        {{"key", mysql_literal(idle.key)}, {"holder", holder}, {"seen_fence", std::to_string(idle.fence)}}));
  }

  bool delete_key(const unused_key& idle) {
    if (!statements_.change(
            sql::write_values(R"(
DELETE FROM {lock}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} IS NULL
  AND {lock.fence} <= :seen_fence
)",
                              {{"key", mysql_literal(idle.key)}, {"seen_fence", std::to_string(idle.fence)}}))) {
      return false;
    }
    gone_ += statements_.changed();
    return true;
  }

  /// Dead sessions that hold something here.
  bool note_holders(const std::string& end) {
    mysql_rows rows;
    const auto text = sql::write_values(R"(
SELECT DISTINCT l.{lock.session_id}
FROM {lock} l
JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE :in_window
  AND s.{session.expires_at_us} + s.{session.ttl_us} <= {now}
)",
                                        {{"in_window", in_window(end)}});
    if (!statements_.run(text, &rows, nullptr)) return false;
    for (const auto& row : rows) at_.dead.erase(row.at(0).value_or(""));
    return true;
  }

  bool delete_sessions() {
    auto& left = at_.forgotten;
    const auto many = std::min(limit_, left.size());
    std::vector<std::string> now(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(many));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(many));
    if (!statements_.leave_out_locked("{session}", "{session.id}", now, [](const std::string& each) { return each; }))
      return false;
    for (const auto& each : now) {
      if (!statements_.change(sql::write_values(R"(
DELETE FROM {session}
WHERE {session.id} = :dead
  AND {session.expires_at_us} <= {now}
)",
                                                {{"dead", mysql_literal(each)}}))) {
        return false;
      }
      gone_ += statements_.changed();
      if (statements_.waited()) break;
    }
    return true;
  }

  sweep_statements statements_;
  const sql::table_names& names_;
  mysql_cleanup_cursor& at_;
  const std::int64_t idle_;
  const std::size_t limit_;
  std::uint64_t gone_ = 0;
};

}  // namespace

reply mysql_admin::cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept {
  return work_on<lease_connection>(connection, "sweep", [&](auto& with) {
    // Another service on this store is at it: who closes must not wait for the other's statements.
    if (!cleanup_mutex_.try_lock()) return reply{.result = outcome::yes, .statements = 0};
    const base::lock_guard lock(cleanup_mutex_, std::adopt_lock);
    return sweeper(with, tables_.sql.names(), cleanup_cursor_, idle, std::max<std::size_t>(1, limit)).run();
  });
}

}  // namespace dlock::stores::mysql::lease_table
