// SPDX-License-Identifier: BSL-1.0

/// Names that can't be looked up.

#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "support/calls.hpp"
#include "support/stuck_names.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

struct lookup_fixture {
  lookup_fixture() { fixture.open(); }
  ~lookup_fixture() {
    names_stuck = false;
    static_cast<void>(eventually([] { return names_waiting == 0; }));
  }

  std::string url(const std::string& hosts) const { return fixture.url_at(hosts); }
  std::string at_this_host(const std::string& name) const { return fmt::format("{}:{}", name, proxy.port()); }

  mysql_fixture fixture{};
  tcp_proxy proxy{fixture.port()};
};

constexpr auto sluggish = 4s;  // a busy machine

}  // namespace

TEST_CASE_METHOD(lookup_fixture, "mysql lookup: names lead where they should") {
  const auto store = open_store(url(at_this_host("first.test") + "," + at_this_host("second.test")));
  fault why;
  CHECK(store->connect(5s, why));
  CHECK(why.text.empty());
}

TEST_CASE_METHOD(lookup_fixture, "mysql lookup: one that is stuck costs its host's share, and one thread") {
  const auto store = open_store(url(at_this_host("first.test") + "," + at_this_host("127.0.0.1")));
  names_stuck = true;
  fault why;
  const auto took = duration_of([&] { CHECK(store->connect(6s, why)); });
  CHECK(took >= 900ms);  // a second, since there is another one
  CHECK(took < 1s + 3s);
  for (int i = 0; i < 5; ++i) CHECK(store->connect(6s, why));
  CHECK(names_waiting == 1);
}

TEST_CASE_METHOD(lookup_fixture, "mysql lookup: one that is stuck holds up nobody for longer than his limit", "[T89]") {
  std::optional<lock_service> locks;
  // The limits of the store's own statements are none of them.
  locks.emplace(url(at_this_host("only.test")) + "&connect_timeout=20000&statement_timeout=20000",
                service_options{.close_limit = 0ms, .cleanup_interval = 0ms});
  auto first = locks->acquire("first", {.ttl = 10s});
  auto second = locks->acquire("second", {.ttl = 10s});
  names_stuck = true;
  proxy.cut();
  proxy.mend();
  CHECK(duration_of([&] { CHECK_THROWS_AS(locks->try_acquire("k"), store_error); }) < 2s + sluggish);
  CHECK(duration_of([&] { CHECK_THROWS_AS(first.release(), store_error); }) < 1s + sluggish);
  CHECK(duration_of([&] { second = lease{}; }) < 1s + sluggish);
  CHECK(names_waiting <= 5);  // one for each place in the pool
  CHECK(duration_of([&] { locks.reset(); }) < 1s + sluggish);
  CHECK(names_waiting > 0);  // they outlive the service, and harm nobody
  names_stuck = false;
  CHECK(eventually([] { return names_waiting == 0; }));
  // What they made is closed, and somebody else can lock.
  CHECK(eventually([&] { return proxy.connected() == 0; }));
  CHECK(lock_service(fixture.url()).acquire("first", {.wait = 40s}).fencing_token() >= 2);
}

}  // namespace dlock::test
