// SPDX-License-Identifier: GPL-2.0-or-later

/// Clean-up beyond what the contract says of every store.

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/mysql_store_place.hpp"

namespace dlock::test {

namespace {

std::uint64_t sweep(actor& by, microseconds idle, std::size_t limit) {
  const reply r = by.where->sweep(*by.on, idle, limit);
  CHECK(answer(r) == outcome::yes);
  return r.fence;
}

}  // namespace

TEST_CASE("mysql sweep: keys of crashed processes do not stay for ever", "[mysql][T58]") {
  mysql_store_place where;
  actor b(where);
  {
    actor crashed(where, 1ms);
    crashed.acquire("kept");
    crashed.acquire("own", 1ms);
    // Neither releases nor closes its session.
  }
  pass_until(where, [&] {
    sweep(b, 1us, 100);
    return answer(b.look("kept")) == outcome::absent && answer(b.look("own")) == outcome::absent;
  });
  CHECK(b.acquire("kept") == 2);  // above the floor
}

TEST_CASE("mysql sweep: goes on where the last step ended, and round", "[mysql]") {
  mysql_store_place where;
  actor a(where), b(where);
  for (int i = 100; i != 150; ++i) {
    const auto key = "k" + std::to_string(i);
    REQUIRE(answer(a.release(key, a.acquire(key))) == outcome::yes);
  }
  a.acquire("held");
  where.pass(2ms);
  std::uint64_t gone = 0;
  for (int steps = 0; gone < 50 && steps != 100; ++steps) {
    const auto some = sweep(b, 1us, 7);
    CHECK(some <= 7);
    gone += some;
  }
  CHECK(gone == 50);
  CHECK(b.at("held").holder == a.id);
  // Behind the end it begins anew.
  REQUIRE(answer(a.release("again", a.acquire("again"))) == outcome::yes);
  pass_until(where, [&] { return sweep(b, 1us, 7) == 1; });
}

TEST_CASE("mysql sweep: never lets a fence go back while others lock", "[mysql][T50][T58]") {
  mysql_store_place where;
  actor cleaner(where);
  std::atomic<bool> stop{false};
  std::thread sweeping([&] {
    while (!stop) cleaner.where->sweep(*cleaner.on, 1us, 100);
  });
  actor a(where);
  std::uint64_t last = 0, swept = 0;
  bool rose = true;
  for (int i = 0; i < 300 || (swept < 3 && i < 20'000); ++i) {
    reply r = a.take("k");
    if (r.what == outcome::failed && r.why.contended) continue;  // the cleaner's statement has the row just now
    if (r.what == outcome::no) {
      r = a.insert("k");
      ++swept;
    }
    if (r.what != outcome::yes || r.fence <= last) rose = false;
    last = r.fence;
    if (a.release("k", r.fence).what != outcome::yes) rose = false;
  }
  stop = true;
  sweeping.join();
  CHECK(rose);
  CHECK(swept >= 3);
}

}  // namespace dlock::test
