// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What came of a call, and what comes to hold.

#include <algorithm>
#include <chrono>
#include <concepts>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "dlock/error.hpp"
#include "dlock/lease.hpp"

namespace dlock::test {

/// Whether a call gave a lease, a multi_lease or a locked_row, which is released at once. Code that isn't a test names
/// the lease.
template <class Held>
bool granted(const Held& held) {
  return static_cast<bool>(held);
}

/// The code of the std::system_error that it threw, as dlock::error is one; none if it did not. A lease that it
/// returned is let go.
template <class F>
std::error_code thrown(F&& call) {
  try {
    static_cast<void>(call());
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

/// The text of the dlock::error that it threw; empty if it did not.
template <class F>
std::string message_of(F&& call) {
  try {
    static_cast<void>(call());
  } catch (const error& e) {
    return e.what();
  }
  return {};
}

/// The exception of that type which it threw. If it did not, that is an error of the test.
template <class Thrown, class F>
Thrown caught(F&& call) {
  try {
    static_cast<void>(call());
  } catch (const Thrown& e) {
    return e;
  }
  throw std::runtime_error("the call threw nothing");
}

/// What a call is refused with; empty: it was not.
template <std::invocable F>
std::string refusal(F&& call) {
  try {
    static_cast<void>(call());
  } catch (const std::logic_error& e) {  // std::invalid_argument too
    return e.what();
  }
  return {};
}

/// How long it took, on the machine's clock.
template <class F>
std::chrono::milliseconds duration_of(F&& call) {
  const auto begun = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
}

/// What the call takes where the machine does not stall: the least of up to `rounds` times, until one is below the
/// limit.
template <class F>
std::chrono::milliseconds undisturbed(std::chrono::milliseconds limit, F&& call, int rounds = 5) {
  auto least = duration_of(call);
  for (int i = 1; i < rounds && least >= limit; ++i) least = std::min(least, duration_of(call));
  return least;
}

/// Whether `ready` comes to hold. Asks again and again, for what other threads do in their own time; the limit is
/// only there to end a failing test.
template <class F>
[[nodiscard]] bool eventually(F&& ready, std::chrono::milliseconds limit = std::chrono::seconds{20}) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!ready()) {
    if (std::chrono::steady_clock::now() >= end) return static_cast<bool>(ready());
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  return true;
}

/// Whether the lease is renewed from now on, however long that takes: what is left of it grows by nothing else. Twice,
/// because the answer to the first renewal may have been under way before.
[[nodiscard]] inline bool renewed(const lease& held) {
  auto left = held.remaining();
  const auto grows = [&] {
    const auto now = held.remaining();
    return now > std::exchange(left, now);
  };
  return eventually(grows) && eventually(grows);
}

/// Plays a scene with longer and longer times until it succeeds: a machine that stalls fails short ones, a broken
/// library all. `scene(slower)` has its times multiplied by that; an error of the library's is a failure, too.
template <class Scene>
[[nodiscard]] bool at_some_pace(Scene scene) {
  for (const int slower : {1, 5, 15}) {
    try {
      if (scene(slower)) return true;
    } catch (const dlock::error&) {
      // It was too slow for it.
    }
  }
  return false;
}

/// Calls `body` on so many threads at the same time, each with its number, and waits for their end.
template <class F>
void on_threads(int count, F body) {
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i) all.emplace_back([&body, i] { body(i); });
  for (auto& each : all) each.join();
}

}  // namespace dlock::test
