// SPDX-License-Identifier: BSL-1.0

/// Servers that will not do, or not yet.

#include "dlock/lock_service.hpp"
#include "stores/redis/redis_fixtures.hpp"

namespace dlock::test {

namespace {

void check_refused(const std::string& url, const std::string& why) {
  CHECK_THROWS_MATCHES(open_store(url)->prepare(), std::invalid_argument, MessageMatches(ContainsSubstring(why)));
}

}  // namespace

TEST_CASE("redis refusals: a server that promises less than is asked for is named with what it promises") {
  const redis_server nothing({"--appendonly", "no"});
  check_refused(nothing.url(), "persistence=everysec is required, and the server promises none");
  check_refused(nothing.url("&persistence=always"), "Set appendonly yes, appendfsync always");
  CHECK_NOTHROW(open_store(nothing.url("&persistence=none"))->prepare());
  const redis_server mostly({"--appendfsync", "everysec"});
  CHECK_NOTHROW(open_store(mostly.url())->prepare());
  check_refused(mostly.url("&persistence=always"), "the server promises everysec");
  const redis_server all;
  CHECK_NOTHROW(open_store(all.url("&persistence=always"))->prepare());
}

TEST_CASE("redis refusals: a server that deletes any key when its memory is full holds no locks") {
  const redis_server deletes({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  check_refused(deletes.url(), "maxmemory-policy is allkeys-lru");
  const redis_server refuses({"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
  CHECK_NOTHROW(open_store(refuses.url())->prepare());
}

TEST_CASE(
    "redis refusals: each connection asks whether locks may live there, since a fail-over brings other settings") {
  const std::string scheme = GENERATE("&scheme=leases", "&scheme=setnx");
  CAPTURE(scheme);
  const redis_server server;
  const auto locks = open_store(server.url(scheme));
  CHECK_NOTHROW(locks->prepare());
  server.ask({"CONFIG", "SET", "maxmemory", "100mb"});
  server.ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  fault why;
  CHECK(locks->connect(20s, why) == nullptr);
  CHECK_FALSE(why.transient);
  CHECK_THAT(why.text, ContainsSubstring("maxmemory-policy is allkeys-lru"));
  server.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  CHECK(locks->connect(20s, why) != nullptr);
}

TEST_CASE(
    "redis refusals: a server that writes nothing to the disk while it rewrites its log does not keep everything") {
  const redis_server server({"--no-appendfsync-on-rewrite", "yes"});
  check_refused(server.url("&persistence=always"), "no-appendfsync-on-rewrite no");
  CHECK_NOTHROW(open_store(server.url())->prepare());
}

TEST_CASE("redis refusals: a server that says nothing is waited for as long as a connect may take") {
  const redis_server server;
  const auto locks = open_store(server.url("&statement_timeout=60000&connect_timeout=60000"));
  server.stop();
  fault why;
  const auto begun = std::chrono::steady_clock::now();
  SECTION("which is a limit") { CHECK(locks->connect(200ms, why) == nullptr); }
  SECTION("or until it is cancelled") {
    std::stop_source cancel;
    std::thread ends([&] {
      std::this_thread::sleep_for(300ms);  // so that it is waiting by then
      cancel.request_stop();
    });
    CHECK(locks->connect(50s, why, cancel.get_token()) == nullptr);
    ends.join();
  }
  CHECK(std::chrono::steady_clock::now() - begun < 15s);
  server.go_on();
}

TEST_CASE("redis refusals: a node of a cluster is refused") {
  const redis_server node({"--cluster-enabled", "yes", "--cluster-port", "0"});
  check_refused(node.url(), "cluster-enabled");
}

TEST_CASE("redis refusals: a wrong password, and a user without rights, are told without the password", "[T71]") {
  const redis_server server;
  server.ask({"ACL", "SETUSER", "locker", "on", ">sesame", "~dlock:*", "+@all"});
  server.ask({"ACL", "SETUSER", "weak", "on", ">sesame", "~other:*", "+@all"});
  const auto refused = [&](const std::string& user, const std::string& why) {
    CHECK_THROWS_MATCHES(
        open_store(server.tcp_url({}, user + "@"))->prepare(), store_error,
        MessageMatches(ContainsSubstring(why) && !ContainsSubstring("sesame") && !ContainsSubstring("guess")));
  };
  refused("locker:guess", "WRONGPASS");
  refused("weak:sesame", "NOPERM");
  CHECK_NOTHROW(open_store(server.tcp_url({}, "locker:sesame@"))->prepare());
}

namespace {

/// A user of these servers, whose password changes, as a function says it.
template <class Servers>
struct changing_login {
  explicit changing_login(const Servers& all) : servers(all) {
    set_password("old");
    stores::set_redis_credentials("of a test", [this] { return stores::redis_login{"locker", password.load()}; });
  }
  ~changing_login() {
    stores::set_redis_credentials("of a test", [] { return stores::redis_login{}; });
  }
  void set_password(const std::string& now) const {
    for (const redis_server* each : servers)
      each->ask({"ACL", "SETUSER", "locker", "on", "resetpass", ">" + now, "~*", "&*", "+@all"});
  }
  void end_connections() const {
    for (const redis_server* each : servers) each->ask({"CLIENT", "KILL", "USER", "locker"});
  }
  const Servers servers;
  std::atomic<const char*> password{"old"};
};

}  // namespace

TEST_CASE("redis login: a function gives the password of each login, and a running service goes on by the next one") {
  const redis_server server;
  changing_login login(std::vector{&server});
  const auto url = server.tcp_url("&credentials=of a test");
  lock_service locks(url, {.close_limit = 0ms});
  const auto held = locks.acquire("k", {.ttl = 10s});
  login.set_password("new");
  fault why;
  const auto at = open_store(url);
  CHECK(at->connect(5s, why) == nullptr);
  CHECK_THAT(why.text, ContainsSubstring("WRONGPASS"));
  login.password = "new";
  login.end_connections();
  CHECK(renewed(held));
  CHECK(at->connect(5s, why) != nullptr);

  stores::set_redis_credentials("of a test",
                                []() -> stores::redis_login { throw std::runtime_error("the vault is shut"); });
  CHECK(at->connect(5s, why) == nullptr);
  CHECK_THAT(why.text, ContainsSubstring("credentials=of a test: the vault is shut"));
  check_refused(server.tcp_url("&credentials=nobody"), "has not called set_redis_credentials() with that name");
  check_refused(server.tcp_url("&credentials=of a test", "locker:new@"), "takes the place of the user");
  CHECK_THROWS_AS(stores::set_redis_credentials("", [] { return stores::redis_login{}; }), std::invalid_argument);
  CHECK_THROWS_AS(stores::set_redis_credentials("none", nullptr), std::invalid_argument);
}

TEST_CASE("redlock login: a function gives the password of each login at each master") {
  redis_masters masters(3);
  std::vector<const redis_server*> all;
  for (auto& each : masters) all.push_back(&each);
  changing_login login(all);
  lock_service locks(masters.url("&credentials=of a test&restart_delay=0"), {.close_limit = 0ms});
  const auto held = locks.acquire("k", {.ttl = 10s});
  login.set_password("new");
  login.password = "new";
  login.end_connections();
  CHECK(renewed(held));
  CHECK(granted(locks.acquire("l")));
}

TEST_CASE("redis refusals: the rights that docs name are enough") {
  const redis_server server;
  server.ask({"ACL", "SETUSER", "locker", "on", ">sesame", "~dlock:*", "+@read", "+@write", "+@scripting", "+select",
              "+client|id", "+client|kill", "+info", "+time", "+config|get"});
  url_fixture fixture(server.tcp_url("&fences=count", "locker:sesame@"));
  actor a(fixture), b(fixture);
  CHECK(a.acquire("k") == 1);
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(b.inspected("k").size() == 1);
  CHECK(b.store->terminate(*b.connection, a.connection->identity()));
  CHECK(answer(b.store->admin()->cleanup(*b.connection, 1us, 10)) == outcome::yes);
}

TEST_CASE("redis refusals: a server whose memory is full, or that has no connection to give, may have later") {
  const redis_server server({"--maxclients", "4"});
  url_fixture fixture(server.url("&fences=count"));
  actor a(fixture);
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  const reply full = a.insert("k");
  CHECK(full.result == outcome::failed);
  CHECK(full.why.transient);
  CHECK_THAT(full.why.text, ContainsSubstring("OOM"));
  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(a.acquire("k") == 1);

  std::vector<std::unique_ptr<connection>> all;
  fault why;
  while (auto one = a.store->connect(5s, why)) all.push_back(std::move(one));
  CHECK(why.full);
  CHECK(why.transient);
  CHECK(all.size() <= 3);
  CHECK(answer(a.poll("k")) == outcome::yes);
  all.clear();
  CHECK(eventually([&] { return a.store->connect(5s, why) != nullptr; }));
}

}  // namespace dlock::test
