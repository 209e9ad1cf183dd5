// SPDX-License-Identifier: BSL-1.0

/// A release that grants the key to a waiter of another process: what the waiter finds, accepts and gives back, and who
/// is granted nothing.

#include <fmt/format.h>

#include <cctype>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/store/waiting_store.hpp"

namespace dlock::test {

namespace {

struct offered_listener final : key_listener {
  void may_be_free(bool works) noexcept override { yes += works ? 1 : 0; }
  std::uint64_t offer() const noexcept override { return 1'000'001; }

  std::atomic<int> yes{0};
};

/// A process that waits for "k", and can be granted it.
struct offered_waiter {
  explicit offered_waiter(store_fixture& at) : as(at) { watch(); }
  ~offered_waiter() { unwatch(); }
  void watch() { as.store->watch("k", as.id, listener); }
  void unwatch() { as.store->unwatch("k", as.id, listener); }
  bool works() {
    return eventually([&] { return listener.yes > 0; });
  }
  reply take(std::uint64_t offer) {
    return as.run({.action = verb::take, .resource = "k", .session = as.id, .nonce = ++as.nonce, .offer = offer});
  }
  reply accept(std::uint64_t fence) {
    return as.run({.action = verb::accept, .resource = "k", .session = as.id, .fence = fence});
  }

  actor as;
  offered_listener listener{};
};

struct offer_fixture {
  mysql_store_fixture fixture{"&wake=grant"};
  raw_mysql root = raw_mysql::root();
  actor holder{fixture};
  std::uint64_t fence = holder.acquire("k");

