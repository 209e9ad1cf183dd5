// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

namespace dlock::bench {

/// Where a client and its server run: side by side, each on a processor of its own, which must be woken for each
/// statement, or both on one, which then does one after the other. The scheduler does now the one and now the other,
/// and a pair takes up to four times as long: left to itself, what is compared would be its choices.
enum class placement { a_processor_each, one_processor };

inline const char* text_of(placement where) noexcept {
  return where == placement::one_processor ? "one processor" : "a processor each";
}

/// The process that listens on a unix socket.
inline pid_t listener(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int to = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ucred who{};
  socklen_t size = sizeof who;
  const bool connected = ::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                         ::getsockopt(to, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  ::close(to);
  if (!connected) throw std::system_error(errno, std::generic_category(), "who listens");
  return who.pid;
}

/// While it lives: for the present thread, those that it starts, and a server. A machine of one processor has one
/// placement, whichever is asked for.
class placed {
 public:
  placed(placement where, const std::string& socket) : placed(where, listener(socket)) {}
  placed(placement where, pid_t server) : server_(server) {
    if (::sched_getaffinity(0, sizeof all_, &all_) != 0) fail("which processors there are");
    int first = -1, last = -1;
    for (int i = 0; i != CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &all_)) continue;
      if (first < 0) first = i;
      last = i;
    }
    const int servers = where == placement::one_processor ? first : last;
    set(0, only(first));
    set_server(only(servers));
  }
  ~placed() {
    try {
      set(0, all_);
      set_server(all_);
    } catch (const std::exception&) {
      // It has ended.
    }
  }
  placed(const placed&) = delete;
  placed& operator=(const placed&) = delete;

 private:
  [[noreturn]] static void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

  static cpu_set_t only(int processor) noexcept {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return one;
  }
  static void set(pid_t thread, const cpu_set_t& to) {
    if (::sched_setaffinity(thread, sizeof to, &to) != 0 && errno != ESRCH) fail("a thread's processors");
  }
  void set_server(const cpu_set_t& to) const {
    for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(server_) + "/task")) {
      set(std::stoi(each.path().filename().string()), to);
    }
  }

  const pid_t server_;
  cpu_set_t all_{};
};

}  // namespace dlock::bench
