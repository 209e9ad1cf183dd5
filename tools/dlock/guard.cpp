// SPDX-License-Identifier: BSL-1.0
#include "guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

#include "dlock/store_interface/clock.hpp"
#include "process_tree.hpp"

namespace dlock::command {

namespace {

using namespace std::chrono_literals;

/// What dlock says to the guard: a byte, and a number or a text behind it.
enum class word : char { variable = 'v', start = 's', pass_on = 'p', end = 'e' };

[[noreturn]] void fail(const char* doing) { throw std::system_error(errno, std::generic_category(), doing); }

std::chrono::microseconds now() noexcept { return boot_clock::now().time_since_epoch(); }

/// Exit code of a guard that failed. No process reads its messages.
constexpr int guard_failed = 70;

}  // namespace

/// The guard, in its own process: one thread, no lock, no connection.
class watcher {
 public:
  watcher(int socket, const guard::plan& what, guard::shared_state& shared) noexcept
      : socket_(socket), what_(what), shared_(shared) {
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    children_ = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    ::signal(SIGPIPE, SIG_IGN);
  }

  [[noreturn]] void run() {
    for (;;) {
      wait();
      if (!hear()) end_by_parent();
      reap();
      if (command_ > 0 && ending_ == clock::time_point::max() && now() >= trusted()) {
        late_ = true;
        begin_to_end();
      }
      if (command_ > 0 && clock::now() >= ending_) kill_all();
      if (command_ > 0 && over_) tell_end();
    }
  }

 private:
  using clock = std::chrono::steady_clock;

  std::chrono::microseconds trusted() const noexcept {
    return std::chrono::microseconds{shared_.trusted_us.load(std::memory_order_relaxed)};
  }

  /// Until something comes, or the end of trust, or the time for SIGKILL.
  void wait() const {
    int limit = -1;
    if (command_ > 0) {
      auto left = trusted() - now();
      if (ending_ != clock::time_point::max()) {
        left = std::chrono::duration_cast<std::chrono::microseconds>(ending_ - clock::now());
      }
      // Trust grows while we wait, so no longer than is certain.
      limit = static_cast<int>(std::clamp<std::int64_t>(left.count() / 1000 + 1, 1, 60'000));
    }
    pollfd both[2] = {{socket_, POLLIN, 0}, {children_, POLLIN, 0}};
    ::poll(both, 2, limit);
    signalfd_siginfo ignored;
    while (::read(children_, &ignored, sizeof ignored) > 0) {
    }
  }

  /// False: dlock is gone.
  bool hear() {
    for (;;) {
      char text[65536];
      const auto size = ::recv(socket_, text, sizeof text, MSG_DONTWAIT);
      if (size == 0) return false;
      if (size < 0) return errno == EAGAIN || errno == EINTR;
      const std::string_view rest(text + 1, static_cast<std::size_t>(size) - 1);
      switch (static_cast<word>(text[0])) {
        case word::variable: {
          const auto equals = rest.find('=');
          const std::string name(rest.substr(0, equals)), value(rest.substr(equals + 1));
          // One of an outer dlock run, which says nothing of this lock.
          value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
          break;
        }
        case word::start: start(); break;
        case word::pass_on:
          if (command_ > 0 && !over_) ::kill(command_, std::atoi(std::string(rest).c_str()));
          break;
        case word::end:
          if (ending_ == clock::time_point::max()) begin_to_end();
          break;
      }
    }
  }

  void start() {
    std::vector<char*> words;
    for (const auto& each : what_.command) words.push_back(const_cast<char*>(each.c_str()));
    words.push_back(nullptr);
    const pid_t here = ::getpid();
    volatile int why = 0;
    // The child borrows this memory until it is the command: a copy of it would cost more than all else here.
    const pid_t child = ::vfork();
    if (child == 0) {
      if (what_.own_group) ::setpgid(0, 0);
      // If the guard is killed, the command goes with it; what that has started is killed by dlock.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != here) ::_exit(guard_failed);
      // A client library ignores it from the start of the process on; programs in pipes end by it.
      ::signal(SIGPIPE, SIG_DFL);
      ::sigprocmask(SIG_SETMASK, &what_.signals, nullptr);
      ::execvp(words[0], words.data());
      why = errno;
      ::_exit(127);
    }
    if (child < 0) why = errno;
    if (child > 0 && why != 0) ::waitpid(child, nullptr, 0);
    if (why != 0) return tell({guard::report::kind::not_started, why, false});
    command_ = child;
    tell({guard::report::kind::started, child, false});
  }

  /// False: there are no children. Then there are no descendants, because the orphans of a subreaper become its
  /// children.
  bool reap() {
    int how = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &how, WNOHANG)) > 0) {
      if (ended != command_ || over_) continue;
      status_ = how;
      over_ = true;
    }
    return ended == 0;
  }