  std::string table(const char* name) { return fixture.tables.table(name); }
  std::string about_lock(const char* column) {
    return root.rows(fmt::format("SELECT {} FROM {} WHERE lock_key = 'k'", column, table("lock")))
        .at(0)
        .at(0)
        .value_or("NULL");
  }
  bool is_free() { return about_lock("session_id IS NULL") == "1"; }
  /// Of the waiter.
  std::string holder_of_key() { return about_lock("HEX(session_id)"); }
  void release() { REQUIRE(answer(release_and_wake(holder, fence)) == outcome::yes); }
};

std::string upper(const id128& id) {
  auto digits = id.hex();
  for (auto& each : digits) each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
  return digits;
}

}  // namespace

TEST_CASE_METHOD(offer_fixture, "offer: a release grants the key to the waiter, which takes and accepts it") {
  offered_waiter waiter(fixture);
  REQUIRE(waiter.works());
  release();
  CHECK(holder_of_key() == upper(waiter.as.id));
  CHECK(about_lock("nonce") == "1000001");
  // A second at most. Nobody else gets it meanwhile.
  CHECK(answer(holder.take("k")) == outcome::no);
  CHECK(answer(waiter.take(1'000'003)) == outcome::no);
  const auto taken = waiter.take(1'000'001);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
  CHECK(taken.offer_ends > 0us);
  CHECK(taken.offer_ends <= 1s);
  CHECK(answer(waiter.accept(taken.fence + 1)) == outcome::no);
  CHECK(answer(waiter.accept(taken.fence)) == outcome::yes);
  CHECK(about_lock("expires_at_us") == "NULL");
  CHECK(answer(waiter.accept(taken.fence)) == outcome::yes);  // the first one may have got no answer
  waiter.unwatch();
  std::this_thread::sleep_for(50ms);
  CHECK(holder_of_key() == upper(waiter.as.id));  // who leaves after that gives nothing back
}

TEST_CASE_METHOD(offer_fixture, "offer: what is not accepted in a second is free, and can't be accepted any more") {
  offered_waiter waiter(fixture);
  REQUIRE(waiter.works());
  release();
  const auto taken = waiter.take(1'000'001);
  REQUIRE(answer(taken) == outcome::yes);
  REQUIRE(eventually([&] { return about_lock("expires_at_us <= 1000000 * UNIX_TIMESTAMP(NOW(6))") == "1"; }));
  CHECK(answer(waiter.accept(taken.fence)) == outcome::no);
  const auto later = waiter.take(1'000'001);
  CHECK(answer(later) == outcome::yes);  // as anybody could
  CHECK(later.offer_ends == 0us);
  CHECK(later.fence == taken.fence + 1);
}

TEST_CASE_METHOD(offer_fixture, "offer: who stops waiting gives back what it was granted, and the next one is woken") {
  offered_waiter waiter(fixture);
  REQUIRE(waiter.works());
  waiting_store next(fixture);
  REQUIRE(next.works());
  const int before = next.listener.yes;
  release();
  CHECK(holder_of_key() == upper(waiter.as.id));
  waiter.unwatch();
  // Long before the second is over.
  CHECK(eventually([&] { return is_free(); }));
  CHECK(eventually([&] { return next.listener.yes > before; }));
  CHECK(about_lock("acquired_at_us + 900000 > 1000000 * UNIX_TIMESTAMP(NOW(6))") == "1");
}

TEST_CASE_METHOD(offer_fixture, "offer: a waiter is granted the key once for each time that it enters its row") {
  offered_waiter waiter(fixture);
  REQUIRE(waiter.works());
  release();
  REQUIRE(holder_of_key() == upper(waiter.as.id));
  // It does not take the key. Somebody else gets it after a second, whose release grants nothing to that waiter.
  std::uint64_t later = 0;
  REQUIRE(eventually([&] {
    const auto got = holder.take("k");
    later = got.fence;
    return got.result == outcome::yes;
  }));
  REQUIRE(answer(release_and_wake(holder, later)) == outcome::yes);
  CHECK(is_free());
}

TEST_CASE_METHOD(offer_fixture, "offer: a waiter whose session is dead or revoked is woken, and granted nothing") {
  const std::string change = GENERATE("expires_at_us = 1", "revoked = 1");
  CAPTURE(change);
  offered_waiter waiter(fixture);
  REQUIRE(waiter.works());
  root.run(fmt::format("UPDATE {} SET {} WHERE id = X'{}'", table("session"), change, upper(waiter.as.id)));
  const int before = waiter.listener.yes;
  release();
  CHECK(is_free());
  CHECK(eventually([&] { return waiter.listener.yes > before; }));
}

TEST_CASE_METHOD(offer_fixture, "offer: a service is granted the key by the release of another one, and keeps it") {
  lock_service one(fixture.open(), patient()), other(fixture.open(), patient());
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  std::optional<lease> held = one.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return other.acquire("k"); });
  REQUIRE(eventually([&] {
    return root.rows(fmt::format("SELECT COUNT(*) FROM {} WHERE nonce <> 0", table("waiter"))).at(0).at(0) == "1";
  }));
  const auto first = held->fencing_token();
  held.reset();
  auto got = waits.get();
  CHECK(got.fencing_token() == first + 1);
  CHECK(about_lock("nonce % 2") == "1");
  // Its session keeps it before the second is over.
  CHECK(eventually([&] { return about_lock("expires_at_us") == "NULL"; }));
  CHECK(eventually([&] { return got.remaining() > 10s; }));
  CHECK(got.loss() == loss_reason::none);
  got.release();
  CHECK(is_free());
}

TEST_CASE_METHOD(offer_fixture, "offer: who waits without wake=grant is woken, and granted nothing") {
  const auto plain = open_store(fixture.tables.url(""));
  plain->prepare();
  waiting_store waiter(plain);
  REQUIRE(waiter.works());
  const int before = waiter.listener.yes;
  release();
  CHECK(is_free());
  CHECK(eventually([&] { return waiter.listener.yes > before; }));
}

TEST_CASE_METHOD(offer_fixture, "offer: a waiter that does not run keeps the key from others for a second, once") {
  offered_waiter stopped(fixture);  // nobody takes what it is granted
  REQUIRE(stopped.works());
  lock_service others(fixture.open(), patient());
  release();
  for (int i = 0; i != 3; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    auto held = others.acquire("k", {.retry = {.pause = 10ms, .max_pause = 10ms}});
    CHECK(std::chrono::steady_clock::now() - begun < (i == 0 ? 1'500ms : 500ms));
  }
}

}  // namespace dlock::test
