// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/export.hpp"

namespace dlock::stores {

/// Notices that a server has closed a connection on which nothing is being read: the kernel knows that at once, and the
/// next statement only finds it. One thread, which begins with the first connection. Thread safety: all functions from
/// any thread.
class DLOCK_EXPORT hangup_watch {
 public:
  /// Throws std::system_error if there is no file descriptor left.
  hangup_watch();
  ~hangup_watch();
  hangup_watch(const hangup_watch&) = delete;
  hangup_watch& operator=(const hangup_watch&) = delete;

  /// `closed` is called once, on this object's thread, when the server has closed the connection of `socket`. It must
  /// be short, and must not call this object. The watch ends with remove(), which must come before the socket is
  /// closed. 0: it can't be watched, for want of memory or threads.
  std::uint64_t add(int socket, std::function<void()> closed) noexcept;
  /// `closed` isn't called any more once this returns. Harmless for 0, and in a child of fork().
  void remove(std::uint64_t watch) noexcept;

 private:
  struct watched {
    int socket;
    std::function<void()> closed;
  };
  void run() noexcept;

  const base::wake_event stop_{"dlock: a file descriptor for closed connections"};
  const int poll_;
  const pid_t process_;
  std::atomic<std::uint64_t> last_{0};
  base::mutex mutex_;  // held while `closed` is called, so that none is after remove()
  std::map<std::uint64_t, watched> all_ DLOCK_GUARDED_BY(mutex_){};
  base::background_thread thread_{};
};

}  // namespace dlock::stores
