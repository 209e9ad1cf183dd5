// SPDX-License-Identifier: BSL-1.0

#include "engine/machines/backoff.hpp"
#include "engine/registry/deadline_heap.hpp"
#include "engine/registry/grant.hpp"
#include "engine/registry/held_locks.hpp"
#include "engine/registry/local_readers.hpp"
#include "engine/statements/concurrency_limit.hpp"
#include "support/processor_time.hpp"
#include "support/test.hpp"

using namespace dlock::engine;
using namespace dlock;
using namespace std::chrono_literals;
using dlock::detail::retry_settings;
using std::chrono::microseconds;

namespace {

std::vector<microseconds> pauses(const retry_settings& retry, std::uint64_t seed, int count) {
  backoff b(retry, seed);
  std::vector<microseconds> all;
  for (int i = 0; i < count; ++i) all.push_back(b.next());
  return all;
}

}  // namespace

TEST_CASE("backoff: pauses grow by the multiplier up to the longest") {
  const retry_settings retry{.pause = 10ms, .multiplier = 3.0, .max_pause = 100ms, .jitter = 0.0};
  CHECK(pauses(retry, 1, 5) == std::vector<microseconds>{10ms, 30ms, 90ms, 100ms, 100ms});
}

TEST_CASE("backoff: a multiplier of one keeps the pause", "[T10]") {
  const retry_settings retry{.pause = 50ms, .multiplier = 1.0, .max_pause = 50ms, .jitter = 0.0};
  CHECK(pauses(retry, 1, 3) == std::vector<microseconds>{50ms, 50ms, 50ms});
}

TEST_CASE("backoff: the random part only ever shortens, and by no more than jitter says", "[T10]") {
  const retry_settings retry{.pause = 100ms, .multiplier = 1.0, .max_pause = 100ms, .jitter = 0.5};
  std::set<microseconds> different;
  for (const auto each : pauses(retry, 7, 1000)) {
    CHECK(each <= 100ms);
    CHECK(each >= 50ms);
    different.insert(each);
  }
  CHECK(different.size() > 900);
  CHECK(*different.begin() < 51ms);
  CHECK(*different.rbegin() > 99ms);
}

TEST_CASE("backoff: waiters with different seeds do not march in step", "[T34]") {
  const retry_settings retry{};
  CHECK(pauses(retry, 1, 10) == pauses(retry, 1, 10));
  CHECK(pauses(retry, 1, 10) != pauses(retry, 2, 10));
}

TEST_CASE("backoff: never zero, so that a poll never follows a poll at once", "[T32]") {
  const retry_settings retry{.pause = 1ms, .multiplier = 1.0, .max_pause = 1ms, .jitter = 1.0};
  for (const auto each : pauses(retry, 3, 1000)) CHECK(each > 0us);
}

TEST_CASE("backoff: thousands of pauses overflow nothing") {
  const retry_settings retry{.pause = 1ms, .multiplier = 100.0, .max_pause = 24h, .jitter = 0.0};
  CHECK(pauses(retry, 3, 5000).back() == 24h);
}

TEST_CASE("backoff: a brief pause is like the second, and is none of them") {
  const retry_settings retry{.pause = 10ms, .multiplier = 3.0, .max_pause = 100ms, .jitter = 0.0};
  backoff b(retry, 1);
  CHECK(b.brief() == 30ms);
  CHECK(b.next() == 10ms);
  CHECK(b.next() == 30ms);
  CHECK(b.next() == 90ms);
  CHECK(b.brief() == 30ms);
  CHECK(b.next() == 100ms);
  CHECK(backoff({.pause = 50ms, .max_pause = 60ms, .jitter = 0.0}, 1).brief() == 60ms);
}

TEST_CASE("backoff: grown, it pauses for the longest time at once") {
  backoff b({.pause = 10ms, .max_pause = 100ms, .jitter = 0.0}, 1);
  b.grow();
  CHECK(b.next() == 100ms);
  CHECK(b.brief() == 20ms);
}

