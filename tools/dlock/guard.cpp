// SPDX-License-Identifier: BSL-1.0
#include "guard.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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

/// A message of dlock to the guard: a byte, followed by a number or a text.
enum class word : char { variable = 'v', start = 's', pass_on = 'p', end = 'e' };

[[noreturn]] void fail(const char* doing) { throw std::system_error(errno, std::generic_category(), doing); }

std::chrono::microseconds now() noexcept { return boot_clock::now().time_since_epoch(); }

/// A variable is at most as long as an argument of dlock, which has at most 128 KiB.
constexpr std::size_t longest_message = 160 * 1024;

/// The exit code of a guard that failed. No process reads its messages.
constexpr int guard_failed = 70;

}  // namespace

/// The guard's process: one thread, no lock, no connection.
class watcher {
 public:
  watcher(int socket, const guard::plan& what, guard::shared_state& shared)
      : socket_(socket), what_(what), shared_(shared) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    children_ = ::signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (children_ < 0) fail("making the guard's signalfd");
    // A terminal's Ctrl-Z stops the command and dlock. The guard must still end the command in time.
    for (const int each : {SIGTSTP, SIGTTIN, SIGTTOU}) sigaddset(&blocked, each);
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }

  [[noreturn]] void run() {
    for (;;) {
      wait();
      if (!orphaned_ && !hear()) orphaned_ = true;
      const bool children = reap();
      if (command_ == 0) {
        if (orphaned_) ::_exit(0);
        continue;
      }
      // Processes that the command leaves behind would run without the lock.
      const bool leaves = over_ && children && !what_.leave_children;
      const bool untrusted = now() >= trusted();
      if (!ending() && (orphaned_ || untrusted || leaves)) {
        late_ = untrusted;
        begin_to_end();
      }
      if (over_ && (!children || !ending())) finish(false);
      if (ending() && now() >= ending_) finish(!kill_all());
    }
  }

 private:
  std::chrono::microseconds trusted() const noexcept {
    return std::chrono::microseconds{shared_.trusted_us.load(std::memory_order_relaxed)};
  }
  bool ending() const noexcept { return ending_ != never; }

  /// Waits until a message comes, or the lock is not certain any more, or the time for SIGKILL.
  void wait() const {
    int limit = -1;
    if (command_ > 0) {
      const auto left = (ending() ? ending_ : trusted()) - now();
      // dlock may extend the time meanwhile, so this waits no longer than the present one. It waits no longer than a
      // second, because poll() does not count the time in which the machine is suspended.
      limit = static_cast<int>(std::clamp<std::int64_t>(left.count() / 1000 + 1, 1, 1'000));
    }
    pollfd both[2] = {{orphaned_ ? -1 : socket_, POLLIN, 0}, {children_, POLLIN, 0}};
    ::poll(both, 2, limit);
    signalfd_siginfo ignored;
    while (::read(children_, &ignored, sizeof ignored) > 0) {
    }
  }

  /// Returns false if dlock is gone.
  bool hear() {
    for (;;) {
      char text[longest_message];
      const auto size = ::recv(socket_, text, sizeof text, MSG_DONTWAIT);
      if (size == 0) return false;
      if (size < 0) return errno == EAGAIN || errno == EINTR;
      const std::string_view rest(text + 1, static_cast<std::size_t>(size) - 1);
      switch (static_cast<word>(text[0])) {
        case word::variable: {
          const auto equals = rest.find('=');
          const std::string name(rest.substr(0, equals)), value(rest.substr(equals + 1));
          // A variable of an outer dlock run, which is not about this lock.
          if ((value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1)) != 0) {
            fail("setting a variable of the command");
          }
          break;
        }
        case word::start: start(); break;
        case word::pass_on: pass_on(std::atoi(std::string(rest).c_str())); break;
        case word::end:
          if (!ending()) begin_to_end();
          break;
      }
    }
  }

  void pass_on(int signal) const noexcept {
    if (command_ > 0 && !over_ && ::kill(command_, signal) != 0 && errno == EPERM) {
      tell({.what = guard::report::kind::not_reached, .value = signal});
    }
  }

  void start() {
    std::vector<char*> words;
    for (const auto& each : what_.command) words.push_back(const_cast<char*>(each.c_str()));
    words.push_back(nullptr);
    const pid_t here = ::getpid();
    volatile int why = 0;
    // The child uses this memory until it executes the command, because a copy would cost more than everything else
    // here.
    const pid_t child = ::vfork();
    if (child == 0) {
      if (what_.own_group) ::setpgid(0, 0);
      // If the guard is killed, the command is killed too; dlock kills the processes that it has started.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != here) ::_exit(guard_failed);
      // A client library ignores SIGPIPE from the start of the process, but programs in pipes end by it.
      ::signal(SIGPIPE, SIG_DFL);
      ::sigprocmask(SIG_SETMASK, &what_.signals, nullptr);
      ::execvp(words[0], words.data());
      why = errno;
      ::_exit(127);
    }
    if (child < 0) why = errno;
    if (child > 0 && why != 0) ::waitpid(child, nullptr, 0);
    if (why != 0) return tell({.what = guard::report::kind::not_started, .value = why});
    command_ = child;
    tell({.what = guard::report::kind::started, .value = child});
  }

  /// Returns false if there are no children. Then there are no descendants either, because the orphans of a subreaper
  /// become its children.
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
    // All processes may have been stopped since the lock was certain. Then no time is left.
    ending_ = std::min(now(), trusted()) + what_.kill_after;
    if (!signal_descendants(SIGTERM, over_ ? 0 : command_)) {
      tell({.what = guard::report::kind::not_reached, .value = SIGTERM});
    }
  }

  /// Returns false if some are left.
  bool kill_all() {
    pid_t keep = over_ ? 0 : command_;
    const bool none_left = kill_descendants(keep, status_);
    over_ = keep == 0;
    return none_left;
  }

  [[noreturn]] void finish(bool left) const {
    if (left && orphaned_) {  // dlock is gone and can't report it
      std::fputs(fmt::format("dlock: dlock was killed, and its guard could not end: {}\n",
                             names_of(descendants_of(::getpid())))
                     .c_str(),
                 stderr);
    }
    tell({.what = guard::report::kind::ended, .value = status_, .late = late_, .left = left, .command_left = !over_});
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
  bool orphaned_ = false;  // dlock is gone
  static constexpr auto never = std::chrono::microseconds::max();
  std::chrono::microseconds ending_ = never;  // when to send SIGKILL, by boot_clock
};

