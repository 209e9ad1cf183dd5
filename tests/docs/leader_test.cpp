// SPDX-License-Identifier: BSL-1.0

// The examples of docs/leader.md.

#include <atomic>
#include <functional>

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;

/// Two processes over one store, and a clock that the test moves.
struct two_candidates {
  dlock::stores::virtual_clock clock;
  std::shared_ptr<dlock::stores::memory_store> store = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service locks{store, {.label = "process 1", .time = &clock}};
  dlock::lock_service others{store, {.label = "process 2", .time = &clock}};
};

// [leader]
/// Each process makes one at its start. One of them bills; when it ends or dies, another one continues.
std::unique_ptr<dlock::leader> billing(dlock::lock_service& locks, std::function<void(std::uint64_t)> bill_next) {
  return std::make_unique<dlock::leader>(locks, "leader:billing", [bill_next](dlock::leadership& term) {
    while (!term.stop_requested()) bill_next(term.fencing_token());
  });
}
// [/leader]

TEST_CASE_METHOD(two_candidates, "docs: one leader, and another one after it") {
  std::atomic<std::uint64_t> here{0}, there{0};
  auto first = billing(locks, [&](std::uint64_t token) { here = token; });
  REQUIRE(dlock::test::eventually([&] { return here == 1; }));
  const auto second = billing(others, [&](std::uint64_t token) { there = token; });
  CHECK(there == 0);
  first.reset();
  REQUIRE(dlock::test::eventually([&] { return clock.advance(100ms), there == 2; }));
}

// [watch]
/// Shows who leads, in a process that does not lead.
std::unique_ptr<dlock::leader_watch> watch_billing(dlock::lock_service& locks,
                                                   std::function<void(const std::string&)> show) {
  return std::make_unique<dlock::leader_watch>(locks, "leader:billing", [show](const dlock::leader_view& seen) {
    show(!seen.known ? "unknown: " + seen.why : seen.who ? seen.who->label : "nobody");
  });
}
// [/watch]

TEST_CASE_METHOD(two_candidates, "docs: a watch shows who leads") {
  std::mutex mutex;
  std::string shown;
  const auto now = [&] {
    const std::lock_guard guard(mutex);
    return shown;
  };
  const auto watch = watch_billing(others, [&](const std::string& text) {
    const std::lock_guard guard(mutex);
    shown = text;
  });
  REQUIRE(dlock::test::eventually([&] { return now() == "nobody"; }));
  const auto leads = locks.acquire("leader:billing");
  REQUIRE(dlock::test::eventually([&] { return clock.advance(1s), now() == "process 1"; }));
}

}  // namespace
