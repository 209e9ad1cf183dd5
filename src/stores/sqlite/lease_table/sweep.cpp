// SPDX-License-Identifier: BSL-1.0

/// Clean-up (rule 11). A step looks first, which stops no writer, then deletes what it found in one short transaction:
/// each commit costs a sync of the disk, for which all other writers wait. Each DELETE looks again.

#include <algorithm>
#include <limits>

#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

/// What a step looks at, copied: the statement must not stay open while rows are deleted.
struct candidate {
  std::string name{};  // of a key
  id128 session{};
  std::int64_t row = 0;
  std::uint64_t fence = 0;
};

class sweeper {
 public:
  sweeper(lease_connection& connection, microseconds idle, std::size_t limit, sqlite_cleanup_cursor& at)
      : connection_(connection), idle_(idle.count()), limit_(std::max<std::size_t>(1, limit)), at_(at) {}

  reply run() {
    // All keys have to be read to find the sessions that hold none: once in a round, unless there are more.
    if ((at_.sessions || at_.after == 0) && !sweep(statement_id::sweep_sessions)) return failed_;
    if (idle_ > 0 && !sweep(statement_id::sweep_keys)) return failed_;
    return {.result = outcome::yes, .fence = gone_, .more = at_.after != 0 || at_.sessions};
  }

 private:
  /// Up to the limit, or to the end of what there is. What was granted or renewed since it was looked at stays.
  bool sweep(statement_id kind) {
    const std::uint64_t before = gone_;
    for (bool full = true; full && gone_ - before < limit_;) {
      const std::size_t wanted = limit_ - static_cast<std::size_t>(gone_ - before);
      if (!find(kind, wanted)) return false;
      full = found_.size() == wanted;
      if (!found_.empty() && !remove(kind)) return false;
      if (kind == statement_id::sweep_keys) {
        at_.after = full ? found_.back().row : 0;
      } else {
        at_.sessions = full;
        full = false;  // those that stayed would be found again
      }
    }
    return true;
  }

  bool find(statement_id kind, std::size_t wanted) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    statement_values values{
        .idle = idle_, .most = static_cast<std::int64_t>(std::min(wanted, most)), .after = at_.after};
    const auto begin = [&] { found_.clear(); };
    const auto row = [&](const sqlite_statement& s) {
      candidate next{.name = std::string(s.bytes(0)), .session = s.id(0)};
      if (kind == statement_id::sweep_keys) {
        next.row = s.integer(1);
        next.fence = static_cast<std::uint64_t>(s.integer(2));
      }
      found_.push_back(std::move(next));
    };
    sqlite_busy_retry retry(connection_, lane::read);
    const int code = connection_.run(kind, retry, values, begin, row);
    if (code != SQLITE_DONE) failed_ = connection_.refused(code, false);
    return code == SQLITE_DONE;
  }

  bool remove(statement_id kind) {
    const bool keys = kind == statement_id::sweep_keys;
    const auto highest = std::max_element(found_.begin(), found_.end(), [](const candidate& a, const candidate& b) {
                           return a.fence < b.fence;
                         })->fence;
    std::uint64_t gone = 0;
    sqlite_busy_retry retry(connection_, lane::write);
    const bool done = connection_.transact(retry, failed_, [&] {
      // First what refers to those that go.
      statement_values values{.seen_fence = highest, .idle = idle_};
      if (!change(retry, keys ? statement_id::sweep_floor : statement_id::latest, values)) return false;
      return std::all_of(found_.begin(), found_.end(), [&](const candidate& each) {
        values.key = each.name;
        values.session = each.session;
        const bool executed = change(retry, keys ? statement_id::sweep_key : statement_id::sweep_session, values);
        gone += executed && connection_.changed() ? 1 : 0;
        return executed;
      });
    });
    if (done) gone_ += gone;
    return done;
  }

  bool change(sqlite_busy_retry& retry, statement_id which, statement_values& values) {
    const int code = connection_.run(which, retry, values);
    if (code != SQLITE_DONE) failed_ = connection_.refused(code, true);
    return code == SQLITE_DONE;
  }

  lease_connection& connection_;
  const std::int64_t idle_;
  const std::size_t limit_;
  sqlite_cleanup_cursor& at_;
  std::vector<candidate> found_{};
  std::uint64_t gone_ = 0;
  reply failed_{};
};

}  // namespace

reply sqlite_admin::cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& link) {
    const base::lock_guard lock(cleanup_mutex_);
    return sweeper(link, idle, limit, cleanup_cursor_).run();
  });
}

}  // namespace dlock::stores::sqlite::lease_table
