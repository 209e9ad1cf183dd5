// SPDX-License-Identifier: BSL-1.0
#include "stores/hangup_watch.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

namespace dlock::stores {

hangup_watch::hangup_watch() : poll_(::epoll_create1(EPOLL_CLOEXEC)), process_(::getpid()) {
  epoll_event end{.events = EPOLLIN, .data = {.u64 = 0}};
  if (poll_ < 0 || ::epoll_ctl(poll_, EPOLL_CTL_ADD, stop_.descriptor(), &end) != 0) {
    const std::system_error failed(errno, std::generic_category(), "dlock: a file descriptor for closed connections");
    if (poll_ >= 0) ::close(poll_);
    throw failed;
  }
}

hangup_watch::~hangup_watch() {
  thread_.end();
  ::close(poll_);
}

std::uint64_t hangup_watch::add(int socket, std::function<void()> closed) noexcept {
  // A child shares the parent's epoll instance, and must not change it.
  if (process_ != ::getpid()) return 0;
  const auto watch = ++last_;
  try {
    const base::lock_guard lock(mutex_);
    if (!thread_.started()) thread_.start([this](const auto&) { run(); }, [this] { stop_.raise(); });
    all_.emplace(watch, watched{socket, std::move(closed)});
    // Only a close by the server is an event; incoming data is for the next statement.
    epoll_event event{.events = EPOLLRDHUP | EPOLLONESHOT, .data = {.u64 = watch}};
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &event) == 0) return watch;
    all_.erase(watch);
  } catch (const std::exception&) {
    // The next renewal notices a closed connection.
  }
  return 0;
}

void hangup_watch::remove(std::uint64_t watch) noexcept {
  if (watch == 0 || process_ != ::getpid()) return;
  const base::lock_guard lock(mutex_);
  const auto found = all_.find(watch);
  if (found == all_.end()) return;
  static_cast<void>(::epoll_ctl(poll_, EPOLL_CTL_DEL, found->second.socket, nullptr));
  all_.erase(found);
}

void hangup_watch::run() noexcept {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
    const base::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const auto watch = events.at(static_cast<std::size_t>(i)).data.u64;
      if (watch == 0) return;
      if (const auto found = all_.find(watch); found != all_.end()) found->second.closed();
    }
  }
}

}  // namespace dlock::stores
