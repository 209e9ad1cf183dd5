// SPDX-License-Identifier: BSL-1.0

/// A release that wakes a waiter of another process. Of stores with waiting::woken.

#include <unistd.h>

#include "contract/store/waiting_store.hpp"
#include "dlock/multi_lease.hpp"
#include "support/url_parameters.hpp"

namespace dlock::test {

namespace {

/// The URL with wake=`value`, whatever the backend's says of that.
std::string with_wake(std::string url, const std::string& value) {
  const auto at = url.find("wake=");
  if (at == std::string::npos) return with_parameters(url, "wake=" + value);
  return url.replace(at, url.find('&', at) - at, "wake=" + value);
}

}  // namespace

TEST_CASE_METHOD(two_actors, "wake: a release wakes a waiter of another process, and nobody where nobody waits") {
  const auto waiting = [&] {
    waiter_overview found;
    REQUIRE(answer(a.store->admin()->waiters(*a.connection, "k", 10, found)) == outcome::yes);
    return found.count;
  };
  unsigned woken = 7;
  auto fence = release_and_take(a, a.acquire("k"), woken);
  CHECK(woken == 0);
  waiting_store waiter(b.store);
  REQUIRE(waiter.works());
  REQUIRE(waiting() == 1);
  for (int i = 0; i != 20; ++i) {
    CAPTURE(i);
    // As a service does that was woken. By what it sees the store knows a release that comes before the next sleep.
    REQUIRE(b.sees_held("k"));
    const int before = waiter.listener.yes;
    // Between two sleeps it is not to be woken, and looks at the key before the next.
    REQUIRE(eventually([&] {
      fence = release_and_take(a, fence, woken);
      return woken == 1;
    }));
    CHECK(eventually([&] {
      // A table that other programs write has no fence that would show a release and a grant between two sleeps. Then
      // the next release wakes the waiter.
      if (waiter.listener.yes == before && a.store->caps().others_release()) fence = release_and_take(a, fence, woken);
      return waiter.listener.yes > before;
    }));
  }
  waiter.unwatch();
  CHECK(eventually([&] { return waiting() == 0; }));
  fence = release_and_take(a, fence, woken);
  CHECK(woken == 0);
}

TEST_CASE_METHOD(any_store, "wake: a batch of releases wakes a waiter of each key") {
  actor holder(*fixture);
  std::vector<std::string> keys{"a", "b", "c"};
  std::vector<request> frees;
  for (const auto& key : keys) {
    frees.push_back(
        {.action = verb::release, .resource = key, .session = holder.id, .fence = holder.acquire(key), .wake = true});
  }
  waiting_store a(*fixture, "a"), c(*fixture, "c");
  REQUIRE(a.works());
  REQUIRE(c.works());
  const auto replies = holder.run(frees);
  for (const auto& each : replies) CHECK(answer(each) == outcome::yes);
  CHECK(replies[0].waiters == 1);
  CHECK(replies[1].waiters == 0);
  CHECK(replies[2].waiters == 1);
}

TEST_CASE_METHOD(any_store, "wake: a release of what is not held, and one in the future, wake nobody") {
  actor holder(*fixture);
  const auto fence = holder.acquire("k");
  waiting_store waiter(*fixture);
  REQUIRE(waiter.works());
  const auto refused = release_and_wake(holder, fence + 1);
  CHECK(answer(refused) == outcome::no);
  CHECK(refused.waiters == 0);
  CHECK(holder.sees_held("k"));
  const auto later = release_and_wake(holder, fence, for_long);
  CHECK(answer(later) == outcome::yes);
  CHECK(later.waiters == 0);
}

TEST_CASE_METHOD(any_store, "wake: a service is woken that would poll again in an hour") {
  lock_service other(fixture->url(), patient()), mine(fixture->url(), patient());
  const auto waiters = [&] { return other.waiters("k").count; };
  const bool several = GENERATE(false, true);
  CAPTURE(several);
  for (int i = 0; i != 5; ++i) {
    std::optional<lease> held = other.acquire("k");
    auto waits = std::async(std::launch::async, [&] {
      return several ? mine.acquire_all({"a", "k", "z"}).size() == 3 : granted(mine.acquire("k"));
    });
    REQUIRE(eventually([&] { return waiters() == 1; }));
    held.reset();
    CHECK(waits.get());
    REQUIRE(eventually([&] { return waiters() == 0; }));
  }
}

TEST_CASE_METHOD(any_store, "wake: a wait for several keys that ends in vain leaves its place") {
  lock_service other(fixture->url(), patient()), mine(fixture->url(), patient());
  const auto held = other.acquire("k");
  std::stop_source cancel;
  auto waits = std::async(std::launch::async, [&] {
    return thrown([&] { return mine.acquire_all({"a", "k"}, {.cancel = cancel.get_token()}); });
  });
  REQUIRE(eventually([&] { return other.waiters("k").count == 1; }));
  CHECK(granted(other.try_acquire("a")));  // nothing is held meanwhile
  cancel.request_stop();
  CHECK(waits.get() == errc::cancelled);
  CHECK(eventually([&] { return other.waiters("k").count == 0; }));
}

TEST_CASE_METHOD(any_store, "wake: a service tells who waits for a key, one that polls does not know it") {
  const auto named = [](const char* label) {
    auto made = patient();
    made.label = label;
    return made;
  };
  lock_service service(fixture->url(), patient()), first(fixture->url(), named("first")),
      second(fixture->url(), named("second")), quiet(with_wake(fixture->url(), "off"), patient());
  std::optional<lease> held = service.acquire("k");
  const auto waiting = [&] { return service.waiters("k"); };
  CHECK(waiting().known);
  CHECK(waiting().count == 0);
  CHECK(service.held_keys().at(0).waiters == 0U);
  auto one = std::async(std::launch::async, [&] { return granted(first.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().count == 1; }));
  auto two = std::async(std::launch::async, [&] { return granted(second.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().count == 2; }));
  CHECK(service.waiters("k", 1).count == 2);
  if (const auto all = waiting().first; fixture->names_waiters()) {
    REQUIRE(all.size() == 2);
    CHECK(all[0].label == "first");
    CHECK(all[0].pid == ::getpid());
    CHECK_FALSE(all[0].host.empty());
    CHECK(all[0].waited > microseconds{0});
    CHECK(all[1].label == "second");
    CHECK(service.waiters("k", 1).first.size() == 1);
  } else {
    CHECK(all.empty());
  }
  CHECK(service.held_keys().at(0).waiters == 2U);
  CHECK_FALSE(quiet.waiters("k").known);
  CHECK_FALSE(quiet.held_keys().at(0).waiters);
  held.reset();
  CHECK(one.get());
  CHECK(two.get());
}

TEST_CASE_METHOD(any_store, "wake: wake=off polls, and values but on and off are refused") {
  CHECK(fixture->open()->caps().wakes_one());
  const auto quiet = open_store(with_wake(fixture->url(), "off"));
  quiet->prepare();
  CHECK_FALSE(quiet->caps().wakes_one());
  CHECK_THROWS_AS(open_store(with_wake(fixture->url(), "maybe")), std::invalid_argument);
}

}  // namespace dlock::test
