// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "by_hand.hpp"
#include "contender.hpp"
#include "harness.hpp"
#include "placement.hpp"

namespace dlock::bench {

namespace {

using namespace std::chrono_literals;

constexpr const char* server = "MariaDB";

/// The tables that the schemes share with the peers; gone at the end.
class shared_tables {
 public:
  explicit shared_tables(const store_url& at) : at_(at) {
    drop();
    raw_database here(at_);
    here.run(
        "create table bench_peers_rows (id bigint not null auto_increment primary key, resource varchar(64) not null "
        "unique) engine=InnoDB charset=utf8mb4");
    here.run(
        "create table bench_peers_t_lock (lock_key varchar(32) not null primary key, request_id varchar(64) not null "
        "default '', lock_count int not null default 0, timeout bigint not null default 0, version int not null "
        "default 0) engine=InnoDB charset=utf8mb4");
  }
  ~shared_tables() {
    try {
      drop();
    } catch (const std::exception&) {
      // The server is private, and ends with the benchmark.
    }
  }
  shared_tables(const shared_tables&) = delete;
  shared_tables& operator=(const shared_tables&) = delete;

  const store_url& at() const noexcept { return at_; }
  std::string url(const std::string& more) const { return by_socket(at_) + more; }

 private:
  void drop() const { raw_database(at_).run("drop table if exists bench_peers_rows, bench_peers_t_lock"); }

  const store_url at_;
};

/// GET_LOCK and RELEASE_LOCK, or an open transaction that has locked a row: on a connection for each lock.
class bound_by_hand final : public key_lock {
 public:
  explicit bound_by_hand(std::unique_ptr<by_hand> statements) : statements_(std::move(statements)) {}
  void lock() override { statements_->take(); }
  void unlock() override { statements_->release(); }

 private:
  const std::unique_ptr<by_hand> statements_;
};

std::unique_ptr<key_lock> get_lock(const store_url& at, const std::string& key) {
  return std::make_unique<bound_by_hand>(
      std::make_unique<by_hand>(at, "select get_lock(?, 60)", "select release_lock(?)", key));
}

std::unique_ptr<key_lock> row_for_update(const store_url& at, const std::string& key) {
  raw_database(at).run("insert ignore into bench_peers_rows (resource) values ('" + key + "')");
  auto statements =
      std::make_unique<by_hand>(at, "select id from bench_peers_rows where resource = ? for update", "commit", key);
  statements->run("set autocommit = 0");
  return std::make_unique<bound_by_hand>(std::move(statements));
}

/// The published protocol of t_lock: a row is read and then changed if its version is still the same; each statement
/// has a connection of its own, and a waiter reads again after 100 ms.
class published_protocol final : public key_lock {
 public:
  published_protocol(const store_url& at, const std::string& key)
      : at_(at), key_(key), id_(fmt::format("{}-{}", ::getpid(), key)) {
    // Beforehand, because two first users of a key exclude each other by an error of the second INSERT.
    raw_database(at_).run("insert ignore into bench_peers_t_lock (lock_key) values ('" + key_ + "')");
  }

  void lock() override {
    for (;;) {
      const auto seen = read();
      if (seen.request_id.empty()) {
        if (change(seen.version, id_, 1, now_ms() + lease_ms)) return;
      } else if (seen.timeout < now_ms()) {
        change(seen.version, "", 0, 0);
      } else {
        std::this_thread::sleep_for(100ms);
      }
    }
  }
  void unlock() override {
    const auto seen = read();
    if (seen.request_id != id_ || !change(seen.version, "", 0, 0)) throw std::runtime_error("t_lock: not freed");
  }

 private:
  static constexpr long long lease_ms = 30'000;
  struct lock_row {
    std::string request_id;
    long long timeout;
    std::string version;
  };

  static long long now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  lock_row read() const {
    const auto row = raw_database(at_).row(
        "select request_id, timeout, version from bench_peers_t_lock where lock_key = '" + key_ + "'");
    return {row.at(0), std::stoll(row.at(1)), row.at(2)};
  }
  bool change(const std::string& version, const std::string& holder, int count, long long timeout) const {
    return raw_database(at_).changed(fmt::format(
               "update bench_peers_t_lock set request_id = '{}', lock_count = {}, timeout = {}, version = version + 1 "
               "where lock_key = '{}' and version = {}",
               holder, count, timeout, key_, version)) == 1;
  }

  const store_url at_;
  const std::string key_;
  const std::string id_;
};

}  // namespace

std::vector<contender> on_mysql() {
  const auto tables = std::make_shared<shared_tables>(store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL")));
  const auto pid = listener(need_env("DLOCK_TEST_MYSQL_SOCKET"));
  // The tables stay as long as one of the contenders.
  const auto ours = [&](const char* name, const char* connections, const std::string& more) {
    auto made = by_dlock(server, name, connections, pid, tables->url(more));
    made.start = [tables, start = std::move(made.start)] { return start(); };
    return made;
  };
  const auto peer = [&](const char* name, const char* connections, const char* beside, auto make) {
    const auto start = [tables, make]() -> client_process {
      return [tables, make](const std::string& key) { return make(tables->at(), key); };
    };
    return contender{.server = server,
                     .name = name,
                     .connections = connections,
                     .start = start,
                     .server_pid = pid,
                     .beside = beside};
  };
  return {
      ours("dlock", "pool of 4", ""),
      ours("dlock, t_lock", "pool of 4", "&scheme=t_lock&table=bench_peers_t_lock"),
      peer("t_lock as published", "1 a statement", "dlock, t_lock",
           [](const store_url& at, const std::string& key) -> std::unique_ptr<key_lock> {
             return std::make_unique<published_protocol>(at, key);
           }),
      ours("dlock, named_lock", "1 for all", "&scheme=named_lock"),
      peer("GET_LOCK", "1 a thread", "dlock, named_lock", get_lock),
      ours("dlock, for_update", "1 a held lock", "&scheme=for_update&table=bench_peers_rows&make_rows=1&held=64"),
      peer("SELECT … FOR UPDATE", "1 a thread", "dlock, for_update", row_for_update),
  };
}

}  // namespace dlock::bench
