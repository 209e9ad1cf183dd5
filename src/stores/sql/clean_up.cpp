// SPDX-License-Identifier: BSL-1.0

/// Rule 11: clean-up in small steps by primary key. A server commits each statement by itself, because a statement over
/// a range would make renewals wait, and a cleaner that hangs in a transaction would block the next one. SQLite first
/// reads, which blocks no writer, and then commits all deletions of a step together, because each commit costs a sync.
/// Each change repeats its condition.

#include "stores/sql/clean_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {

namespace {

constexpr const char* dead_sessions = R"(
SELECT {session.id}
FROM {session}
WHERE {session.expires_at_us} + {session.ttl_us} <= {now}
ORDER BY {session.id}
LIMIT :most
)";

/// Where a window ends.
constexpr const char* end_of_window = R"(
SELECT {lock.lock_key}
FROM {lock}
WHERE {lock.lock_key} > :after
ORDER BY {lock.lock_key}
LIMIT 1 OFFSET :window
)";

/// Stands between {in_window} and the limit.
constexpr const char* idle_keys = R"(
SELECT l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us} IS NULL
FROM {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE {in_window}
  AND l.{lock.acquired_at_us} + :idle <= {now}
  AND (l.{lock.session_id} IS NULL
       OR {if}(l.{lock.expires_at_us} IS NULL,
             s.{session.id} IS NULL OR s.{session.expires_at_us} + s.{session.ttl_us} <= {now},
             l.{lock.expires_at_us} <= {now}))
ORDER BY l.{lock.lock_key}
LIMIT :most
)";

/// Dead sessions that hold a key of the window.
constexpr const char* dead_holders = R"(
SELECT DISTINCT l.{lock.session_id}
FROM {lock} l
JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE {in_window}
  AND s.{session.expires_at_us} + s.{session.ttl_us} <= {now}
)";

constexpr const char* raise_floor = R"(
UPDATE {floor}
SET {floor.fence} = {greatest}({floor.fence}, :seen_fence)
WHERE {floor.id} = 1
)";

constexpr const char* delete_session = R"(
DELETE FROM {session}
WHERE {session.id} = :dead
  AND {session.expires_at_us} + {session.ttl_us} <= {now}
)";

constexpr const char* free_key = R"(
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
)";

constexpr const char* delete_key = R"(
DELETE FROM {lock}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} IS NULL
  AND {lock.fence} <= :seen_fence
)";

sql_text text_of(const table_names& names, std::string_view source, row_wait if_locked = row_wait::accept) {
  return {in_one_line(names.expand(source)), "clean up", if_locked};
}

/// Makes both texts of a source with the placeholder {in_window}.
clean_up::texts::of_window text_of_window(const table_names& names, std::string_view source) {
  const auto within = [&](std::string_view condition) {
    return sql_text{in_one_line(expand(names, source, {{"in_window", names.expand(condition)}})), "clean up"};
  };
  return {within("l.{lock.lock_key} > :after"), within("l.{lock.lock_key} > :after AND l.{lock.lock_key} <= :end")};
}

/// How many rows of the lock table one step reads.
constexpr std::size_t window = 5000;
/// How many dead sessions one pass through the lock table looks for.
constexpr std::size_t most_sessions = 500;
/// A statement that waited this long for a lock ends the step, because the next one may wait as long.
constexpr std::chrono::milliseconds long_wait{200};

/// A key that was not granted for long, and that is free or whose holder is dead.
struct unused_key {
  std::string key{};
  id128 holder{};  ///< zeros if the key is free
  std::uint64_t fence = 0;
  bool kept = false;
};

/// Thrown when a statement was not executed, to end the step.
struct step_failed {};

/// One step, which deletes at most `limit` keys and `limit` sessions.
class cleanup_step {
 public:
  cleanup_step(sql_connection& on, const table_names& names, const clean_up::texts& texts,
               const std::string& before_sessions_go, clean_up::cursor& at, microseconds idle, std::size_t limit)
      : on_(on),
        names_(names),
        texts_(texts),
        before_sessions_go_(before_sessions_go),
        at_(at),
        idle_(idle.count()),
        limit_(std::max<std::size_t>(1, limit)) {}

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

  void expect(reply answer) {
    result_ = std::move(answer);
    if (result_.result == outcome::failed || result_.result == outcome::unknown) throw step_failed{};
  }

  sql_rows read(const sql_text& statement, sql_values values) {
    sql_rows rows;
    expect(on_.read(statement, values, rows));
    return rows;
  }

