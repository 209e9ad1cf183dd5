// SPDX-License-Identifier: BSL-1.0

/// Who waits for a key of Redis is told when dlock releases it. In these tests nobody who waits looks again of his own
/// accord, but where they say so.

#include <unistd.h>

#include "contract/store/waiting_store.hpp"
#include "stores/redis/redis_fixtures.hpp"
#include "support/forked_child.hpp"
#include "support/recording_observer.hpp"

namespace dlock::test {

namespace {

/// Somebody holds "k", and another service waits for it with `keys`.
struct notified_waiter {
  notified_waiter(const redis_server& at, const std::string& url, const lock_options& holding, const lock_keys& keys,
                  const service_options& options = patient())
      : server(at), other(url, options), mine(url, options) {
    held = other.acquire("k", holding);
    waits = std::async(std::launch::async, [this, keys] {
      return keys.size() == 1 ? test::granted(mine.acquire(keys[0])) : test::granted(mine.acquire_all(keys));
    });
  }
  notified_waiter(const redis_server& at, const std::string& with) : notified_waiter(at, at.url(with), {}, {"k"}) {}

  /// The server has been asked for the last time before the waiter is told something.
  bool settled() const {
    return eventually([&] {
      const auto before = scripts_run();
      ::usleep(50'000);
      return server.ask({"PUBSUB", "CHANNELS"}).find(":k") != std::string::npos && scripts_run() == before;
    });
  }
  /// Sooner than who is told would look by himself.
  bool granted() { return waits.wait_for(8s) == std::future_status::ready && waits.get(); }

  const redis_server& server;
  lock_service other;
  lock_service mine;
  std::optional<lease> held{};
  std::future<bool> waits{};

 private:
  std::string scripts_run() const {
    const auto statistics = server.ask({"INFO", "commandstats"});
    const auto at = statistics.find("cmdstat_evalsha:calls=");
    return at == std::string::npos ? "" : statistics.substr(at, statistics.find(',', at) - at);
  }
};

/// Both schemes, each on a server of its own.
struct each_scheme {
  redis_server server{};
  const std::string with = GENERATE("", "&scheme=setnx");
  const Catch::ScopedMessage shown{Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info)
                                   << "with " << with};
};

}  // namespace

TEST_CASE("redis: a caller that waits for a permit, or for its turn to read, is told of a release") {
  const redis_server server;
  lock_service other(server.url(), patient()), mine(server.url(), patient());
  const auto [holding, waiting] =
      GENERATE(table<lock_mode, lock_mode>({{one_of(1), one_of(1)}, {exclusive, shared}, {one_of(2), one_of(2, 2)}}));
  auto held = other.acquire("k", {.mode = holding});
  auto waits =
      std::async(std::launch::async, [&, mode = waiting] { return granted(mine.acquire("k", {.mode = mode})); });
  REQUIRE(eventually([&] { return server.ask({"PUBSUB", "CHANNELS"}).find(":k") != std::string::npos; }));
  held.release();
  REQUIRE(waits.wait_for(8s) == std::future_status::ready);
  CHECK(waits.get());
}

TEST_CASE_METHOD(each_scheme, "redis: who waits is told when the key is released, and sends nothing before") {
  notified_waiter waiter(server, with);
  REQUIRE(waiter.settled());
  waiter.held.reset();
  REQUIRE(waiter.granted());
}

TEST_CASE_METHOD(each_scheme, "redis: who waits for several keys is told of the busy one") {
  notified_waiter waiter(server, server.url(with), {}, {"a", "k", "z"});
  REQUIRE(waiter.settled());
  waiter.held.reset();
  REQUIRE(waiter.granted());
}

TEST_CASE("redis: a holder that keeps a key for min_hold tells until when") {
  const redis_server server;
  notified_waiter waiter(server, server.url(), {.min_hold = 2s}, {"k"});
  REQUIRE(waiter.settled());
  waiter.held.reset();
  REQUIRE(waiter.granted());
}

TEST_CASE_METHOD(each_scheme,
                 "redis: a lost connection of those who are told is made again, and nothing is missed meanwhile") {
  notified_waiter waiter(server, with);
  REQUIRE(waiter.settled());
  const bool meanwhile = GENERATE(false, true);
  CAPTURE(meanwhile);
  server.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
  if (!meanwhile) REQUIRE(waiter.settled());
  waiter.held.reset();
  REQUIRE(waiter.granted());
}

TEST_CASE_METHOD(each_scheme, "redis: whoever waits hears that nothing can be told while the server is away") {
  const auto store = open_store(server.url(with));
  store->prepare();
  counting_listener listener;
  store->watch("k", {}, listener);
  CHECK(eventually([&] { return listener.yes == 1; }));
  server.kill();
  CHECK(eventually([&] { return listener.no == 1; }));
  server.start();
  CHECK(eventually([&] { return listener.yes == 2; }));
  store->unwatch("k", {}, listener);
  CHECK(listener.no == 1);
}

TEST_CASE_METHOD(each_scheme,
                 "redis: whose user may neither publish nor subscribe looks with back-off, and its releases free") {
  server.ask({"ACL", "SETUSER", "quiet", "on", ">x", "~*", "+@all", "resetchannels"});
  service_options options = patient();
  const auto events = std::make_shared<recording_observer>();
  options.observer = events;
  options.defaults.retry = {.pause = 10ms, .max_pause = 20ms};
  notified_waiter waiter(server, server.tcp_url(with, "quiet:x@"), {}, {"k"}, options);
  REQUIRE(eventually([&] { return server.ask({"ACL", "LOG"}).find(":k") != std::string::npos; }));
  REQUIRE(events->wait_for(event::kind::waiters_poll));
  waiter.held.reset();
  REQUIRE(waiter.granted());
  CHECK(events->count(event::kind::waiters_poll) == 1);
}

TEST_CASE("redis: held keys are listed with the number of their waiters, or without it for a user who may not ask") {
  const redis_server server;
  server.ask({"ACL", "SETUSER", "blind", "on", ">x", "~*", "&*", "+@all", "-pubsub"});
  notified_waiter waiter(server, "");
  lock_service blind(server.tcp_url({}, "blind:x@"), patient());
  REQUIRE(eventually([&] { return waiter.other.held_keys().at(0).waiters == 1U; }));
  const auto seen = blind.held_keys();
  REQUIRE(seen.size() == 1);
  CHECK_FALSE(seen[0].waiters);
  waiter.held.reset();
  REQUIRE(waiter.granted());
}

TEST_CASE_METHOD(each_scheme, "redis: a child process may let go of a store whose waiters are told") {
  auto second = open_store(server.url(with));
  second->prepare();
  counting_listener listener;
  second->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.yes > 0; }));
  REQUIRE(in_child([&] { return second.reset(), 0; }) == 0);
  second->unwatch("k", {}, listener);
}

}  // namespace dlock::test
