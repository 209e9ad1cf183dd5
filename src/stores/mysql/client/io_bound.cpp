// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/io_bound.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace dlock::stores::mysql {

namespace {

// The library's hook gets only the socket, so a bound belongs to its thread.
thread_local const mysql_io_bound* present = nullptr;

}  // namespace

mysql_io_bound::mysql_io_bound(clock::time_point end, std::stop_token cancel)
    : end_(end), outer_(present), on_cancel_(std::move(cancel), signal{wake_}) {
  present = this;
}

mysql_io_bound::~mysql_io_bound() { present = outer_; }

bool mysql_io_bound::over() noexcept {
  const auto* const bound = present;
  if (bound == nullptr) return false;
  pollfd cancelled{bound->wake_.descriptor(), POLLIN, 0};
  return clock::now() >= bound->end_ || ::poll(&cancelled, 1, 0) > 0;
}

int mysql_io_bound::wait(int socket, bool to_read, int timeout_ms) noexcept {
  using namespace std::chrono;
  const auto* const bound = present;
  // The library opens the socket without it. The hook sees it first, before TLS and the login.
  if (bound != nullptr) ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  auto now = clock::now();
  const auto own_end = timeout_ms > 0 ? now + milliseconds{timeout_ms} : clock::time_point::max();
  const auto end = bound != nullptr ? std::min(own_end, bound->end_) : own_end;
  std::array<pollfd, 2> watched{{{socket, static_cast<short>(to_read ? POLLIN : POLLOUT), 0},
                                 {bound != nullptr ? bound->wake_.descriptor() : -1, POLLIN, 0}}};
  for (;; now = clock::now()) {
    int remaining = -1;
    if (end != clock::time_point::max()) {
      remaining = static_cast<int>(std::max<milliseconds::rep>(0, ceil<milliseconds>(end - now).count()));
    }
    const int ready = ::poll(watched.data(), bound != nullptr ? 2 : 1, remaining);
    if (ready < 0 && errno == EINTR) continue;
    if (ready > 0 && watched[0].revents == 0) {
      errno = ECANCELED;
      return 0;
    }
    if (ready == 0) errno = ETIMEDOUT;
    return ready;
  }
}

#if defined(MARIADB_PACKAGE_VERSION_ID) && MARIADB_PACKAGE_VERSION_ID >= 30100
void mysql_io_bound::apply(MYSQL* handle) noexcept {
  static constexpr auto hook = +[](my_socket socket, my_bool to_read, int timeout_ms) -> int {
    return wait(static_cast<int>(socket), to_read != 0, timeout_ms);
  };
  mysql_optionsv(handle, MARIADB_OPT_IO_WAIT, hook);
}
bool mysql_io_bound::works() noexcept { return true; }
#else
void mysql_io_bound::apply(MYSQL*) noexcept {}
bool mysql_io_bound::works() noexcept { return false; }
#endif

}  // namespace dlock::stores::mysql
