// SPDX-License-Identifier: BSL-1.0
// Locks that are bound to a connection, beside the same commands by hand: prepared, same unix socket. And thousands of
// named locks on few connections.
#include <mysql.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "by_hand.hpp"
#include "dlock/dlock.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"
#include "placement.hpp"

namespace {

using dlock::bench::by_hand;
using dlock::bench::figures;
using dlock::bench::need_env;
using dlock::bench::placed;
using dlock::bench::placement;
using dlock::bench::raw_database;

template <class ByHand>
void compare(const char* name, const dlock::store_url& at, const std::string& more, const ByHand& by_hand) {
  const auto socket = need_env("DLOCK_TEST_MYSQL_SOCKET");
  for (const auto where : {placement::a_processor_each, placement::one_processor}) {
    const placed here(where, socket);
    auto raw = by_hand();
    dlock::lock_service locks{dlock::bench::by_socket(at) + "&scheme=" + name + more};
    const dlock::lock_key key("our:4711");
    const dlock::lock_options options;
    const bool each = where == placement::a_processor_each;
    dlock::bench::compare(
        std::string(name) + ": acquire+release, " + text_of(where), 41, 300, [&] { raw->pair(); },
        [&] { const dlock::lease held = locks.acquire(key, options); }, {.at_least = each ? 0.8 : 0.6});
  }
}

int connections(raw_database& by) { return std::stoi(by.one("select count(*) from information_schema.processlist")); }

void many(const dlock::store_url& at) {
  raw_database raw(at);
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
  compare("named_lock", at, "",
          [&] { return std::make_unique<by_hand>(at, "select get_lock(?, 0)", "select release_lock(?)"); });
  many(at);
  raw_database tables(at);
  tables.run("drop table if exists bench_rows");
  tables.run(
      "create table bench_rows (id bigint not null auto_increment primary key, resource varchar(64) not null unique) "
      "engine=InnoDB charset=utf8mb4");
  tables.run("insert into bench_rows (resource) values ('raw:4711'), ('our:4711')");
  compare("for_update", at, "&table=bench_rows", [&] {
    auto raw =
        std::make_unique<by_hand>(at, "select id from bench_rows where resource = ? for update nowait", "commit");
    raw->run("set autocommit = 0");
    return raw;
  });
  tables.run("drop table bench_rows");
  return figures::exit_code();
}
