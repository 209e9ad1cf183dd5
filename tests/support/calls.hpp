// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What came of a call.

#include <chrono>
#include <concepts>
#include <stdexcept>
#include <string>
#include <system_error>

#include "dlock/error.hpp"

namespace dlock::test {

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

}  // namespace dlock::test