  /// Sends a statement about one row that repeats its condition. Returns whether it changed the row, or nothing if the
  /// row is locked.
  std::optional<bool> change(const sql_text& statement, sql_values values) {
    const auto began = std::chrono::steady_clock::now();
    try {
      expect(on_.change(statement, values));
      return std::exchange(result_, {.result = outcome::yes}).result == outcome::yes;
    } catch (const step_failed&) {
      // A file has one lock for all rows, so the next row would be locked too.
      if (result_.result != outcome::failed || !result_.why.contended || on_.locks() == row_locks::of_file) throw;
    }
    result_ = {.result = outcome::yes};
    waited_ = waited_ || std::chrono::steady_clock::now() - began > long_wait;
    return std::nullopt;
  }

  /// Runs several changes, committed together where a commit is expensive.
  template <class Changes>
  void commit(Changes changes) {
    const auto before = gone_;
    auto body = [&]() -> reply {
      try {
        changes();
        return {.result = outcome::yes};
      } catch (const step_failed&) {
        return result_;
      }
    };
    noted_ = false;
    auto answer = on_.transact(body_ref(body));
    if (answer.result != outcome::yes && on_.locks() == row_locks::of_file) gone_ = before;
    expect(std::move(answer));
  }

  /// Removes the candidates whose rows are locked. Does nothing where a change itself can refuse to wait for a row.
  template <class Candidates, class Name>
  void leave_out_locked(std::string_view from, std::string_view column, Candidates& candidates, Name name) {
    if (candidates.empty() || on_.locks() != row_locks::waited_for) return;
    std::vector<std::string> names;
    std::vector<sql_parameter> values;
    names.reserve(candidates.size());
    std::string list;
    for (const auto& each : candidates) {
      names.push_back(fmt::format("c{}", names.size()));
      list += fmt::format("{}:{}", list.empty() ? "" : ",", names.back());
      values.push_back({names.back(), name(each)});
    }
    const auto rows = read(text_of(names_, fmt::format("SELECT {0} FROM {1} WHERE {0} IN ({2}) FOR UPDATE SKIP LOCKED",
                                                       column, from, list)),
                           values);
    std::set<std::string, std::less<>> unlocked;
    for (const auto& row : rows) unlocked.emplace(row.text(0));
    std::erase_if(candidates, [&](const auto& each) {
      const sql_value named = name(each);
      return !unlocked.contains(bytes_in(named));
    });
  }

  static std::string_view bytes_in(const sql_value& value) {
    if (const auto* const bytes = std::get_if<sql_bytes>(&value)) return bytes->value;
    const auto& id = std::get<id128>(value);
    return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
  }

  // ---- the way through the table ------------------------------------------------------------------------------------

  void go_on() {
    if (at_.after.empty()) note_dead_sessions();
    if (idle_ <= 0 && at_.dead.empty()) return;
    scan_window();
    // The pass is complete, so the sessions that it did not meet hold nothing.
    if (at_.after.empty()) at_.forgotten.assign(at_.dead.begin(), at_.dead.end());
  }

  /// Notes the sessions that have been dead for longer than their ttl.
  void note_dead_sessions() {
    at_.dead.clear();
    for (const auto& row : read(texts_.dead_sessions, {{"most", std::uint64_t{most_sessions}}})) {
      at_.dead.insert(row.id(0));
    }
  }

  void scan_window() {
    if (!at_.end) at_.end = find_end();
    auto end = *at_.end;
    auto found = find_idle(end);
    if (found.size() == most_found()) end = found.back().key;
    clean_keys(std::move(found), end);
    if (!at_.dead.empty()) note_holders(end);
    if (end == *at_.end) at_.end.reset();
    at_.after = std::move(end);
  }

  /// Returns the last key of the window, or an empty text if the table ends before.
  std::string find_end() {
    const auto rows =
        read(texts_.end_of_window, {{"after", sql_bytes{at_.after}}, {"window", std::uint64_t{window - 1}}});
    return rows.empty() ? std::string() : std::string(rows.front().text(0));
  }

  sql_rows read_window(const clean_up::texts::of_window& statement, const std::string& end,
                       std::vector<sql_parameter> values) {
    values.push_back({"after", sql_bytes{at_.after}});
    if (end.empty()) return read(statement.to_the_end, values);
    values.push_back({"end", sql_bytes{end}});
    return read(statement.to_a_key, values);
  }

  /// Twice as many as may be deleted where some may be locked.
  std::size_t most_found() const noexcept { return on_.locks() == row_locks::of_file ? limit_ : 2 * limit_; }

  std::vector<unused_key> find_idle(const std::string& end) {
    std::vector<unused_key> found;
    if (idle_ <= 0) return found;
    const auto most = std::uint64_t{std::min(most_found(), window)};
    for (const auto& row : read_window(texts_.idle_keys, end, {{"idle", idle_}, {"most", most}})) {
      found.push_back({std::string(row.text(0)), row.id(1), row.natural(2), row.truth(3)});
    }
    return found;
  }

