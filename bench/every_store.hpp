// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Every kind of store, on servers that this program starts or ./dev bench has started.

#include <functional>
#include <string>
#include <utility>

#include "by_hand.hpp"
#include "sql_tables.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"
#include "support/table_schemes.hpp"
#ifdef DLOCK_HAS_ZOOKEEPER
#include "support/zookeeper_server.hpp"
#endif

namespace dlock::bench {

/// A store as the tables have it.
struct candidate {
  std::string name{};
  std::string url{};
  int pairs = 300;   ///< in one round
  int many = 1'000;  ///< locks held at one time, for the count of connections
};
using measurement = std::function<void(const candidate&)>;

/// The private MariaDB, with tables of other programs.
class mysql_stores : raw_database {
 public:
  explicit mysql_stores(store_url at) : raw_database(at), at_(std::move(at)) {}

  void measure_all(const measurement& measure) {
    measure({"mysql:", url()});
    for (const auto& scheme : test::table_schemes()) both_ways(measure, scheme);
    measure({"scheme=named_lock", url("&scheme=named_lock")});
    make_tables("for_update");
    measure({"scheme=for_update", url("&table=bench_stores&scheme=for_update&make_rows=1&held=101"), 300, 100});
    drop_tables();
  }

 private:
  void make_tables(const std::string& of) { bench::make_tables(*this, of, at_.path, "bench_stores"); }
  void drop_tables() { run("DROP TABLE IF EXISTS bench_stores, dlock_waiter_bench_stores"); }
  /// Where dlock's waiters poll, and where its releases wake them.
  void both_ways(const measurement& measure, const std::string& scheme) {
    drop_tables();
    make_tables(scheme);
    make_tables("waiter");
    measure({"scheme=" + scheme, url("&table=bench_stores&scheme=" + scheme)});
    measure({"scheme=" + scheme + ", wake=on", url("&table=bench_stores&wake=on&scheme=" + scheme)});
    drop_tables();
  }
  std::string url(const std::string& more = {}) const { return by_socket(at_) + more; }

  const store_url at_;
};

inline void on_every_store(const measurement& measure) {
  {
    const test::scratch_folder folder;
    measure({"sqlite:", "sqlite:" + (folder / "locks.db"), 100});
  }
  mysql_stores(store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"))).measure_all(measure);
  {
    const test::redis_server server({"--appendonly", "no"});
    measure({"redis:", server.url("&persistence=none"), 2'000});
    measure({"redis: scheme=setnx", server.url("&persistence=none&scheme=setnx"), 2'000});
  }
  {
    const test::redis_masters masters(5);
    measure({"redlock: five masters", masters.url("&restart_delay=0"), 500});
  }
#ifdef DLOCK_HAS_ZOOKEEPER
  {
    const test::zookeeper_server server;
    measure({"zookeeper: one server", server.url(), 100});
  }
#endif
}

}  // namespace dlock::bench
