// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace dlock::stores::redis {

namespace {

using clock = stream_socket::clock;
using std::chrono::milliseconds;

/// How soon a cancellation is noticed while connecting.
constexpr milliseconds glance{20};

std::string text_of(int error) { return std::generic_category().message(error); }

int remaining_ms(clock::time_point until) noexcept {
  const auto remaining = std::chrono::ceil<milliseconds>(until - clock::now()).count();
  return static_cast<int>(std::clamp<long long>(remaining, 0, 3'600'000));
}

/// Whether one of `events` came in time.
bool wait(int descriptor, short events, clock::time_point until) noexcept {
  for (;;) {
    pollfd at{descriptor, events, 0};
    const int found = ::poll(&at, 1, remaining_ms(until));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
    if (clock::now() >= until) return false;
  }
}

}  // namespace

stream_socket& stream_socket::operator=(stream_socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(blocks_, other.blocks_);
  std::swap(receive_ms_, other.receive_ms_);
  std::swap(closed_, other.closed_);
  std::swap(tls_, other.tls_);
  return *this;
}

stream_socket::~stream_socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool stream_socket::wait(short events, clock::time_point until, const std::stop_token& cancel) const {
  for (;;) {
    if (cancel.stop_requested()) throw std::runtime_error("cancelled");
    if (redis::wait(descriptor_, events, std::min(until, clock::now() + glance))) return true;
    if (clock::now() >= until) return false;
  }
}

std::vector<stream_socket::peer> stream_socket::look_up(const std::string& host, unsigned port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); error != 0) {
    throw std::runtime_error(std::string("unknown host: ") + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  std::vector<peer> addresses;
  for (const auto* each = found; each != nullptr; each = each->ai_next) {
    auto& to = addresses.emplace_back();
    to.size = each->ai_addrlen;
    std::memcpy(&to.name, each->ai_addr, each->ai_addrlen);
  }
  if (addresses.empty()) throw std::runtime_error("unknown host");
  return addresses;
}

stream_socket::peer stream_socket::at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the socket's path is too long");
  path.copy(address.sun_path, path.size());
  peer found{.size = sizeof address};
  std::memcpy(&found.name, &address, sizeof address);
  return found;
}

stream_socket stream_socket::begin(const peer& to) {
  stream_socket made(::socket(to.name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.descriptor_ < 0) throw std::runtime_error("no socket: " + text_of(errno));
  if (to.name.ss_family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(made.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(made.descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  if (::connect(made.descriptor_, reinterpret_cast<const sockaddr*>(&to.name), to.size) != 0 && errno != EINPROGRESS) {
    throw std::runtime_error("cannot connect: " + text_of(errno));
  }
  return made;
}

short stream_socket::go_on(const tls_settings& tls, const std::string& host) {
  if (tls_ == nullptr) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) throw std::runtime_error("cannot connect: " + text_of(error));
    if (tls.mode == tls_mode::off) return 0;
    tls_ = std::make_unique<tls_session>(tls, host, descriptor_);
  }
  switch (tls_->shake_hands()) {
    case tls_session::result::done: return 0;
    case tls_session::result::more_to_read: return POLLIN;
    case tls_session::result::more_to_write: return POLLOUT;
    case tls_session::result::broken: break;
  }
  const auto& problem = tls_->problem();
  if (problem.lasts) throw lasting_problem(problem.text);
  throw std::runtime_error(problem.text);
}

stream_socket stream_socket::connect(const std::vector<peer>& all, const tls_settings& tls, const std::string& host,
                                     clock::time_point until, const std::stop_token& cancel) {
  std::exception_ptr why;
  auto remaining = static_cast<long>(all.size());
  for (const auto& each : all) {
    const auto now = clock::now();
    const auto end = now + (until - now) / remaining--;
    try {
      auto made = begin(each);
      for (short events = POLLOUT; events != 0; events = made.go_on(tls, host)) {
        if (made.wait(events, end, cancel)) continue;
        throw std::runtime_error(made.tls_ == nullptr
                                     ? "no answer in time"
                                     : "tls: no answer in time; does the server speak TLS on this port?");
      }
      made.blocks_ = made.tls_ == nullptr &&
                     ::fcntl(made.descriptor_, F_SETFL, ::fcntl(made.descriptor_, F_GETFL) & ~O_NONBLOCK) == 0;
      return made;
    } catch (const std::runtime_error&) {
      why = std::current_exception();
    }
  }
  std::rethrow_exception(why);
}

bool stream_socket::send(std::string_view text, clock::time_point until) noexcept {
  while (!text.empty()) {
    std::size_t sent = 0;
    short events = POLLOUT;
    if (tls_ != nullptr) {
      const auto found = tls_->write(text.data(), text.size(), sent);
      if (found == tls_session::result::broken) return false;
      if (found == tls_session::result::more_to_read) events = POLLIN;
    } else if (const auto some = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT); some > 0) {
      sent = static_cast<std::size_t>(some);
    } else if (errno == EINTR) {
      continue;
    } else if (errno != EAGAIN) {
      return false;
    }
    text.remove_prefix(sent);
    if (sent == 0 && !redis::wait(descriptor_, events, until)) return false;
  }
  return true;
}

void stream_socket::bound_receive(clock::time_point until) noexcept {
  const int ms = std::max(1, remaining_ms(until));  // 0 would mean no limit
  if (ms == receive_ms_) return;
  const timeval limit{.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
  blocks_ = ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0;
  receive_ms_ = ms;
}

std::optional<std::size_t> stream_socket::receive(char* into, std::size_t room, clock::time_point until) noexcept {
  const bool waits = until != no_wait;
  // If this may wait, the reply has usually not come yet, so this saves a call that would find nothing.
  if (waits && tls_ == nullptr && !blocks_ && !redis::wait(descriptor_, POLLIN, until)) return std::nullopt;
  for (;;) {
    if (tls_ != nullptr) {
      std::size_t got = 0;
      const auto found = tls_->read(into, room, got);
      if (found == tls_session::result::done) return got;
      if (found == tls_session::result::broken) return 0;
    } else {
      if (waits && blocks_) bound_receive(until);
      const auto got = ::recv(descriptor_, into, room, waits && blocks_ ? 0 : MSG_DONTWAIT);
      closed_ = got == 0 || (got < 0 && errno == ECONNRESET);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return 0;
    }
    if (!waits || !redis::wait(descriptor_, POLLIN, until)) return std::nullopt;
  }
}

connection_problem stream_socket::problem() const {
  if (tls_ != nullptr) return tls_->problem();
  return {closed_ ? "the server closed the connection" : ""};
}

bool stream_socket::readable(milliseconds limit, int other) const noexcept {
  if (tls_ != nullptr && tls_->pending()) return true;
  std::array<pollfd, 2> at{{{descriptor_, POLLIN, 0}, {other, POLLIN, 0}}};
  ::poll(at.data(), at.size(), static_cast<int>(limit.count()));
  return at[0].revents != 0;
}

void stream_socket::shut_down() const noexcept { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace dlock::stores::redis
