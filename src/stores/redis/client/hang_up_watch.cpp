// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/hang_up_watch.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>

namespace dlock::stores::redis {

hang_up_watch::~hang_up_watch() {
  const base::lock_guard lock(mutex_);
  if (thread_.joinable()) {
    if (process_ == ::getpid()) {
      ::eventfd_write(stop_, 1);
      thread_.join();
    } else {
      thread_.detach();  // it runs in the parent only
    }
  }
  if (events_ >= 0) ::close(events_);
  if (stop_ >= 0) ::close(stop_);
}

void hang_up_watch::begin() {
  const auto check = [](int made) {
    if (made < 0) throw std::system_error(errno, std::generic_category(), "epoll");
  };
  if (events_ < 0) check(events_ = ::epoll_create1(EPOLL_CLOEXEC));
  if (stop_ < 0) check(stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event ends{.events = EPOLLIN, .data = {.fd = -1}};
  ::epoll_ctl(events_, EPOLL_CTL_ADD, stop_, &ends);
  process_ = ::getpid();
  thread_ = std::thread([this, events = events_] { run(events); });
}

void hang_up_watch::add(int descriptor) noexcept {
  try {
    const base::lock_guard lock(mutex_);
    if (!thread_.joinable()) begin();
    if (process_ != ::getpid()) return;
    epoll_event wanted{.events = EPOLLRDHUP | EPOLLONESHOT, .data = {.fd = descriptor}};
    ::epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &wanted);
  } catch (const std::exception&) {
    // The next statement finds it.
  }
}

// A child process has the same epoll object as its parent, whose sockets are to be watched on.
void hang_up_watch::remove(int descriptor) noexcept {
  const base::lock_guard lock(mutex_);
  if (events_ >= 0 && process_ == ::getpid()) ::epoll_ctl(events_, EPOLL_CTL_DEL, descriptor, nullptr);
}

void hang_up_watch::run(int events) const noexcept {
  std::array<epoll_event, 16> found{};
  for (;;) {
    const int count = ::epoll_wait(events, found.data(), static_cast<int>(found.size()), -1);
    if (count < 0 && errno != EINTR) return;
    bool closed = false;
    for (int i = 0; i < count; ++i) {
      if (found[static_cast<std::size_t>(i)].data.fd < 0) return;
      closed = true;
    }
    if (closed) closed_();
  }
}

}  // namespace dlock::stores::redis
