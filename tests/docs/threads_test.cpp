// SPDX-License-Identifier: BSL-1.0

// The examples of docs/threads.md. In a program of their own, because a signal belongs to the whole process.

#include <pthread.h>
#include <unistd.h>

#include <csignal>

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;
using dlock::test::granted;

std::atomic<int> steps{0};
std::atomic<int> reported{0};
bool do_a_step() {
  ++steps;
  std::this_thread::sleep_for(1ms);
  return true;
}
void report(const char*) { ++reported; }

// clang-format off
void work(dlock::lock_service& locks, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      locks.with_lock("report:hourly", {.ttl = 10s, .wait = 60s, .cancel = stop}, [&](const dlock::lease& held) {
        while (!stop.stop_requested() && do_a_step()) held.ensure_held();
      });
    } catch (const dlock::error& failed) {
      if (!stop.stop_requested()) report(failed.what());  // else it is lock_refused(cancelled), as we asked for
    }
  }
}

// [sigterm]
int serve(const std::string& url) {
  // First: threads that are made later inherit the mask, so only sigwait() gets the signals.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  dlock::lock_service locks{url};
  std::stop_source stop;
  std::jthread first([&] { work(locks, stop.get_token()); });
  std::jthread second([&] { work(locks, stop.get_token()); });

  int signal = 0;
  sigwait(&ends, &signal);  // in an ordinary thread, which may call anything
  stop.request_stop();      // calls that wait get lock_refused(cancelled); work that runs checks the token
  return 0;
}  // joins the workers, so that no lease is left; then the service ends, and has nothing to wait for
// [/sigterm]

void build_report(const std::stop_token& lost) {
  if (!lost.stop_requested()) ++steps;
}

void hand_over(dlock::lock_service& locks) {
  // [hand_over]
  std::jthread worker{[held = locks.acquire("report:daily")]() mutable {
    build_report(held.lost_token());  // a std::stop_token: stop early when the lock is lost
    held.release();
  }};
  // [/hand_over]
}

void ship(int) { ++steps; }

// Runs a task inside of another one's wait, as pools do that steal work.
struct nested_pool {
  template <class Task>
  void submit(Task task) {
    task();
  }
};

void submit(dlock::lock_service& locks, nested_pool& pool) {
  // [task]
  pool.submit([&] {
    const dlock::owner_scope here{};  // a new owner, for as long as this task runs
    locks.with_lock("order:42", {.ttl = 30s, .wait = 0s}, [&] { ship(42); });
  });
  // [/task]
}

std::unique_ptr<dlock::lock_service> open_locks(const std::string& url, const std::stop_token& stop) {
  for (;;) {
    try {
      return std::make_unique<dlock::lock_service>(url);
    } catch (const dlock::store_error& failed) {
      if (!failed.transient() || stop.stop_requested()) throw;  // a wrong password does not get right by waiting
      report(failed.what());
    }
    std::this_thread::sleep_for(1s);
  }
}
// clang-format on

}  // namespace

TEST_CASE("docs: SIGTERM ends a service whose threads hold and wait, and leaves no lock") {
  // Here as well before there is any other thread, which might get the signal.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const std::string url = "memory:sigterm";
  dlock::lock_service others{url};
  std::atomic<int> code{-1};
  {
    std::jthread program([&] { code = serve(url); });
    while (steps == 0) std::this_thread::yield();
    CHECK(others.holder("report:hourly"));
    kill(getpid(), SIGTERM);
  }
  CHECK(code == 0);
  CHECK(reported == 0);
  CHECK(others.held_keys().empty());
  CHECK(granted(others.try_acquire("report:hourly")));
}

TEST_CASE("docs: a lease that is moved to a thread ends there") {
  dlock::lock_service locks{"memory:"};
  steps = 0;
  hand_over(locks);
  CHECK(steps == 1);
  CHECK(granted(locks.try_acquire("report:daily")));
}

TEST_CASE("docs: a task with an owner of its own does not enter what the task below it holds") {
  dlock::lock_service locks{"memory:"};
  nested_pool pool;
  steps = 0;
  submit(locks, pool);
  CHECK(steps == 1);
  const auto held = locks.acquire("order:42");
  CHECK(granted(locks.try_acquire("order:42")));  // the trap: this could be another task
  CHECK_THROWS_AS(submit(locks, pool), dlock::lock_timeout);
  CHECK(steps == 1);
}

TEST_CASE("docs: what will not pass by waiting is not waited for when a service begins") {
  CHECK_THROWS_AS(open_locks("nosuch:thing", {}), std::invalid_argument);
  CHECK(open_locks("memory:", {}) != nullptr);
}
