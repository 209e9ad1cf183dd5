// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <random>
#include <vector>

#include "engine/books/deadline_heap.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;

struct item {
  engine::deadline_heap<item>::link at{};
  instant until{};
};

}  // namespace

TEST_CASE("deadline heap: whoever leaves and comes, the first deadline is at the front", "[parts]") {
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
