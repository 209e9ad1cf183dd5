// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <random>
#include <vector>

#include "engine/drivers/deadline_heap.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;

struct item {
  engine::deadline_heap<item>::position at = 0;
  instant until{};
};

}  // namespace

TEST_CASE("deadline heap: whoever leaves and comes, the first deadline is at the front", "[parts]") {
  std::mt19937 random(7);
  std::vector<item> all(200);
  engine::deadline_heap<item> heap(&item::at);
  heap.make_room(all.size());
  CHECK(heap.first() == instant::max());
  for (int step = 0; step < 20'000; ++step) {
    auto& item = all[random() % all.size()];
    if (item.at != 0) {
      heap.remove(item);
      CHECK(item.at == 0);
    } else {
      item.until = instant{std::chrono::microseconds{static_cast<long>(random() % 50)}};
      heap.add(item, item.until);
    }
    auto first = instant::max();
    for (const auto& each : all) {
      if (each.at != 0) first = std::min(first, each.until);
    }
    REQUIRE(heap.first() == first);
    if (first != instant::max()) REQUIRE(heap.front().until == first);
  }
  std::size_t left = 0;
  heap.for_each([&](const item& each) { left += each.at != 0 ? 1 : 0; });
  CHECK(left ==
        static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const item& each) { return each.at != 0; })));
  for (auto& each : all) heap.remove(each);
  CHECK(heap.first() == instant::max());
}
