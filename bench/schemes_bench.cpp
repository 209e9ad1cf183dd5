// SPDX-License-Identifier: GPL-2.0-or-later
// Acquire and release on tables that other programs share, beside the commands by which such a program does it by hand:
// prepared, same table, same unix socket, durable commits.
#include <mysql.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "by_hand.hpp"
#include "dlock/dlock.hpp"
#include "dlock/store/store_url.hpp"
#include "dlock/stores/mysql.hpp"

namespace {

using dlock::bench::by_hand;
using dlock::bench::figures;
using dlock::bench::need_env;

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
    dlock::bench::raw_database tables(at);
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
  dlock::bench::raw_database(at).run("drop table bench_locks");
  return figures::exit_code();
}
