// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>

#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// Where the threads of a service come from. A time source that is one as well makes them itself, as a simulation does,
/// in which they are no threads. Those of all other time sources are threads of the system.
class thread_host {
 public:
  /// Starts a detached thread that runs `body`. Throws std::system_error.
  virtual void start(std::function<void()> body) = 0;
  /// The clock by which callers wait for the end of the threads. It is used for as long as one of them runs.
  virtual time_source& join_clock() noexcept = 0;

 protected:
  ~thread_host() = default;
};

thread_host& host_of(time_source& time) noexcept;

}  // namespace dlock::engine
