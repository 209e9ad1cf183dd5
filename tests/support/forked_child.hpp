// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace dlock::test {

/// A forked process that writes numbers to us. It ends with this object.
class forked_child {
 public:
  /// `body` gets a function that sends a number; it must not touch the test framework's assertions.
  template <class Body>
  explicit forked_child(Body body) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      try {
        body([&](std::uint64_t number) {
          if (::write(ends[1], &number, sizeof number) != sizeof number) ::_exit(3);
        });
      } catch (...) {
        ::_exit(2);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~forked_child() {
    kill();
    ::close(from_);
  }
  forked_child(const forked_child&) = delete;
  forked_child& operator=(const forked_child&) = delete;

  /// The next number; false at the end.
  bool read(std::uint64_t& number) { return ::read(from_, &number, sizeof number) == sizeof number; }
  /// It runs no more, and does not end.
  void stop() const { ::kill(pid_, SIGSTOP); }
  /// kill -9. False: it had ended by itself.
  bool kill() {
    if (pid_ <= 0) return false;
    ::kill(pid_, SIGKILL);
    return wait() == -1;
  }
  /// Its exit status; -1 if it was killed.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

/// Runs in a child, which ends without running anything else: what() says 0 for all well. The answer to the parent is
/// that, or -1 if the child died.
template <class What>
int in_child(What what) {
  forked_child child([&](auto) {
    ::alarm(20);
    ::_exit(what());
  });
  return child.wait();
}

}  // namespace dlock::test
