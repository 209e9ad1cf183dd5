// SPDX-License-Identifier: BSL-1.0

// The example of docs/zh-CN/annotations.md.

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;

struct purchase {
  int id;
  long amount;
};

// [place]
std::string place(const purchase& o) { return "receipt for order " + std::to_string(o.id); }

auto place_locked(dlock::lock_service& locks) {
  return locks.locked<"order:{o.id}", "o">(place, {.ttl = 30s, .wait = 2s});
}
// [/place]

TEST_CASE("example: the Chinese page's decorated function locks by its argument") {
  const auto store = std::make_shared<dlock::stores::memory_store>();
  dlock::lock_service locks{store};
  dlock::lock_service others{store, {.defaults = {.wait = 0s}}};
  const auto place_one = place_locked(locks);
  CHECK(place_one(purchase{42, 100}) == "receipt for order 42");
  const auto held = locks.acquire("order:42");
  const auto theirs = others.locked<"order:{o.id}", "o">(place, {.wait = 0s});
  CHECK_THROWS_AS(theirs(purchase{42, 100}), dlock::lock_timeout);
  CHECK(theirs(purchase{43, 100}) == "receipt for order 43");
}

}  // namespace
