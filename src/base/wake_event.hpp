// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace dlock::base {

/// An eventfd, by which a thread wakes another one from poll() or epoll_wait(). Thread safety: all functions from any
/// thread.
class wake_event {
 public:
  /// Throws std::system_error with that text if there is no file descriptor left.
  explicit wake_event(const char* text) : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), text);
  }
  ~wake_event() { ::close(descriptor_); }
  wake_event(const wake_event&) = delete;
  wake_event& operator=(const wake_event&) = delete;

  /// descriptor() can be read from now on, until clear().
  void raise() const noexcept { static_cast<void>(::eventfd_write(descriptor_, 1)); }
  void clear() const noexcept {
    eventfd_t raised = 0;
    static_cast<void>(::eventfd_read(descriptor_, &raised));
  }
  int descriptor() const noexcept { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace dlock::base