void guard::watch(int socket, pid_t parent, const plan& what, shared_state& shared) {
  ::prctl(PR_SET_NAME, "dlock-guard");
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) ::_exit(guard_failed);
  // Signals of a terminal to the whole group are for the command. The guard has dlock's mask, in which all these are
  // blocked.
  if (::getppid() != parent) ::_exit(0);
  try {
    watcher(socket, what, shared).run();
  } catch (...) {
    pid_t none = 0;
    int ignored = 0;
    kill_descendants(none, ignored);
    ::_exit(guard_failed);
  }
}

guard::guard(plan what) {
  void* const memory = ::mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("making the guard's memory");
  shared_ = new (memory) shared_state;
  // If the guard is killed, the processes that it has started become dlock's children.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail("becoming a subreaper");
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
    ::kill(pid_, SIGCONT);
    ::waitpid(pid_, nullptr, 0);
  }
  ::munmap(shared_, sizeof(shared_state));
}

namespace {

/// Returns false if the message could not be sent although the guard lives.
bool say(int socket, word what, const std::string& rest = {}) noexcept {
  std::string text(1, static_cast<char>(what));
  text += rest;
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) >= 0 || errno == EPIPE || errno == ECONNRESET;
}

}  // namespace

void guard::start(const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) {
    if (!say(socket_, word::variable, name + "=" + value)) fail(("passing on the variable " + name).c_str());
  }
  if (!say(socket_, word::start)) fail("starting the command");
}

void guard::pass_on(int signal) noexcept { say(socket_, word::pass_on, std::to_string(signal)); }
void guard::end_command() noexcept {
  ::kill(pid_, SIGCONT);  // a stopped guard must not let the command run on
  say(socket_, word::end);
}

guard::report guard::next() {
  report what;
  for (;;) {
    const auto size = ::recv(socket_, &what, sizeof what, 0);
    if (size == sizeof what && what.what != report::kind::ended) return what;
    if (size == sizeof what) {
      // When it is gone, the processes that it leaves are below dlock.
      ::waitpid(pid_, nullptr, 0);
      ::close(socket_);
      socket_ = -1;
      return what;
    }
    // ECONNRESET: the guard has ended without reading all messages of dlock. Its earlier reports can still be read.
    if (size < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    // It was killed, so the processes that it has started are dlock's now.
    pid_t none = 0;
    int ignored = 0;
    what = {.what = report::kind::guard_killed, .left = !kill_descendants(none, ignored)};
    ::close(socket_);
    socket_ = -1;
    return what;
  }
}

}  // namespace dlock::command
