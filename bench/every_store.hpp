// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Every kind of store, on servers that this program starts or ./dev bench has started.

#include <functional>
#include <string>
#include <utility>

#include "by_hand.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"
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
    both_ways(measure, "scheme=t_lock",
              "lock_key varchar(32) PRIMARY KEY NOT NULL, request_id varchar(64) NOT NULL DEFAULT '', lock_count INT "
              "NOT NULL DEFAULT 0, timeout BIGINT NOT NULL DEFAULT 0, version INT NOT NULL DEFAULT 0");
    both_ways(measure, "scheme=unique_insert",
              "id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, resource varchar(50) NOT NULL UNIQUE, lock_owner "
              "varchar(50) NOT NULL DEFAULT '', lock_expire_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP");
    both_ways(measure, "scheme=state_row",
              "id int NOT NULL AUTO_INCREMENT PRIMARY KEY, lock_name varchar(64) NOT NULL UNIQUE, lock_state int NOT "
              "NULL, lock_info varchar(64) NOT NULL, expiration_time datetime");
    measure({"scheme=named_lock", url("&scheme=named_lock")});
    table("id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, resource varchar(64) NOT NULL UNIQUE");
    measure({"scheme=for_update", url("&table=bench_stores&scheme=for_update&make_rows=1&held=101"), 300, 100});
    run("DROP TABLE bench_stores");
  }

 private:
  void table(const std::string& columns) {
    run("DROP TABLE IF EXISTS bench_stores");
    run("CREATE TABLE bench_stores (" + columns + ") ENGINE=InnoDB CHARSET=utf8mb4");
  }
  /// Where dlock's waiters poll, and where its releases wake them.
  void both_ways(const measurement& measure, const std::string& scheme, const std::string& columns) {
    table(columns);
    run("DROP TABLE IF EXISTS dlock_waiter_bench_stores");
    run("CREATE TABLE dlock_waiter_bench_stores (lock_key VARBINARY(255) NOT NULL, since_us BIGINT NOT NULL, wake_id "
        "BINARY(16) NOT NULL, session_id BINARY(16) NOT NULL, PRIMARY KEY (lock_key, since_us, wake_id)) "
        "ENGINE=InnoDB");
    measure({scheme, url("&table=bench_stores&" + scheme)});
    measure({scheme + ", wake=on", url("&table=bench_stores&wake=on&" + scheme)});
    run("DROP TABLE dlock_waiter_bench_stores");
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
