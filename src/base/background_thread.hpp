// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "base/signals.hpp"

namespace dlock::base {

/// The thread of an object. It starts when it is first needed and ends with the object. A child of fork() has a copy of
/// the object but no such thread, and the object's mutexes may be locked in it: the child must lock none of them, and
/// the destructor of its copy waits for no thread. Thread safety: in_child() from any thread, the other functions from
/// one at a time.
class background_thread {
 public:
  background_thread() = default;
  background_thread(const background_thread&) = delete;
  background_thread& operator=(const background_thread&) = delete;
  ~background_thread() { end(); }

  /// Whether the thread runs in a parent of this process.
  bool in_child() const noexcept {
    const auto process = process_.load();
    return process != 0 && process != ::getpid();
  }
  bool started() const noexcept { return thread_.joinable(); }
  /// Runs `body` until it returns; end() requests its stop and calls `wake`, which ends a wait of the body.
  /// Precondition: the thread was never started, or its body has ended or is about to. Throws std::system_error.
  void start(std::function<void(const std::stop_token&)> body, std::function<void()> wake) {
    if (thread_.joinable()) thread_.join();
    process_ = ::getpid();
    wake_ = std::move(wake);
    thread_ = start_thread([body = std::move(body), stop = stop_.get_token()] { body(stop); });
  }
  /// Waits until the body has ended. The thread can't be started again.
  void end() noexcept {
    if (!thread_.joinable()) return;
    if (in_child()) return thread_.detach();
    stop_.request_stop();
    wake_();
    thread_.join();
  }

 private:
  std::stop_source stop_{};
  std::function<void()> wake_{};
  std::thread thread_{};
  std::atomic<pid_t> process_{0};
};

/// An eventfd that wakes a thread from poll() or epoll_wait(). Thread safety: all functions from any thread.
class wake_event {
 public:
  /// Throws std::system_error with that text if there is no file descriptor left.
  explicit wake_event(const char* text) : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), text);
  }
  ~wake_event() { ::close(descriptor_); }
  wake_event(const wake_event&) = delete;
  wake_event& operator=(const wake_event&) = delete;

  /// Makes descriptor() readable until clear().
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
