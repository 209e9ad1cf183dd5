// SPDX-License-Identifier: BSL-1.0

/// Two services that hold one key in turn, while masters are killed, restarted empty and stopped.

#include "dlock/error.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/stores/redlock.hpp"
#include "support/redis_masters.hpp"
#include "support/test.hpp"

namespace dlock::test {

using clock = std::chrono::steady_clock;

namespace {

/// In which a holder trusted its lease all the time.
struct hold {
  clock::time_point from, to;
};

class hold_book {
 public:
  void add(hold each) {
    const std::lock_guard lock(mutex_);
    all_.push_back(each);
  }
  std::size_t size() const { return all_.size(); }
  std::size_t overlaps() {
    std::sort(all_.begin(), all_.end(), [](const hold& a, const hold& b) { return a.from < b.from; });
    std::size_t found = 0;
    for (std::size_t i = 1; i < all_.size(); ++i) found += all_[i].from < all_[i - 1].to ? 1 : 0;
    return found;
  }

 private:
  std::mutex mutex_{};
  std::vector<hold> all_{};
};

/// Holds it for some milliseconds, at times for longer than its ttl.
void hold_once(lock_service& locks, std::mt19937& random, hold_book& book) {
  auto held = locks.acquire("k", {.ttl = 1s, .wait = 3s});
  hold mine{clock::now(), clock::now()};
  const auto end = mine.from + (random() % 40 == 0 ? 1200ms : std::chrono::milliseconds{random() % 12});
  do {
    const auto now = clock::now();
    if (held.remaining() == 0us) break;
    mine.to = now;
    std::this_thread::sleep_for(1ms);
  } while (clock::now() < end);
  book.add(mine);
  held.release();
}

}  // namespace

TEST_CASE("redlock: never two trust a lease on a key, while masters come and go") {
  redis_masters masters;
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::this_thread::sleep_for(1200ms);  // until new masters count
  const auto url = masters.url("&restart_delay=1000&master_timeout=50&connect_timeout=20000");
  std::array<lock_service, 2> services{lock_service{url, {.close_limit = 0ms}},
                                       lock_service{url, {.close_limit = 0ms}}};
  hold_book book;
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 mine(seed + i);
      while (!stop) {
        try {
          hold_once(services[i % 2], mine, book);
        } catch (const error&) {
          ++failed;  // lost, timed out, or no majority
        }
      }
    });
  }
  for (int i = 0; i < 4; ++i) {
    const auto first = random() % masters.size(), second = (first + 1 + random() % 4) % masters.size();
    masters[second].stop();
    masters[first].kill();
    std::this_thread::sleep_for(std::chrono::milliseconds{random() % 400});
    masters[first].start();
    masters[second].go_on();
    std::this_thread::sleep_for(1200ms);
  }
  stop = true;
  for (auto& each : threads) each.join();
  INFO(book.size() << " holds, " << failed << " failed");
  CHECK(book.size() > 20);
  CHECK(book.overlaps() == 0);
  CHECK(services[0].acquire("k", {.ttl = 1s, .wait = 20s}));
}

}  // namespace dlock::test
