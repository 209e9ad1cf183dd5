// SPDX-License-Identifier: BSL-1.0
// What each store costs and how it hands over, measured alike: docs/stores.md has figures. Nothing is promised of
// these.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dlock/dlock.hpp"
#include "every_store.hpp"
#include "harness.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

double us(clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double part(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// How many sockets this process has open, whatever number of descriptors it has for one.
long sockets() {
  std::set<ino_t> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat about {};
    if (::stat(each.path().c_str(), &about) == 0 && S_ISSOCK(about.st_mode)) found.insert(about.st_ino);
  }
  return static_cast<long>(found.size());
}

double pair(const bench::candidate& at) {
  lock_service locks{at.url};
  const lock_key key("pair:4711");
  std::vector<double> rounds;
  for (int i = 0; i < 21; ++i) {
    rounds.push_back(bench::time_us(at.pairs, [&] { const lease held = locks.acquire(key); }));
  }
  bench::figures::add(at.name + ": acquire+release", "us", rounds);
  return bench::median(rounds);
}

/// From the release in one service to the grant in another, which has waited for a while.
std::vector<double> hand_overs(const bench::candidate& at, int count) {
  lock_service one{at.url}, two{at.url};
  const lock_key key("hand-over:4711");
  std::vector<double> took;
  for (int i = 0; i < count; ++i) {
    auto& from = i % 2 == 0 ? one : two;
    auto& to = i % 2 == 0 ? two : one;
    std::optional<lease> held = from.acquire(key);
    clock::time_point granted{};
    std::thread waiter([&] {
      const lease mine = to.acquire(key, {.wait = 20s});
      granted = clock::now();
    });
    // Long enough for the pauses of who looks to have grown, and never in step with them.
    std::this_thread::sleep_for(300ms + 7ms * (i % 11));
    const auto released = clock::now();
    held->release();
    waiter.join();
    took.push_back(us(granted - released));
  }
  bench::figures::add(at.name + ": hand-over", "us", took);
  return took;
}

/// Statements that one who waits sends in a second.
double while_waiting(const bench::candidate& at) {
  lock_service one{at.url}, two{at.url};
  const lock_key key("wait:4711");
  const lease held = one.acquire(key);
  std::thread waiter([&] { static_cast<void>(two.try_acquire(key, {.wait = 5s})); });
  std::this_thread::sleep_for(1s);
  const auto before = two.statements();
  std::this_thread::sleep_for(3s);
  const auto sent = static_cast<double>(two.statements() - before) / 3;
  waiter.join();
  return sent;
}

/// Connections that the process has while it holds so many locks.
long connections(const bench::candidate& at) {
  const auto before = sockets();
  lock_service locks{at.url};
  std::vector<lease> held;
  for (int i = 0; i < at.many; ++i) held.push_back(locks.acquire(fmt::format("many:{}", i)));
  return sockets() - before;
}

void measure(const bench::candidate& at) {
  const auto one = pair(at);
  const auto hand = hand_overs(at, 40);
  const auto sent = while_waiting(at);
  const auto links = connections(at);
  fmt::print("| {:<30} | {:>8.0f} | {:>10.1f} | {:>10.1f} | {:>8.1f} | {:>5} for {} |\n", at.name, one,
             part(hand, 0.5) / 1000, part(hand, 0.99) / 1000, sent, links, at.many);
  std::fflush(stdout);
}

}  // namespace

int main() {
  fmt::print("| {:<30} | {:>8} | {:>10} | {:>10} | {:>8} | connections |\n", "store", "pair, us", "p50, ms", "p99, ms",
             "sent/s");
  bench::on_every_store(measure);
  return bench::figures::exit_code();
}
