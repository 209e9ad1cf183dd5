// SPDX-License-Identifier: BSL-1.0
#include "base/background_thread.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <optional>

using dlock::base::background_thread;

namespace {

struct sleeper {
  std::atomic<unsigned> wakes{0};
  std::atomic<bool> ended{false};

  void start(background_thread& by) {
    by.start(
        [this](const std::stop_token& stop) {
          wakes.wait(0);
          ended = stop.stop_requested();
        },
        [this] {
          ++wakes;
          wakes.notify_all();
        });
  }
};

}  // namespace

TEST_CASE("background thread: its end asks the body to stop, wakes it, and waits for it", "[unit]") {
  sleeper body;
  std::optional<background_thread> thread(std::in_place);
  CHECK_FALSE(thread->started());
  body.start(*thread);
  CHECK(thread->started());
  CHECK_FALSE(thread->in_child());
  thread.reset();
  CHECK(body.wakes == 1);
  CHECK(body.ended);
}

TEST_CASE("background thread: it starts again when its body has ended", "[unit]") {
  { const background_thread never; }
  background_thread thread;
  unsigned runs = 0, wakes = 0;
  for (int i = 0; i != 2; ++i) thread.start([&](const auto&) { ++runs; }, [&] { ++wakes; });
  thread.end();
  thread.end();  // nothing any more
  CHECK(runs == 2);
  CHECK(wakes == 1);
}
