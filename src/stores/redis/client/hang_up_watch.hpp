// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <thread>

#include "base/mutex.hpp"

namespace dlock::stores::redis {

/// Sees at once when a server closes an idle connection, which otherwise the next statement on it would find. Its thread begins
/// with the first connection and ends with the object. Thread-safe.
class hang_up_watch {
 public:
  /// `closed`: called on the watch's thread. It may only signal.
  explicit hang_up_watch(std::function<void()> closed) : closed_(std::move(closed)) {}
  hang_up_watch(const hang_up_watch&) = delete;
  hang_up_watch& operator=(const hang_up_watch&) = delete;
  ~hang_up_watch();

  /// Watches that socket until remove(), or until the server has closed it once. Without memory or threads it does nothing.
  void add(int descriptor) noexcept;
  /// Before the socket is closed.
  void remove(int descriptor) noexcept;

 private:
  void begin() DLOCK_REQUIRES(mutex_);
  void run(int events) const noexcept;

  const std::function<void()> closed_;
  base::mutex mutex_;
  int events_ DLOCK_GUARDED_BY(mutex_) = -1;
  int stop_ DLOCK_GUARDED_BY(mutex_) = -1;
  std::thread thread_ DLOCK_GUARDED_BY(mutex_){};
  pid_t process_ DLOCK_GUARDED_BY(mutex_) = 0;  // which has the thread
};

}  // namespace dlock::stores::redis
