// SPDX-License-Identifier: GPL-2.0-or-later
// Acquire and release on the private MariaDB beside the same two statements by hand: prepared, same tables, same unix
// socket, durable commits. Statements are counted at the server.
#include <mysql.h>
#include <sys/resource.h>

#include <cstring>
#include <stdexcept>
#include <thread>

#include "dlock/dlock.hpp"
#include "dlock/store/store_url.hpp"
#include "harness.hpp"

namespace {

using dlock::bench::need_env;

class raw_client {
 public:
  explicit raw_client(const dlock::store_url& at) {
    my_ = mysql_init(nullptr);
    check(mysql_real_connect(my_, nullptr, at.user.c_str(), at.password.c_str(), at.path.c_str(), 0,
                             need_env("DLOCK_TEST_MYSQL_SOCKET").c_str(), CLIENT_FOUND_ROWS) != nullptr);
    check(mysql_query(my_, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED") == 0);
    take_ = prepared(
        "UPDATE dlock_lock SET session_id=?, nonce=?, fence=LAST_INSERT_ID(fence+1),"
        " acquired_at_us=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)),"
        " expires_at_us=?+TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), verified_by=0"
        " WHERE lock_key=? AND (session_id IS NULL OR"
        " expires_at_us<=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))");
    free_ = prepared(
        "UPDATE dlock_lock SET session_id=NULL, expires_at_us=NULL WHERE lock_key=? AND session_id=? AND fence=?");
  }
  ~raw_client() {
    mysql_stmt_close(take_);
    mysql_stmt_close(free_);
    mysql_close(my_);
  }
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  void pair(std::string& key) {
    MYSQL_BIND take[4];
    std::memset(take, 0, sizeof take);
    blob(take[0], session_.data(), session_.size());
    number(take[1], nonce_);
    take[2].buffer_type = MYSQL_TYPE_NULL;
    blob(take[3], key.data(), key.size());
    ++nonce_;
    check(!mysql_stmt_bind_param(take_, take) && mysql_stmt_execute(take_) == 0);
    check(mysql_stmt_affected_rows(take_) == 1);
    unsigned long long fence = mysql_stmt_insert_id(take_);
    MYSQL_BIND free[3];
    std::memset(free, 0, sizeof free);
    blob(free[0], key.data(), key.size());
    blob(free[1], session_.data(), session_.size());
    number(free[2], fence);
    check(!mysql_stmt_bind_param(free_, free) && mysql_stmt_execute(free_) == 0);
    check(mysql_stmt_affected_rows(free_) == 1);
  }

  /// Prepared statements executed at the server since its start, by everybody.
  unsigned long long executed() {
    check(mysql_query(my_, "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'") == 0);
    MYSQL_RES* const result = mysql_store_result(my_);
    const unsigned long long value = std::strtoull(mysql_fetch_row(result)[1], nullptr, 10);
    mysql_free_result(result);
    return value;
  }

 private:
  static void blob(MYSQL_BIND& to, char* data, std::size_t size) {
    to.buffer_type = MYSQL_TYPE_STRING;
    to.buffer = data;
    to.buffer_length = size;
  }
  static void number(MYSQL_BIND& to, unsigned long long& value) {
    to.buffer_type = MYSQL_TYPE_LONGLONG;
    to.buffer = &value;
    to.is_unsigned = true;
  }
  void check(bool fine) {
    if (!fine) throw std::runtime_error(mysql_error(my_));
  }
  MYSQL_STMT* prepared(const char* sql) {
    MYSQL_STMT* const made = mysql_stmt_init(my_);
    if (mysql_stmt_prepare(made, sql, std::strlen(sql)) != 0) throw std::runtime_error(mysql_stmt_error(made));
    return made;
  }
  MYSQL* my_ = nullptr;
  MYSQL_STMT* take_ = nullptr;
  MYSQL_STMT* free_ = nullptr;
  std::string session_ = "0123456789abcdef";
  unsigned long long nonce_ = 1;
};

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void held_locks(dlock::lock_service& locks, raw_client& raw) {
  using namespace std::chrono_literals;
  constexpr int many = 10'000;
  const dlock::lock_options options{.ttl = 5s};
  std::vector<dlock::lease> held;
  for (int i = 0; i < many; ++i) held.push_back(locks.acquire(fmt::format("held:{}", i), options));
  const auto executed = raw.executed();
  const auto cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(10s);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double intervals = wall / (5.0 / 3.0);
  fmt::print("{} held locks, ttl 5 s: {:.2f} statements per renewal interval, {:.2f} % of one CPU for everything\n",
             many, static_cast<double>(raw.executed() - executed) / intervals, 100 * (cpu_seconds() - cpu) / wall);
  for (const auto& one : held) one.ensure_held();
}

void uncontended(const std::string& url, raw_client& raw) {
  dlock::lock_service locks{url};
  const dlock::lock_options options;
  std::string raw_key = "raw:4711";
  const dlock::lock_key our_key("our:4711");
  { const dlock::lease make_row = locks.acquire(raw_key, options); }
  { const dlock::lease make_row = locks.acquire(our_key, options); }
  dlock::bench::compare(
      "MariaDB: acquire+release, 1 thread", 41, 300, [&] { raw.pair(raw_key); },
      [&] { const dlock::lease held = locks.acquire(our_key, options); });
}

void count_statements(const std::string& url, raw_client& raw) {
  dlock::lock_service locks{url};
  dlock::lock_service others{url};
  const dlock::lock_options options;
  const dlock::lock_key key("our:4711");
  constexpr int counted = 2'000;
  const auto per_call = [&](const char* what, const auto& call) {
    call();  // opens the session
    const auto before = raw.executed();
    for (int i = 0; i < counted; ++i) call();
    fmt::print("statements at the server per {}: {:.3f}\n", what,
               static_cast<double>(raw.executed() - before) / counted);
  };
  per_call("uncontended acquire+release", [&] { const dlock::lease held = locks.acquire(key, options); });
  const auto held = locks.acquire(key, options);
  per_call("try_acquire of a key held elsewhere", [&] {
    if (others.try_acquire(key, options)) throw std::runtime_error("two holders");
  });
  per_call("re-entry", [&] { const dlock::lease again = locks.acquire(key, options); });
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  const std::string url = fmt::format("mysql://{}:{}@localhost/{}?socket={}", at.user, at.password, at.path,
                                      need_env("DLOCK_TEST_MYSQL_SOCKET"));
  { dlock::lock_service makes_the_tables{url}; }
  raw_client raw(at);
  uncontended(url, raw);
  count_statements(url, raw);
  dlock::lock_service locks{url};  // with one session, of the class that the held locks have
  held_locks(locks, raw);
}
