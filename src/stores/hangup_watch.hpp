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

/// Notices at once that a server has closed an idle connection, which otherwise only the next statement would. It has
/// one thread, which starts with the first connection. Thread safety: all functions from any thread.
class DLOCK_EXPORT hangup_watch {
 public:
  /// Throws std::system_error if there is no file descriptor left.
  hangup_watch();
  ~hangup_watch();
  hangup_watch(const hangup_watch&) = delete;
  hangup_watch& operator=(const hangup_watch&) = delete;

  /// Calls `closed` once, on this object's thread, when the server has closed the connection of `socket`. `closed` must
  /// be short, and must not call this object. remove() ends the watch, and must come before the socket is closed.
  /// Returns 0 if memory or threads ran out.
  std::uint64_t add(int socket, std::function<void()> closed) noexcept;
  /// No call of `closed` follows after this returns. Does nothing for 0, and in a child of fork().
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
  base::mutex mutex_;  // locked while `closed` runs, so that no call follows after remove()
  std::map<std::uint64_t, watched> all_ DLOCK_GUARDED_BY(mutex_){};
  base::background_thread thread_{};
};

}  // namespace dlock::stores
