// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "contract/backends/mysql/schemes.hpp"
#include "dlock/lock_service.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

/// The published program, one statement at a time. Its clock is the server's + `ahead`.
struct neighbour {
  explicit neighbour(const t_lock_fixture& fixture) : table(fixture.table()) {}

  std::int64_t now() {
    return std::stoll(client.one("SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000")) +
           ahead.count();
  }
  bool set(const std::string& key, int version, const std::string& id, int count, std::int64_t timeout) {
    return client.run(fmt::format("UPDATE {} SET request_id = '{}',lock_count = {},timeout = {},version = version + 1 "
                                  "WHERE lock_key = '{}' AND  version = {}",
                                  table, id, count, timeout, key, version)) == 1;
  }
  /// One round of its acquire: whether it has the key.
  bool lock(const std::string& key, std::int64_t lease = 10'000) {
    for (int rounds = 0; rounds < 5; ++rounds) {
      const auto rows = client.rows("select request_id, lock_count, timeout, version from " + table +
                                    " t WHERE t.lock_key='" + key + "'");
      if (rows.empty()) {
        client.run("insert into " + table + " (lock_key, request_id, lock_count, timeout, version) VALUES ('" + key +
                   "','',0,0,0)");
        continue;
      }
      const auto id = rows[0][0].value_or("");
      const int count = std::stoi(*rows[0][1]), version = std::stoi(*rows[0][3]);
      if (id.empty()) return set(key, version, me, 1, now() + lease);
      if (id == me) return set(key, version, me, count + 1, now() + lease);
      if (std::stoll(*rows[0][2]) >= now()) return false;
      set(key, version, "", 0, 0);
    }
    return false;
  }
  void unlock(const std::string& key) {
    const auto rows = client.rows("select request_id, lock_count, timeout, version from " + table +
                                  " t WHERE t.lock_key='" + key + "'");
    if (rows.empty() || rows[0][0] != me) return;
    const int count = std::stoi(*rows[0][1]), version = std::stoi(*rows[0][3]);
    if (count == 1) set(key, version, "", 0, 0);
    if (count > 1) set(key, version, me, count - 1, std::stoll(*rows[0][2]));
  }
  int version(const std::string& key) {
    return std::stoi(client.one("SELECT version FROM " + table + " WHERE lock_key='" + key + "'"));
  }
  std::string row(const std::string& key) {
    return client.one("SELECT CONCAT_WS('|', request_id, lock_count, timeout) FROM " + table + " WHERE lock_key='" +
                      key + "'");
  }

  const std::string table;
  raw_mysql client{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  std::string me = "5f0c1f6e-7d4f-4c53-9a5e-1f1b6f0e8c11";
  std::chrono::milliseconds ahead{0};
};

struct t_lock_scene {
  t_lock_fixture fixture{};
  neighbour java{fixture};
  lock_service locks{fixture.url(), {.cleanup_interval = 0ms}};
  lock_service others{fixture.url(), {.cleanup_interval = 0ms}};
};

}  // namespace dlock::test
