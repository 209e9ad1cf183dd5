// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>

#include "base/late_object.hpp"
#include "engine/operations/operation.hpp"

namespace dlock::engine {

/// A part of an operation: gets a pin on the session of a ttl class, and opens that session if need be.
class session_request final : private opening_waiter {
 public:
  session_request(engine_services& services, waker& woken) : services_(services), woken_(woken) {}
  session_request(const session_request&) = delete;
  session_request& operator=(const session_request&) = delete;
  ~session_request() { abandon(); }

  /// Finished at once if the session is there. It waits until `until` for another operation that opens it.
  action start(microseconds ttl, instant until, instant now);
  action resume(instant now);
  void abandon() noexcept;

  /// Finished: the pin; empty: see why().
  session_pin take_pin() noexcept { return std::move(pin_); }
  const fault& why() const noexcept { return why_; }

 private:
  void wake() noexcept override { woken_.wake(); }
  action find(instant now);

  engine_services& services_;
  waker& woken_;
  microseconds ttl_{0};
  instant until_{};
  bool waits_ = false;
  session_opening opening_{};
  session_pin pin_{};
  fault why_{};
  base::late_object<statement> statement_;  // that opens a session
  std::array<statement*, 1> sent_{};
};

}  // namespace dlock::engine
