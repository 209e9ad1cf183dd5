// SPDX-License-Identifier: BSL-1.0
// Rule 11: clean-up in small steps by primary key, each a statement of its own: one over a range would make
// renewals wait, and a cleaner stopped inside a transaction would stop the next.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "stores/mysql/client/reply_or_in_doubt.hpp"
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

/// A statement was not done: that ends the step.
struct step_failed {};

/// One step: at most `limit` keys and `limit` sessions go.
class sweeper {
 public:
  sweeper(lease_connection& connection, const sql::table_names& names, mysql_cleanup_cursor& at, microseconds idle,
          std::size_t limit)
      : connection_(connection), names_(names), at_(at), idle_(idle.count()), limit_(limit) {}

  reply run() {
    try {
      if (at_.forgotten.empty()) go_on();
      delete_sessions();
    } catch (const step_failed&) {
      at_ = {};
    }
    result_.fence = gone_;
    result_.more = !at_.after.empty() || !at_.forgotten.empty();
    return std::move(result_);
  }

 private:
  // ---- statements ---------------------------------------------------------------------------------------------------

  mysql_rows read(std::string_view text) {
    mysql_rows rows;
    send(text, &rows, nullptr);
    return rows;
  }

  void send(std::string_view text, mysql_rows* rows, std::uint64_t* changed) {
    result_.result = connection_.query(sql::in_one_line(names_.expand(text)), "sweep", rows, changed, result_.why);
    if (result_.result != outcome::yes) throw step_failed{};
  }

  /// A statement about one row, which checks again whether it may: how many rows it changed. Nothing: somebody has the
  /// row locked.
  std::optional<std::uint64_t> change(const std::string& text) {
    const auto began = std::chrono::steady_clock::now();
    try {
      std::uint64_t changed = 0;
      send(std::string(connection_.quick_prefix()) + text, nullptr, &changed);
      return changed;
    } catch (const step_failed&) {
      if (result_.result != outcome::failed || !result_.why.contended) throw;
    }
    result_ = {.result = outcome::yes};
    waited_ = waited_ || std::chrono::steady_clock::now() - began > long_wait;
    return std::nullopt;
  }

