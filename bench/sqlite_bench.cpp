// SPDX-License-Identifier: BSL-1.0
// Acquire and release on SQLite beside the same two statements by hand, prepared, on the same file: WAL and
// synchronous=FULL, each statement a commit.
#include <sqlite3.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "dlock/dlock.hpp"
#include "harness.hpp"

namespace {

class raw_pair {
 public:
  explicit raw_pair(const std::string& path) {
    check(sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
    sqlite3_busy_timeout(db_, 5000);  // the service renews its session now and then
    check(sqlite3_exec(db_, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", nullptr, nullptr, nullptr) ==
          SQLITE_OK);
    take_ = prepared(
        "UPDATE dlock_lock SET session_id=?3, nonce=?4, fence=fence+1, acquired_at_us=?1, expires_at_us=?1+?5"
        " WHERE lock_key=?2 AND (session_id IS NULL OR expires_at_us<=?1) RETURNING fence");
    free_ = prepared(
        "UPDATE dlock_lock SET session_id=NULL, expires_at_us=NULL WHERE lock_key=?2 AND session_id=?3 AND fence=?4");
  }
  ~raw_pair() {
    sqlite3_finalize(take_);
    sqlite3_finalize(free_);
    sqlite3_close(db_);
  }
  raw_pair(const raw_pair&) = delete;
  raw_pair& operator=(const raw_pair&) = delete;

  void operator()(const std::string& key) {
    sqlite3_bind_int64(take_, 1, ++now_);
    bind(take_, key);
    sqlite3_bind_int64(take_, 4, ++nonce_);
    sqlite3_bind_null(take_, 5);
    check(sqlite3_step(take_) == SQLITE_ROW);
    const auto fence = sqlite3_column_int64(take_, 0);
    check(sqlite3_step(take_) == SQLITE_DONE);
    sqlite3_reset(take_);
    bind(free_, key);
    sqlite3_bind_int64(free_, 4, fence);
    check(sqlite3_step(free_) == SQLITE_DONE && sqlite3_changes(db_) == 1);
    sqlite3_reset(free_);
  }

 private:
  void bind(sqlite3_stmt* to, const std::string& key) {
    sqlite3_bind_blob(to, 2, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    sqlite3_bind_blob(to, 3, "0123456789abcdef", 16, SQLITE_STATIC);
  }
  void check(bool fine) {
    if (!fine) throw std::runtime_error(db_ == nullptr ? "no database" : sqlite3_errmsg(db_));
  }
  sqlite3_stmt* prepared(const char* sql) {
    sqlite3_stmt* made = nullptr;
    check(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) == SQLITE_OK);
    return made;
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* free_ = nullptr;
  sqlite3_int64 now_ = 1;
  sqlite3_int64 nonce_ = 1;
};

}  // namespace

int main() {
  const dlock::bench::sqlite_file file;
  {
    dlock::lock_service locks{"sqlite:" + file.path};
    const dlock::lock_options options;
    const std::string raw_key = "raw:4711";
    const dlock::lock_key our_key("our:4711");
    { const dlock::lease make_row = locks.acquire(raw_key, options); }
    raw_pair raw(file.path);
    dlock::bench::compare(
        "SQLite: acquire+release, 1 thread", 41, 200, [&] { raw(raw_key); },
        [&] { const dlock::lease held = locks.acquire(our_key, options); }, {.at_least = 0.88});
  }
  return dlock::bench::figures::exit_code();
}