  /// Sets `end` to the last key that it looked at, if those are not all.
  void clean_keys(std::vector<unused_key> found, std::string& end) {
    leave_out_locked("{lock}", "{lock.lock_key}", found, [](const unused_key& each) { return sql_bytes{each.key}; });
    if (found.empty()) return;
    commit([&] {
      if (!raise_floor_to(found)) return;
      for (auto each = found.begin(); each != found.end(); ++each) {
        if (each->holder) free_dead(*each);
        gone_ +=
            change(texts_.delete_key, {{"key", sql_bytes{each->key}}, {"seen_fence", each->fence}}).value_or(false);
        if ((gone_ == limit_ || waited_) && std::next(each) != found.end()) {
          end = each->key;
          return;
        }
      }
    });
  }

  /// Runs before rows are deleted, so that a new row of the same key starts above them. Returns false if the floor is
  /// locked.
  bool raise_floor_to(const std::vector<unused_key>& found) {
    const auto highest = std::max_element(found.begin(), found.end(),
                                          [](const unused_key& a, const unused_key& b) { return a.fence < b.fence; });
    const auto changed = change(texts_.raise_floor, {{"seen_fence", highest->fence}});
    if (changed != false) return changed.has_value();
    result_ = {.why = {.text = fmt::format("clean up: table {} has no row with id 1", names_.table("floor"))}};
    throw step_failed{};
  }

  // Frees a dead holder's row exactly as a take-over would (rule 2): it removes the session first, and names holder and
  // fence. Otherwise a key that nobody asks for again could never be cleaned up.
  void free_dead(const unused_key& idle) {
    if (idle.kept) {
      note_sessions_go();
      change(texts_.delete_session, {{"dead", idle.holder}});
    }
    change(texts_.free_key, {{"key", sql_bytes{idle.key}}, {"holder", idle.holder}, {"seen_fence", idle.fence}});
  }

  /// Notes the dead sessions that hold a key of the window.
  void note_holders(const std::string& end) {
    for (const auto& row : read_window(texts_.dead_holders, end, {})) at_.dead.erase(row.id(0));
  }

  void note_sessions_go() {
    if (before_sessions_go_.empty() || std::exchange(noted_, true)) return;
    expect(on_.change({before_sessions_go_, "clean up"}, {}));
  }

  void delete_sessions() {
    auto& left = at_.forgotten;
    const auto many = left.begin() + static_cast<std::ptrdiff_t>(std::min(limit_, left.size()));
    std::vector<id128> now(left.begin(), many);
    left.erase(left.begin(), many);
    leave_out_locked("{session}", "{session.id}", now, [](const id128& each) { return each; });
    if (now.empty()) return;
    commit([&] {
      note_sessions_go();
      for (const auto& each : now) {
        gone_ += change(texts_.delete_session, {{"dead", each}}).value_or(false);
        if (waited_) break;
      }
    });
  }

  sql_connection& on_;
  const table_names& names_;
  const clean_up::texts& texts_;
  const std::string& before_sessions_go_;
  clean_up::cursor& at_;
  const std::int64_t idle_;
  const std::size_t limit_;
  std::uint64_t gone_ = 0;
  bool noted_ = false;                    // before_sessions_go_ was sent in this transaction
  bool waited_ = false;                   // a change has waited for a lock for `long_wait`
  reply result_{.result = outcome::yes};  // the reply to the last statement
};

}  // namespace

clean_up::texts::texts(const table_names& names)
    : dead_sessions(text_of(names, sql::dead_sessions)),
      end_of_window(text_of(names, sql::end_of_window)),
      idle_keys(text_of_window(names, sql::idle_keys)),
      dead_holders(text_of_window(names, sql::dead_holders)),
      raise_floor(text_of(names, sql::raise_floor, row_wait::avoid)),
      delete_session(text_of(names, sql::delete_session, row_wait::avoid)),
      free_key(text_of(names, sql::free_key, row_wait::avoid)),
      delete_key(text_of(names, sql::delete_key, row_wait::avoid)) {}

reply clean_up::step(sql_connection& on, microseconds idle, std::size_t limit) {
  // If another service on this store cleans up, this one does not wait, so that its close() need not wait either.
  if (!mutex_.try_lock()) return {.result = outcome::yes, .statements = 0};
  const base::lock_guard lock(mutex_, std::adopt_lock);
  return cleanup_step(on, names_, texts_, before_sessions_go_, at_, idle, limit).run();
}

}  // namespace dlock::stores::sql
