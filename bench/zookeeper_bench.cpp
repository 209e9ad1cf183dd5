// SPDX-License-Identifier: BSL-1.0
// ZooKeeper: acquire and release, and the hand-over to who waits, beside the recipe written by hand with the C client.
// On a server that waits for no disk.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "dlock/dlock.hpp"
#include "harness.hpp"
#include "support/zookeeper_server.hpp"
#include "zookeeper_by_hand.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

/// Microseconds from a release to the grant of who has waited for it, a median.
template <class Acquire, class Release, class Waits, class Other>
double hand_over(int times, const Acquire& acquire, const Release& release, const Waits& waits, const Other& other) {
  std::vector<double> all;
  for (int i = 0; i != times; ++i) {
    acquire();
    clock_type::time_point granted;
    std::thread waiter([&] { other(granted); });
    while (!waits()) std::this_thread::sleep_for(std::chrono::microseconds{200});
    std::this_thread::sleep_for(std::chrono::milliseconds{5});  // and nothing is on its way any more
    const auto begin = clock_type::now();
    release();
    waiter.join();
    all.push_back(std::chrono::duration<double, std::micro>(granted - begin).count());
  }
  return dlock::bench::median(all);
}

}  // namespace

int main() {
  const dlock::test::zookeeper_server server;
  const dlock::bench::zookeeper_session session(server.address()), other_session(server.address());
  dlock::bench::zookeeper_recipe raw(session, "/raw"), other_raw(other_session, "/raw");
  dlock::lock_service locks{server.url()}, other_locks{server.url()};
  const dlock::lock_options options, patient{.wait = std::chrono::seconds{20}};
  const dlock::lock_key key("our:4711");
  dlock::bench::compare(
      "ZooKeeper: acquire+release, 1 thread", 21, 300,
      [&] {
        raw.acquire();
        raw.release();
      },
      [&] { const dlock::lease held = locks.acquire(key, options); }, {.at_least = 0.85});

  std::vector<double> raws, ours, ratios;
  for (int round = 0; round != 9; ++round) {
    constexpr int times = 20;
    raws.push_back(hand_over(
        times, [&] { raw.acquire(); }, [&] { raw.release(); }, [&] { return other_raw.waits(); },
        [&](clock_type::time_point& granted) {
          other_raw.acquire();
          granted = clock_type::now();
          other_raw.release();
        }));
    dlock::lease held;
    std::uint64_t before = 0;
    ours.push_back(hand_over(
        times, [&] { held = locks.acquire(key, patient), before = other_locks.statements(); }, [&] { held.release(); },
        [&] { return other_locks.statements() >= before + 2; },
        [&](clock_type::time_point& granted) {
          const auto mine = other_locks.acquire(key, patient);
          granted = clock_type::now();
        }));
    ratios.push_back(ours.back() / raws.back());
  }
  fmt::print("{:<46} raw {:9.2f} us   dlock {:9.2f} us   dlock/raw {:.3f}\n", "ZooKeeper: hand-over to who waits",
             dlock::bench::median(raws), dlock::bench::median(ours), dlock::bench::median(ratios));
  dlock::bench::figures::add("ZooKeeper: hand-over, of raw", "ratio", ratios, {.at_most = 1.3});
  return dlock::bench::figures::exit_code();
}
