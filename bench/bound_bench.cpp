// SPDX-License-Identifier: GPL-2.0-or-later
// Locks that are bound to a connection, beside the same commands by hand: prepared, same unix socket. And thousands of named
// locks on few connections.
#include <mysql.h>

#include <algorithm>
#include <cstring>
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

/// A connection with two prepared statements, each with the key as its text or without any.
class by_hand {
 public:
  by_hand(const dlock::store_url& at, const std::string& take, const std::string& free) : my_(mysql_init(nullptr)) {
    check(mysql_real_connect(my_, nullptr, at.user.c_str(), at.password.c_str(), at.path.c_str(), 0,
                             need_env("DLOCK_TEST_MYSQL_SOCKET").c_str(), 0) != nullptr);
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
  std::string one(const std::string& sql) {
    run(sql);
    MYSQL_RES* const result = mysql_store_result(my_);
    const MYSQL_ROW row = mysql_fetch_row(result);
    std::string value = row[0];
    mysql_free_result(result);
    return value;
  }
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
    check(mysql_stmt_prepare(made, sql.c_str(), static_cast<unsigned long>(sql.size())) == 0);
    return made;
  }
  void run(MYSQL_STMT* statement) {
    MYSQL_BIND key;
    std::memset(&key, 0, sizeof key);
    key.buffer_type = MYSQL_TYPE_STRING;
    key.buffer = key_.data();
    key.buffer_length = static_cast<unsigned long>(key_.size());
    check(mysql_stmt_param_count(statement) == 0 || !mysql_stmt_bind_param(statement, &key));
    check(mysql_stmt_execute(statement) == 0);
    if (mysql_stmt_field_count(statement) == 0) return;
    check(mysql_stmt_store_result(statement) == 0);
    if (mysql_stmt_num_rows(statement) != 1) throw std::runtime_error("there is no row");
    mysql_stmt_free_result(statement);
  }

  MYSQL* my_;
  MYSQL_STMT* take_ = nullptr;
  MYSQL_STMT* free_ = nullptr;
  std::string key_ = "raw:4711";
};

void compare(const char* name, const dlock::store_url& at, const std::string& more, by_hand& raw) {
  dlock::lock_service locks{dlock::bench::by_socket(at) + "&scheme=" + name + more};
  const dlock::lock_key key("our:4711");
  const dlock::lock_options options;
  dlock::bench::compare(
      std::string(name) + ": acquire+release, 1 thread", 41, 300, [&] { raw.pair(); },
      [&] { const dlock::lease held = locks.acquire(key, options); });
}

int connections(by_hand& by) { return std::stoi(by.one("select count(*) from information_schema.processlist")); }

void many(const dlock::store_url& at) {
  by_hand raw(at, "select ?", "select ?");
  const int before = connections(raw);
  dlock::lock_service locks{dlock::bench::by_socket(at) + "&scheme=named_lock"};
  std::vector<dlock::lease> held;
  const auto thousand = [&] {
    return dlock::bench::time_us(
        1000, [&] { held.push_back(locks.acquire(dlock::lock_key("many:" + std::to_string(held.size())))); });
  };
  std::vector<double> each;
  for (int i = 0; i != 5; ++i) each.push_back(thousand());
  const int more = connections(raw) - before;
  const auto last = each.back(), first = *std::min_element(each.begin(), each.end());
  fmt::print(
      "named_lock: 5,000 held: {} connections; an acquire at the end {:.1f} us, of the quickest thousand {:.2f}\n",
      more, last, last / first);
  figures::add("named_lock: connections with 5,000 held", "count", {static_cast<double>(more)}, {.at_most = 4});
  figures::add("named_lock: an acquire with 4,000 held, of the quickest", "ratio", {last / first});
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  {
    by_hand raw(at, "select get_lock(?, 0)", "select release_lock(?)");
    compare("named_lock", at, "", raw);
  }
  many(at);
  by_hand tables(at, "select ?", "select ?");
  tables.run("drop table if exists bench_rows");
  tables.run(
      "create table bench_rows (id bigint not null auto_increment primary key, resource varchar(64) not null unique) "
      "engine=InnoDB charset=utf8mb4");
  tables.run("insert into bench_rows (resource) values ('raw:4711'), ('our:4711')");
  {
    by_hand raw(at, "select id from bench_rows where resource = ? for update nowait", "commit");
    raw.run("set autocommit = 0");
    compare("for_update", at, "&table=bench_rows", raw);
  }
  tables.run("drop table bench_rows");
  return figures::exit_code();
}
