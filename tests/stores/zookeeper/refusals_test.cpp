// SPDX-License-Identifier: BSL-1.0

/// What is refused, and how it is said.

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "dlock/lock_service.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"

namespace dlock::test {

TEST_CASE("zookeeper: a ttl that the servers' longest session can't keep is refused, with what is to be changed") {
  const zookeeper_server server({"maxSessionTimeout=2000"});
  lock_service locks(server.url());
  CHECK(granted(locks.try_acquire("k", {.ttl = 1500ms})));
  CHECK_THROWS_MATCHES(locks.try_acquire("k", {.ttl = 2s}), store_error,
                       MessageMatches(ContainsSubstring("2000 ms") && ContainsSubstring("maxSessionTimeout") &&
                                      ContainsSubstring("a ttl of 2000 ms needs 2667 ms")));
}

TEST_CASE("zookeeper: with a server's defaults the ttl that dlock uses by default can be had") {
  const zookeeper_server server({"tickTime=2000", "maxSessionTimeout=40000"});
  lock_service locks(server.url());
  CHECK(granted(locks.acquire("k")));
}

TEST_CASE("zookeeper: where no server answers it is said so, and nothing is written to standard error") {
  zookeeper_server server;
  const auto url = server.url("connect_timeout=300");
  server.kill();
  const scratch_folder folder;
  const auto file = folder / "stderr";
  const int before = ::dup(2);
  const int to = ::open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(to, 2);
  CHECK_THROWS_MATCHES(lock_service(url), store_error, MessageMatches(ContainsSubstring("no server answers")));
  CHECK_THAT(message_of([] { lock_service("zookeeper://no-such-host.invalid/?connect_timeout=300"); }),
             ContainsSubstring("name service") && !ContainsSubstring("No such file"));
  ::dup2(before, 2);
  ::close(before);
  ::close(to);
  std::ifstream in(file);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}).empty());
}

TEST_CASE("zookeeper: a service needs one connection to its first lease, and names the limit that refuses it more") {
  const zookeeper_server server({"maxClientCnxns=1"});
  lock_service locks(server.url("connect_timeout=1000"));
  const lease held = locks.acquire("k", {.wait = 20s});
  CHECK_NOTHROW(held.ensure_held());
  CHECK_THROWS_MATCHES(lock_service(server.url("connect_timeout=300")), store_error,
                       MessageMatches(ContainsSubstring("maxClientCnxns")));
}

TEST_CASE("zookeeper: a key below which another recipe keeps nodes is not granted, and the error names the node") {
  const zookeeper_server server;
  lock_service locks(server.url());
  locks.acquire("k").release();
  other_client other(server.url());
  const std::string name = "_c_8d1e-__READ__0000000007";
  SECTION("before dlock asks") { other.make("/dlock/k/" + name); }
  SECTION("while a thread waits") {
    zookeeper_fixture fixture(server.url());
    actor holder(fixture);
    holder.acquire("k");
    auto waiting = std::async(std::launch::async, [&] { return locks.acquire("k", {.wait = 60s}); });
    REQUIRE(eventually([&] { return nodes_of_key(server) == 2; }));
    other.make("/dlock/k/" + name);
    REQUIRE(holder.close() == outcome::yes);
    CHECK_THROWS_MATCHES(waiting.get(), store_error, MessageMatches(ContainsSubstring(name)));
  }
  CHECK_THROWS_MATCHES(locks.try_acquire("k"), store_error,
                       MessageMatches(ContainsSubstring("/dlock/k' has a node '") && ContainsSubstring(name)));
  CHECK(nodes_of_key(server) == 1);  // dlock left none
  CHECK(granted(locks.try_acquire("other")));
}

TEST_CASE("zookeeper: nodes made by a user are that user's, and others are told so", "[T72]") {
  const zookeeper_server server;
  const auto host = server.address();
  lock_service mine("zookeeper://me:sesame@" + host + "/?base=/private");
  const lease held = mine.acquire("k");
  CHECK(held.fencing_token() > 0);
  CHECK_THROWS_MATCHES(lock_service("zookeeper://" + host + "/?base=/private").try_acquire("k"), store_error,
                       MessageMatches(ContainsSubstring("not authenticated")));
  lock_service same("zookeeper://me:sesame@" + host + "/?base=/private");
  CHECK_FALSE(granted(same.try_acquire("k")));
}

TEST_CASE("zookeeper: the path stands before all paths, and is made") {
  const zookeeper_server server;
  lock_service locks("zookeeper://" + server.address() + "/some/app?base=/locks");
  const lease held = locks.acquire("k");
  CHECK_THAT(server.ask("dump"), ContainsSubstring("/some/app/locks/k/_c_"));
  CHECK(granted(lock_service(server.url()).try_acquire("k")));
  CHECK_FALSE(granted(lock_service(server.url("base=/some/app/locks")).try_acquire("k")));
}

}  // namespace dlock::test