TEST_CASE("concurrency_limit: all connections are used until there are more statements than connections") {
  concurrency_limit limit(8, true);
  CHECK(limit.now() == 8);
  for (int i = 0; i != 100; ++i) limit.formed(1, 8, 3);
  CHECK(limit.now() == 8);
  CHECK_FALSE(limit.holds_back());
  limit.formed(2, 9, 0);
  CHECK(limit.now() == 2);
  CHECK(limit.holds_back());
}

TEST_CASE("concurrency_limit: a crowd is over some batches after its end, not at once") {
  concurrency_limit limit(8, true);
  limit.formed(10, 64, 20);
  for (int i = 0; i != 16; ++i) limit.formed(4, 5, 0);
  CHECK(limit.now() == 2);
  for (int i = 0; i != 32; ++i) limit.formed(4, 5, 0);
  CHECK(limit.now() == 8);
}

TEST_CASE("concurrency_limit: what shares nothing with others gets connections of its own") {
  concurrency_limit limit(4, true);
  limit.formed(1, 64, 40);
  CHECK(limit.now() == 3);
  limit.formed(1, 64, 40);
  limit.formed(1, 64, 40);
  CHECK(limit.now() == 4);
  limit.formed(1, 64, 0);  // nothing was left that could have gone with it
  CHECK(limit.now() == 4);
  limit.formed(12, 64, 40);
  limit.formed(12, 64, 40);
  limit.formed(12, 64, 40);
  CHECK(limit.now() == 2);
}

TEST_CASE("concurrency_limit: statements with a connection each share, too, if the server takes long for so many") {
  concurrency_limit limit(64, true);
  const auto answers = [&](std::size_t beside, microseconds after) {
    for (int i = 0; i != 48; ++i) {
      limit.formed(1, beside + 1, 0);
      const bool was = limit.holds_back();
      const bool begins = limit.answered(after, beside == 0);
      CHECK(begins == (!was && limit.holds_back()));
    }
  };
  answers(0, 200us);
  answers(40, 590us);
  CHECK(limit.now() == 64);
  answers(7, 2ms);  // so few gain nothing
  CHECK(limit.now() == 64);
  answers(40, 650us);
  CHECK(limit.now() == 2);
  CHECK(limit.holds_back());

  SECTION("until there are few") {
    for (int i = 0; i != 64; ++i) limit.formed(4, 5, 0);
    CHECK(limit.now() == 64);
  }
  SECTION("and now and then it is seen whether the server still does") {
    std::size_t batches = 0;
    for (; limit.now() == 2 && batches <= concurrency_limit::look_again; ++batches) limit.formed(20, 40, 0);
    CHECK(batches > concurrency_limit::look_again / 2);
    CHECK(limit.now() == 64);
    answers(40, 300us);
    CHECK(limit.now() == 64);
    answers(40, 650us);
    CHECK(limit.now() == 2);
  }
}

TEST_CASE("concurrency_limit: a far server, and a statement that hangs, are no reason to share") {
  concurrency_limit far(64, true), hangs(64, true);
  for (int i = 0; i != 48; ++i) far.answered(20ms, true), hangs.answered(2ms, true);
  for (int i = 0; i != 48; ++i) far.formed(1, 40, 0), far.answered(100ms, false);
  CHECK(far.now() == 64);
  hangs.formed(1, 40, 0), hangs.answered(10s, false);
  CHECK(hangs.now() == 64);
}

TEST_CASE("concurrency_limit: a store that serves one at a time, or a single connection, is not held back") {
  concurrency_limit apart(8, false);
  apart.formed(1, 64, 40);
  CHECK(apart.now() == 8);
  CHECK_FALSE(apart.holds_back());
  concurrency_limit single(1, true);
  single.formed(1, 64, 40);
  CHECK(single.now() == 1);
  CHECK_FALSE(single.holds_back());
}

namespace {

struct item {
  engine::deadline_heap<item>::link at{};
  instant until{};
};

}  // namespace

