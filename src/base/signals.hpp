// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>
#include <thread>
#include <utility>

namespace dlock::base {

/// While an object of this class lives, its thread and the threads that it starts get none of the application's
/// signals. They still get those that their own instructions raise, which programs report as crashes.
class no_signals {
 public:
  no_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    for (const int own : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) ::sigdelset(&all, own);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~no_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  no_signals(const no_signals&) = delete;
  no_signals& operator=(const no_signals&) = delete;

 private:
  sigset_t before_{};
};

/// Starts every thread of dlock, so that signals go to the application's threads, where their handlers expect to run or
/// where sigwait() waits for them. Throws std::system_error.
template <class Body>
std::thread start_thread(Body&& body) {
  const no_signals inherited;
  return std::thread(std::forward<Body>(body));
}

/// While an object of this class lives, no write of its thread to a broken connection raises SIGPIPE. It is for
/// libraries that write without MSG_NOSIGNAL. It costs three system calls, and nothing inside another such object.
class no_sigpipe {
 public:
  no_sigpipe() noexcept {
    if (depth_++ != 0) return;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    if (::sigismember(&before_, SIGPIPE) != 1) return;
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
  }
  ~no_sigpipe() {
    if (--depth_ != 0) return;
    const int error = errno;
    constexpr timespec now{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  no_sigpipe(const no_sigpipe&) = delete;
  no_sigpipe& operator=(const no_sigpipe&) = delete;

 private:
  static inline thread_local unsigned depth_ = 0;
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

}  // namespace dlock::base