  /// Of those that `which` names only those stay whose row nobody has locked. MariaDB is told with each statement not
  /// to wait instead.
  template <class Candidates, class Name>
  void leave_out_locked(const std::string& from, const std::string& column, Candidates& candidates, Name name) {
    if (candidates.empty() || !connection_.quick_prefix().empty()) return;
    std::vector<std::string> names;
    for (const auto& each : candidates) names.push_back(mysql_literal(name(each)));
    const auto rows = read(
        sql::write_values("SELECT :column FROM :table WHERE :column IN (:names) FOR UPDATE SKIP LOCKED",
                          {{"column", column}, {"table", from}, {"names", fmt::to_string(fmt::join(names, ","))}}));
    std::erase_if(candidates, [&](const auto& each) {
      return std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.at(0) == name(each); });
    });
  }

  // ---- the way through the table ------------------------------------------------------------------------------------

  void go_on() {
    if (at_.after.empty()) note_dead_sessions();
    if (idle_ <= 0 && at_.dead.empty()) return;
    scan_window();
    // At the end: who was not met on the way holds nothing.
    if (at_.after.empty()) at_.forgotten.assign(at_.dead.begin(), at_.dead.end());
  }

  /// Sessions that have been dead for longer than their ttl.
  void note_dead_sessions() {
    at_.dead.clear();
    const auto text = sql::write_values(R"(
SELECT {session.id}
FROM {session}
WHERE {session.expires_at_us} + {session.ttl_us} <= {now}
ORDER BY {session.id}
LIMIT :most
)",
                                        {{"most", std::to_string(most_sessions)}});
    for (const auto& row : read(text)) at_.dead.insert(row.at(0).value_or(""));
  }

  void scan_window() {
    auto end = find_end();
    auto found = find_idle(end);
    if (found.size() == 2 * limit_) end = found.back().key;
    sweep_keys(std::move(found), end);
    if (!at_.dead.empty()) note_holders(end);
    at_.after = std::move(end);
  }

  /// Where the window ends; empty: the table ends before.
  std::string find_end() {
    const auto text = sql::write_values(R"(
SELECT {lock.lock_key}
FROM {lock}
WHERE {lock.lock_key} > :after
ORDER BY {lock.lock_key}
LIMIT 1 OFFSET :window
)",
                                        {{"after", mysql_literal(at_.after)}, {"window", std::to_string(window - 1)}});
    const auto rows = read(text);
    return rows.empty() ? std::string() : rows.front().at(0).value_or("");
  }

  std::string in_window(const std::string& end) const {
    const auto begin = "l.{lock.lock_key} > " + mysql_literal(at_.after);
    return end.empty() ? begin : begin + " AND l.{lock.lock_key} <= " + mysql_literal(end);
  }

  /// Twice as many as may go, because some may be locked.
  std::vector<unused_key> find_idle(const std::string& end) {
    std::vector<unused_key> found;
    if (idle_ <= 0) return found;
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
    for (const auto& row : read(text)) {
      found.push_back({row.at(0).value_or(""), row.at(1).value_or(""), unsigned_of(row.at(2)), row.at(3) == "1"});
    }
    return found;
  }

  /// `end` becomes the last one looked at, if that is not all.
  void sweep_keys(std::vector<unused_key> found, std::string& end) {
    leave_out_locked("{lock}", "{lock.lock_key}", found, [](const unused_key& each) { return each.key; });
    if (found.empty() || !raise_floor(found)) return;
    for (auto each = found.begin(); each != found.end(); ++each) {
      if (!each->holder.empty()) free_dead(*each);
      delete_key(*each);
      if ((gone_ == limit_ || waited_) && std::next(each) != found.end()) {
        end = each->key;
        return;
      }
    }
  }

  /// Before a row goes, so that one which is made anew starts above it. False: somebody has the floor locked.
  bool raise_floor(const std::vector<unused_key>& found) {
    const auto highest = std::max_element(found.begin(), found.end(),
                                          [](const unused_key& a, const unused_key& b) { return a.fence < b.fence; });
    const auto changed = change(sql::write_values(R"(
UPDATE {floor}
SET {floor.fence} = GREATEST({floor.fence}, :seen_fence)
WHERE {floor.id} = 1
)",
                                                  {{"seen_fence", std::to_string(highest->fence)}}));
    if (changed != 0) return changed.has_value();
    result_ = refuse(fmt::format("sweep: table {} has no row with id 1", names_.table("floor")));
    throw step_failed{};
  }

  // A dead holder's row goes to nobody, exactly as a taker would get it (rule 2): holder and fence named, the
  // session killed first. A key that nobody asks for again could never be cleaned up otherwise.
  void free_dead(const unused_key& idle) {
    const auto holder = mysql_literal(idle.holder);
    if (idle.kept) {
      change(sql::write_values(R"(
DELETE FROM {session}
WHERE {session.id} = :holder
  AND {session.expires_at_us} + {session.ttl_us} <= {now}
)",
                               {{"holder", holder}}));
    }
    change(sql::write_values(
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

  void delete_key(const unused_key& idle) {
    gone_ += change(sql::write_values(R"(
DELETE FROM {lock}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} IS NULL
  AND {lock.fence} <= :seen_fence
)",
                                      {{"key", mysql_literal(idle.key)}, {"seen_fence", std::to_string(idle.fence)}}))
                 .value_or(0);
  }

  /// Dead sessions that hold something here.
  void note_holders(const std::string& end) {
    const auto text = sql::write_values(R"(
SELECT DISTINCT l.{lock.session_id}
FROM {lock} l
JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE :in_window
  AND s.{session.expires_at_us} + s.{session.ttl_us} <= {now}
)",
                                        {{"in_window", in_window(end)}});
    for (const auto& row : read(text)) at_.dead.erase(row.at(0).value_or(""));
  }

  void delete_sessions() {
    auto& left = at_.forgotten;
    const auto many = left.begin() + static_cast<std::ptrdiff_t>(std::min(limit_, left.size()));
    std::vector<std::string> now(left.begin(), many);
    left.erase(left.begin(), many);
    leave_out_locked("{session}", "{session.id}", now, [](const std::string& each) { return each; });
    for (const auto& each : now) {
      gone_ += change(sql::write_values(R"(
DELETE FROM {session}
WHERE {session.id} = :dead
  AND {session.expires_at_us} <= {now}
)",
                                        {{"dead", mysql_literal(each)}}))
                   .value_or(0);
      if (waited_) break;
    }
  }

  lease_connection& connection_;
  const sql::table_names& names_;
  mysql_cleanup_cursor& at_;
  const std::int64_t idle_;
  const std::size_t limit_;
  std::uint64_t gone_ = 0;
  bool waited_ = false;                   // a change has waited for a lock for long
  reply result_{.result = outcome::yes};  // that of the last statement
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
