// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/hosts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stores/mysql/client/server.hpp"

namespace {

using namespace std::chrono_literals;
using dlock::stores::mysql::mysql_hosts;
using order = std::vector<std::size_t>;

const mysql_hosts::clock::time_point begin{std::chrono::hours{1}};

}  // namespace

TEST_CASE("mysql hosts: tried as the URL has them, the one that worked last first", "[mysql_hosts]") {
  mysql_hosts hosts(4, 5s);
  CHECK(hosts.order(begin) == order{0, 1, 2, 3});
  hosts.succeeded(2, 1ms);
  CHECK(hosts.order(begin) == order{2, 0, 1, 3});
  hosts.succeeded(1, 1ms);
  CHECK(hosts.order(begin) == order{1, 0, 2, 3});
}

TEST_CASE("mysql hosts: those that failed lately come last, what costs time after what fails at once",
          "[mysql_hosts]") {
  mysql_hosts hosts(4, 5s);
  hosts.succeeded(0, 1ms);
  hosts.failed(0, begin, 1s);
  hosts.failed(1, begin + 1ms, 0us);
  CHECK(hosts.order(begin + 1s) == order{2, 3, 1, 0});
  hosts.failed(3, begin + 2ms, 0us);
  CHECK(hosts.order(begin + 1s) == order{2, 1, 3, 0});
  hosts.succeeded(3, 1ms);
  CHECK(hosts.order(begin + 1s) == order{3, 2, 1, 0});
  CHECK(hosts.order(begin + 1min) == order{3, 0, 2, 1});  // that of the first is a minute old
  CHECK(hosts.order(begin + 2min) == order{3, 0, 1, 2});
}

TEST_CASE("mysql hosts: of those that were too slow, the one that had least time gets most the next time",
          "[mysql_hosts]") {
  mysql_hosts hosts(2, 5s);
  hosts.failed(0, begin, hosts.share(0, 1, 2s));
  hosts.failed(1, begin + 6s, hosts.share(1, 0, 1s));
  CHECK(hosts.order(begin + 7s) == order{1, 0});
  CHECK(hosts.share(0, 0, 1s) == 5s);
}

TEST_CASE("mysql hosts: each gets an equal share of what is left, the last one all that a host can get",
          "[mysql_hosts]") {
  mysql_hosts hosts(3, 5s);
  CHECK(hosts.share(0, 2, 900ms) == 300ms);
  CHECK(hosts.share(1, 1, 600ms) == 300ms);
  CHECK(hosts.share(2, 0, 300ms) == 5s);
  CHECK(hosts.share(0, 2, 30s) == 1s);
  CHECK(hosts.share(0, 2, 90ms) == 100ms);
  CHECK(hosts.share(0, 2, 0us) == 100ms);
}

TEST_CASE("mysql hosts: a slow one gets twice the time that its last connection took", "[mysql_hosts]") {
  mysql_hosts hosts(2, 5s);
  hosts.succeeded(0, 700ms);
  CHECK(hosts.share(0, 1, 200ms) == 1400ms);
  CHECK(hosts.share(0, 1, 10s) == 1400ms);
  CHECK(hosts.share(1, 1, 200ms) == 100ms);
  hosts.succeeded(0, 4s);
  CHECK(hosts.share(0, 1, 200ms) == 5s);
}

TEST_CASE("mysql hosts: a server that refuses is told once for all that found it out", "[mysql_hosts]") {
  mysql_hosts hosts(2, 5s);
  hosts.succeeded(0, 1ms);
  CHECK(hosts.refusals(0) == 0);
  hosts.refuses(0, 0, begin);
  CHECK(hosts.refusals(0) == 1);
  CHECK(hosts.order(begin) == order{1, 0});
  hosts.succeeded(0, 1ms);  // it is back
  hosts.refuses(0, 0, begin);
  CHECK(hosts.refusals(0) == 1);
  CHECK(hosts.order(begin) == order{0, 1});
  hosts.refuses(0, 1, begin);
  CHECK(hosts.refusals(0) == 2);
  CHECK(hosts.refusals(1) == 0);
}

TEST_CASE("mysql server: what takes no locks is told by what it says of itself", "[mysql_hosts]") {
  using row = std::vector<std::optional<std::string>>;
  const auto refusal = [](const char* wsrep, const char* uuid, const char* ready, const char* status, const char* read,
                          const char* innodb, const char* super_read) {
    return dlock::stores::mysql::mysql_refusal(
        row{"7", "node", "1", wsrep, uuid, ready, status, read, innodb, super_read});
  };
  CHECK(refusal("OFF", "", "", "", "0", "0", "0").empty());
  CHECK(refusal("OFF", "", "OFF", "Disconnected", "0", "0", "0").empty());  // a server that is no node
  CHECK(refusal("ON", "uuid", "ON", "Primary", "0", "0", "0").empty());
  CHECK(refusal("ON", "uuid", "OFF", "non-Primary", "0", "0", "0").find("wsrep_ready is OFF") != std::string::npos);
  CHECK(refusal("ON", "uuid", "ON", "non-Primary", "0", "0", "0").find("non-Primary") != std::string::npos);
  CHECK(refusal("ON", "uuid", "OFF", "Primary", "0", "0", "0").find("cluster") != std::string::npos);  // it joins
  CHECK(refusal("OFF", "", "", "", "1", "0", "0").find("read_only is on") == 0);
  CHECK(refusal("OFF", "", "", "", "NO_LOCK", "0", "0").find("read_only is on") == 0);  // MariaDB 11.8
  CHECK(refusal("OFF", "", "", "", "OFF", "1", "0").find("innodb_read_only") == 0);
  CHECK(refusal("OFF", "", "", "", "0", "0", "ON").find("super_read_only") == 0);
  CHECK(dlock::stores::mysql::mysql_refusal(row(10)).empty());
}