TEST_CASE("deadline heap: whoever leaves and comes, the first deadline is at the front") {
  std::mt19937 random(7);
  std::vector<item> all(200);
  engine::deadline_heap<item> heap(&item::at);
  CHECK(heap.first() == instant::max());
  for (int step = 0; step < 20'000; ++step) {
    auto& item = all[random() % all.size()];
    if (item.at.set() && random() % 4 != 0) {
      heap.remove(item);
      CHECK_FALSE(item.at.set());
    } else {  // it comes, or moves
      item.until = instant{std::chrono::microseconds{static_cast<long>(random() % 50)}};
      const bool is_first = heap.set(item, item.until);
      REQUIRE(is_first == (&heap.front() == &item));
    }
    auto first = instant::max();
    for (const auto& each : all) {
      if (each.at.set()) first = std::min(first, each.until);
    }
    REQUIRE(heap.first() == first);
    REQUIRE(heap.empty() == (first == instant::max()));
    if (!heap.empty()) REQUIRE(heap.front().until == first);
  }
  auto remaining = std::count_if(all.begin(), all.end(), [](const item& each) { return each.at.set(); });
  for (auto before = instant::min(); !heap.empty(); --remaining) {
    auto& item = heap.take_first();
    CHECK(before <= item.until);
    before = item.until;
  }
  CHECK(remaining == 0);
  CHECK(heap.first() == instant::max());
}

namespace {

/// A session that is never over.
struct lasting_session final : session_pins {
  void unpin(session&) noexcept override {}
  session_pin pin_again(const std::shared_ptr<session>& of, bool) noexcept override { return session_pin(of); }

  std::shared_ptr<grant> reader() {
    auto made = std::make_shared<grant>(nullptr, "k");
    made->pin = session_pin(one);
    made->ttl = 1s;
    return made;
  }

  const std::shared_ptr<session> one = std::make_shared<session>(*this, id128{}, 1s, 50ms, instant{});
};

}  // namespace

TEST_CASE("local readers: what another thread ended between the grant and the offer is shared with nobody") {
  lasting_session lasts;
  local_readers readers;
  const auto offered = [&](bool ended) {
    const auto first = lasts.reader();
    first->reader = std::make_shared<reader_row>();
    const auto row = first->reader;
    if (ended) CHECK(first->leaves_store());
    readers.offer(*first, row, instant{});
    const auto next = lasts.reader();
    return readers.enter(*next, instant{});
  };
  CHECK(offered(false));
  CHECK_FALSE(offered(true));
}

TEST_CASE("held_locks: what an owner holds is found as quickly beside what others hold") {
  const auto owner_of = [] { return std::make_shared<engine::owner_state>(); };
  const auto time_beside = [&](std::size_t others) {
    engine::held_locks table;
    std::vector<std::shared_ptr<engine::grant>> all;
    const auto add = [&](const std::shared_ptr<engine::owner_state>& owner) {
      all.push_back(std::make_shared<engine::grant>(nullptr, lock_key("k" + std::to_string(all.size()))));
      all.back()->owner = owner;
      all.back()->anchor = &engine::grant::by_mutex;
      table.add(*all.back());
    };
    const auto mine = owner_of();
    for (int i = 0; i != 3; ++i) add(mine);
    for (std::size_t i = 0; i != others; ++i) add(owner_of());
    add(mine);
    const auto found_all = [&] {
      std::vector<std::shared_ptr<engine::grant>> found;
      table.find_own(*mine, found);
      CHECK(found.size() == 4);
    };
    const auto time = test::processor_time(found_all);
    table.abandon(
        *mine, [](const auto&) { return true; }, all);
    CHECK(mine->grants == 0);
    CHECK(table.size() == others);
    for (const auto& each : all) table.drop(*each);
    CHECK(table.size() == 0);
    return time;
  };
  const auto few = time_beside(10), many = time_beside(20'000);
  CAPTURE(few.count(), many.count());
  CHECK(many < 30 * few);
}
