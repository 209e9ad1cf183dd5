// SPDX-License-Identifier: GPL-2.0-or-later
// Acquire and release on tables that other programs share, beside the commands by which such a program does it by hand:
// prepared, same table, same unix socket, durable commits.
#include <mysql.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dlock/dlock.hpp"
#include "dlock/store/store_url.hpp"
#include "dlock/stores/mysql.hpp"
#include "harness.hpp"

namespace {

using dlock::bench::figures;
using dlock::bench::need_env;

/// Two prepared statements, each with one text: the key.
class by_hand {
 public:
  by_hand(const dlock::store_url& at, const std::string& take, const std::string& free) : my_(mysql_init(nullptr)) {
    check(mysql_real_connect(my_, nullptr, at.user.c_str(), at.password.c_str(), at.path.c_str(), 0,
                             need_env("DLOCK_TEST_MYSQL_SOCKET").c_str(), CLIENT_FOUND_ROWS) != nullptr);
    take_ = prepared(take);
    free_ = prepared(free);
  }
  ~by_hand() {
    mysql_stmt_close(take_);
    mysql_stmt_close(free_);
    mysql_close(my_);
  }
  by_hand(const by_hand&) = delete;
  by_hand& operator=(const by_hand&) = delete;

  void run(const std::string& sql) { check(mysql_query(my_, sql.c_str()) == 0); }
  void pair() {
    run(take_);
    run(free_);
  }

 private:
  void check(bool good) {
    if (!good) throw std::runtime_error(mysql_error(my_));
  }
  MYSQL_STMT* prepared(const std::string& sql) {
    MYSQL_STMT* const made = mysql_stmt_init(my_);
    check(mysql_stmt_prepare(made, sql.c_str(), sql.size()) == 0);
    return made;
  }
  void run(MYSQL_STMT* statement) {
    MYSQL_BIND key;
    std::memset(&key, 0, sizeof key);
    key.buffer_type = MYSQL_TYPE_STRING;
    key.buffer = key_.data();
    key.buffer_length = static_cast<unsigned long>(key_.size());
    check(!mysql_stmt_bind_param(statement, &key) && mysql_stmt_execute(statement) == 0);
    if (mysql_stmt_affected_rows(statement) != 1) throw std::runtime_error("nothing was changed");
  }

  MYSQL* my_;
  MYSQL_STMT* take_ = nullptr;
  MYSQL_STMT* free_ = nullptr;
  std::string key_ = "raw:4711";
};

struct scheme {
  const char* name;
  const char* columns;
  const char* take;
  const char* free;
  const char* make_row;  ///< beforehand; empty: none
};

constexpr scheme schemes[] = {
    {"unique_insert",
     "id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, resource varchar(50) NOT NULL UNIQUE, lock_owner varchar(50) NOT "
     "NULL "
     "DEFAULT '', lock_expire_time timestamp NOT NULL",
     "insert into bench_locks (resource, lock_owner, lock_expire_time) values (?, 'by-hand-1', date_add(now(), "
     "interval 30 "
     "second))",
     "delete from bench_locks where resource = ? and lock_owner = 'by-hand-1'", ""},
    {"state_row",
     "id int NOT NULL AUTO_INCREMENT PRIMARY KEY, lock_name varchar(64) NOT NULL UNIQUE, lock_state int NOT NULL, "
     "lock_info "
     "varchar(64) NOT NULL, expiration_time datetime",
     "update bench_locks set lock_state = 1, lock_info = 'by-hand-1', expiration_time = (now() + interval 1 minute) "
     "where "
     "lock_name = ? and lock_state = 0",
     "update bench_locks set lock_state = 0 where lock_name = ? and lock_state = 1",
     "insert into bench_locks (lock_name, lock_state, lock_info) values ('raw:4711', 0, '')"},
    {"t_lock",
     "lock_key varchar(32) PRIMARY KEY NOT NULL, request_id varchar(64) NOT NULL DEFAULT '', lock_count INT NOT NULL "
     "DEFAULT 0, timeout BIGINT NOT NULL DEFAULT 0, version INT NOT NULL DEFAULT 0",
     "UPDATE bench_locks SET request_id = 'by-hand-1',lock_count = 1,timeout = 4102444800000,version = version + 1 "
     "WHERE "
     "lock_key = ? AND request_id = ''",
     "UPDATE bench_locks SET request_id = '',lock_count = 0,timeout = 0,version = version + 1 WHERE lock_key = ? AND "
     "request_id = 'by-hand-1'",
     "insert into bench_locks (lock_key) values ('raw:4711')"},
};

void compare(const scheme& of, const dlock::store_url& at) {
  {
    by_hand tables(at, "select ?", "select ?");
    tables.run("drop table if exists bench_locks");
    tables.run(std::string("create table bench_locks (") + of.columns + ") engine=InnoDB charset=utf8mb4");
    if (*of.make_row != '\0') tables.run(of.make_row);
  }
  by_hand raw(at, of.take, of.free);
  dlock::lock_service locks{dlock::bench::by_socket(at) + "&table=bench_locks&scheme=" + of.name};
  const dlock::lock_key key("our:4711");
  const dlock::lock_options options;
  { const dlock::lease make_row = locks.acquire(key, options); }
  dlock::bench::compare((std::string(of.name) + ": acquire+release, 1 thread").c_str(), 41, 300, [&] { raw.pair(); },
                        [&] { const dlock::lease held = locks.acquire(key, options); });
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  for (const auto& each : schemes) compare(each, at);
  by_hand(at, "select ?", "select ?").run("drop table bench_locks");
  return figures::exit_code();
}
