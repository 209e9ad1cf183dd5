// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The client's clock, and the threads of a service. Only differences of the clock's times are used, and none is
/// compared with a server's clock.

#include "dlock/detail/cxx20.hpp"
//
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// Monotonic time that goes on while the machine sleeps (CLOCK_BOOTTIME on Linux, else steady_clock).
/// std::chrono::steady_clock stands still in a suspended laptop or virtual machine; a lease would not.
struct boot_clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

using instant = boot_clock::time_point;

/// A clock, and how threads wait by it.
/// Thread safety: all functions may be called from any thread.
class time_source {
 public:
  virtual ~time_source() = default;
  virtual instant now() const noexcept = 0;
  /// Waits on `wake` until notified or until `until`; may wake spuriously.
  /// Precondition: `lock` is held on entry; it is held on return, too.
  /// Cost: allocates nothing.
  virtual void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) = 0;
  /// Wakes all threads that wait on `wake`.
  /// Precondition: what they wait for was changed, and the mutex that they wait with is held.
  virtual void notify(std::condition_variable& wake) noexcept { wake.notify_all(); }
};

/// The clock and the threads of a service. Only tests replace it, by a clock that the test
/// moves (stores/memory.hpp: virtual_clock) or by simulated threads.
/// Thread safety: all functions may be called from any thread.
class DLOCK_EXPORT environment : public time_source {
 public:
  /// Whether time passes. If false, it stands still until the program moves it, so a process does not pause
  /// to leave a key to other processes.
  virtual bool runs_by_itself() const noexcept { return true; }

  /// Starts a detached thread that runs `body`.
  /// Errors: std::system_error.
  virtual void start_thread(std::function<void()> body);
  /// The clock by which callers wait for the end of these threads. It is used for as long as one of them runs, also
  /// after the end of the service. Default: system_time().
  virtual time_source& join_clock() noexcept;

  /// A thread that works for a service in the background.
  enum class worker {
    hired,   ///< it is about to be started
    begins,  ///< reported by the thread itself
    ends,    ///< reported by the thread as its last act, or by the caller that could not start it
  };
  virtual void on_thread_event(worker) noexcept {}
};

/// The real clock, and real threads; it is never destroyed.
DLOCK_EXPORT environment& system_time() noexcept;

}  // namespace dlock
