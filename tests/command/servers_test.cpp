// SPDX-License-Identifier: BSL-1.0

/// The command dlock on Redis and ZooKeeper, on servers that the test starts.

#include "command/program.hpp"
#ifdef DLOCK_TEST_REDIS
#include "support/redis_server.hpp"
#endif
#ifdef DLOCK_TEST_ZOOKEEPER
#include "support/zookeeper_server.hpp"
#endif

namespace dlock::test {

#ifdef DLOCK_TEST_REDIS
TEST_CASE("dlock on Redis: the verbs work, and top is one statement") {
  const redis_server server;
  const url_scene s{server.url()};
  check_verbs(s);
  lock_service locks{s.url};
  const auto held = locks.acquire("k");
  CHECK(s.json({"top"}).at("statements") == 1);
  const auto top = s.json({"top"});
  REQUIRE_FALSE(top.at("sessions").empty());
  CHECK(top.at("sessions").at(0).contains("age_seconds"));
}

TEST_CASE("dlock on Redis: waiters counts the processes that wait") {
  const redis_server server;
  check_waiters(server.url());
  check_counted_waiters({server.url()});
}

TEST_CASE("dlock on Redis: doctor says what a crash may lose, and what a full server deletes") {
  const redis_server server;
  const url_scene s{server.url()};
  CHECK(s.check("durability").value("level", "none") == "ok");
  CHECK(s.check("memory").value("level", "none") == "ok");
  server.ask({"CONFIG", "SET", "appendfsync", "everysec"});
  CHECK(s.check("durability").value("level", "none") == "warning");
  server.ask({"CONFIG", "SET", "maxmemory", "100mb"});
  CHECK(s.check("memory").value("level", "none") == "ok");
  server.ask({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  CHECK(s.check("memory").value("level", "none") == "warning");  // marks of once() that have a `valid`
  // The store refuses such a server, and says what to change.
  server.ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto refused = s.does({"doctor"});
  CHECK(refused.code == 1);
  CHECK(refused.out.find("maxmemory-policy") != std::string::npos);
}

TEST_CASE("dlock on Redis: a user with the rights that schema prints may lock") {
  const redis_server server;
  const auto printed = dlock_does({"schema", "--database", "redis", "--user", "worker", "--prefix", "own:"}).out;
  const auto begin = printed.find("ACL SETUSER");
  REQUIRE(begin != std::string::npos);
  std::istringstream words(printed.substr(begin, printed.find('\n', begin) - begin));
  strings command;
  for (std::string word; words >> word;) command.push_back(word == ">..." ? ">secret" : word);
  CHECK(server.ask(command) == "OK");
  const auto url = server.tcp_url("&prefix=own:", "worker:secret@");
  lock_service locks{url};
  CHECK(granted(locks.acquire("k")));
  CHECK(dlock_does({"doctor"}, {{"DLOCK_URL", url}}).code == 0);
}

TEST_CASE("dlock on Redis: the verbs work beside programs that lock by SET NX") {
  const redis_server server;
  const url_scene s{server.url("&scheme=setnx&prefix=l:")};
  check_verbs(s);
}
#endif

#ifdef DLOCK_TEST_ZOOKEEPER
TEST_CASE("dlock on ZooKeeper: the verbs work, and doctor looks at the ensemble") {
  const zookeeper_server server{{"maxSessionTimeout=60000"}};
  const url_scene s{server.url()};
  check_verbs(s);
  check_waiters(s.url);
  check_counted_waiters(s);
  // The one who is served first stands first.
  check_who_waits(s, {.ttl = 10s}, [](const nlohmann::json&) {});
  CHECK(s.check("leader") != nullptr);
  CHECK(s.check("session timeout").value("level", "none") == "ok");
}
#endif

}  // namespace dlock::test