  void begin_to_end() {
    ending_ = clock::now() + what_.kill_after;
    signal_descendants(SIGTERM, over_ ? 0 : command_);
  }

  void kill_all() {
    kill_descendants(over_ ? -1 : command_, status_);
    over_ = true;
  }

  /// The command has exited. What it has left behind would run without the lock.
  void tell_end() {
    const bool ends = ending_ != clock::time_point::max();
    if (ends || !what_.leave_children) {
      if (!ends && reap()) begin_to_end();
      while (clock::now() < ending_ && ending_ != clock::time_point::max() && reap()) wait();
      kill_descendants(-1, status_);
    }
    tell({guard::report::kind::ended, status_, late_});
    ::_exit(0);
  }

  /// dlock was killed, so the lock ends by itself: nothing may be left by then.
  [[noreturn]] void end_by_parent() {
    if (command_ > 0) {
      reap();
      if (ending_ == clock::time_point::max()) begin_to_end();
      // No longer than the lock is certain.
      const auto certain = clock::now() + std::max(trusted() - now(), std::chrono::microseconds{0});
      ending_ = std::min(ending_, std::max(certain, clock::now()));
      while (clock::now() < ending_ && reap()) {
        pollfd children{children_, POLLIN, 0};
        ::poll(&children, 1, 20);
      }
      kill_all();
    }
    ::_exit(0);
  }

  void tell(const guard::report& what) const noexcept {
    static_cast<void>(!::send(socket_, &what, sizeof what, MSG_NOSIGNAL));
  }

  const int socket_;
  const guard::plan& what_;
  guard::shared_state& shared_;
  int children_ = -1;
  pid_t command_ = 0;
  bool over_ = false;
  bool late_ = false;
  int status_ = 0;
  clock::time_point ending_ = clock::time_point::max();  // SIGKILL then
};

void guard::watch(int socket, pid_t parent, const plan& what, shared_state& shared) {
  ::prctl(PR_SET_NAME, "dlock-guard");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // What a terminal sends to all of its group is for the command. dlock's mask, with all these blocked, is ours.
  if (::getppid() != parent) ::_exit(0);
  try {
    watcher(socket, what, shared).run();
  } catch (...) {
    int ignored = 0;
    kill_descendants(-1, ignored);
    ::_exit(guard_failed);
  }
}

guard::guard(plan what) {
  void* const memory = ::mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("making the guard's memory");
  shared_ = new (memory) shared_state;
  // If the guard is killed, what it has started becomes ours.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("making the guard's socket");
  const pid_t here = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("starting the guard");
  if (pid_ == 0) {
    ::close(ends[0]);
    watch(ends[1], here, what, *shared_);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

guard::~guard() {
  if (socket_ >= 0) {
    ::close(socket_);  // it ends the command, and itself
    ::waitpid(pid_, nullptr, 0);
  }
  ::munmap(shared_, sizeof(shared_state));
}

namespace {

void say(int socket, word what, const std::string& rest = {}) noexcept {
  std::string text(1, static_cast<char>(what));
  text += rest;
  static_cast<void>(!::send(socket, text.data(), text.size(), MSG_NOSIGNAL));
}

}  // namespace

void guard::start(const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) say(socket_, word::variable, name + "=" + value);
  say(socket_, word::start);
}

void guard::pass_on(int signal) noexcept { say(socket_, word::pass_on, std::to_string(signal)); }
void guard::end_command() noexcept { say(socket_, word::end); }

guard::report guard::next() {
  report what;
  for (;;) {
    const auto size = ::recv(socket_, &what, sizeof what, 0);
    if (size == sizeof what) return what;
    if (size < 0 && errno == EINTR) continue;
    // Killed: what it has started is ours now.
    int ignored = 0;
    kill_descendants(-1, ignored);
    ::close(socket_);
    socket_ = -1;
    return {report::kind::guard_killed, 0, false};
  }
}

}  // namespace dlock::command
