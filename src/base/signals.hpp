// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>
#include <thread>
#include <utility>

namespace dlock::base {

/// While one lives, its thread gets none of the application's signals, and neither do the threads that it starts. The
/// thread still gets what its own instructions raise, which programs report as crashes.
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

/// All threads of dlock begin here: a signal goes to a thread of the application's, where its handler expects to run or
/// where sigwait() waits for it. Throws std::system_error.
template <class Body>
std::thread start_thread(Body&& body) {
  const no_signals inherited;
  return std::thread(std::forward<Body>(body));
}

/// While one lives, nothing that its thread writes to a broken connection raises SIGPIPE, for libraries that write
/// without MSG_NOSIGNAL. It costs three system calls, and nothing inside another one.
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
