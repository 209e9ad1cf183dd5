// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace dlock::stores::redis {

namespace {

using clock = stream_socket::clock;
using std::chrono::milliseconds;

/// How soon a cancellation is seen while connecting.
constexpr milliseconds glance{20};

std::string text_of(int error) { return std::generic_category().message(error); }

int remaining_ms(clock::time_point until) noexcept {
  const auto remaining = std::chrono::ceil<milliseconds>(until - clock::now()).count();
  return static_cast<int>(std::clamp<long long>(remaining, 0, 3'600'000));
}

/// Whether one of `events` came by then.
bool wait(int descriptor, short events, clock::time_point until) noexcept {
  for (;;) {
    pollfd at{descriptor, events, 0};
    const int found = ::poll(&at, 1, remaining_ms(until));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
    if (clock::now() >= until) return false;
  }
}

int open_socket(int family) {
  const int made = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) throw std::runtime_error("no socket: " + text_of(errno));
  return made;
}

}  // namespace

stream_socket::stream_socket(stream_socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), closed_(other.closed_), tls_(std::move(other.tls_)) {}

stream_socket& stream_socket::operator=(stream_socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(closed_, other.closed_);
  std::swap(tls_, other.tls_);
  return *this;
}

stream_socket::~stream_socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void stream_socket::begin_connecting(const void* address, unsigned size) {
  if (::connect(descriptor_, static_cast<const sockaddr*>(address), size) == 0 || errno == EINPROGRESS) return;
  throw std::runtime_error("cannot connect: " + text_of(errno));
}

std::string stream_socket::finish_connecting(clock::time_point until, const std::stop_token& cancel) {
  for (;;) {
    if (cancel.stop_requested()) return "cancelled";
    if (wait(descriptor_, POLLOUT, std::min(until, clock::now() + glance))) break;
    if (clock::now() >= until) return "no answer in time";
  }
  return connected();
}

std::string stream_socket::connected() const {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : "cannot connect: " + text_of(error);
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

stream_socket stream_socket::begin(const peer& to) {
  stream_socket made(open_socket(to.name.ss_family));
  const int on = 1;
  ::setsockopt(made.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(made.descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  made.begin_connecting(&to.name, to.size);
  return made;
}

stream_socket stream_socket::connect(const std::vector<peer>& all, clock::time_point until,
                                     const std::stop_token& cancel) {
  std::string why;
  auto remaining = static_cast<long>(all.size());
  for (const auto& each : all) {
    const auto now = clock::now();
    const auto part = (until - now) / remaining--;
    try {
      auto made = begin(each);
      why = made.finish_connecting(now + part, cancel);
      if (why.empty()) return made;
    } catch (const std::runtime_error& problem) {
      why = problem.what();
    }
  }
  throw std::runtime_error(why);
}

stream_socket stream_socket::connect(const std::string& path, clock::time_point until, const std::stop_token& cancel) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the socket's path is too long");
  path.copy(address.sun_path, path.size());
  stream_socket made(open_socket(AF_UNIX));
  made.begin_connecting(&address, sizeof address);
  if (auto why = made.finish_connecting(until, cancel); !why.empty()) throw std::runtime_error(why);
  return made;
}

void stream_socket::begin_tls(const tls_settings& settings, const std::string& host) {
  tls_ = std::make_unique<tls_session>(settings, host, descriptor_);
}

tls_session::result stream_socket::secured(std::string& why) {
  const auto found = tls_->shake_hands();
  if (found == tls_session::result::broken) why = tls_->why();
  return found;
}

void stream_socket::secure(const tls_settings& settings, const std::string& host, clock::time_point until,
                           const std::stop_token& cancel) {
  begin_tls(settings, host);
  std::string why;
  for (auto found = secured(why); found != tls_session::result::done; found = secured(why)) {
    if (found == tls_session::result::broken) {
      if (tls_->lasts()) throw lasting_problem(why);
      throw std::runtime_error(why);
    }
    const short events = found == tls_session::result::more_to_write ? POLLOUT : POLLIN;
    while (!wait(descriptor_, events, std::min(until, clock::now() + glance))) {
      if (cancel.stop_requested()) throw std::runtime_error("cancelled");
      if (clock::now() >= until)
        throw std::runtime_error("tls: no answer in time; does the server speak TLS on this port?");
    }
  }
}

// By the kernel's own limits: a wait by poll() before each would be one call more.
void stream_socket::set_timeout(std::chrono::milliseconds timeout) {
  timeval limit{};
  limit.tv_sec = timeout.count() / 1000;
  limit.tv_usec = (timeout.count() % 1000) * 1000;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK) != 0) {
    throw std::runtime_error("the socket can't wait: " + text_of(errno));
  }
}

bool stream_socket::send(std::string_view text) noexcept { return send(text, 0); }

bool stream_socket::send_now(std::string_view text) noexcept { return send(text, MSG_DONTWAIT); }

bool stream_socket::send(std::string_view text, int flags) noexcept {
  while (!text.empty()) {
    if (tls_ != nullptr) {  // it waits, or not, as the socket does
      std::size_t sent = 0;
      if (tls_->write(text.data(), text.size(), sent) != tls_session::result::done) return false;
      text.remove_prefix(sent);
      continue;
    }
    const auto sent = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL | flags);
    if (sent > 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::size_t stream_socket::receive(char* into, std::size_t room) noexcept {
  if (tls_ != nullptr) {
    std::size_t read = 0;
    return tls_->read(into, room, read) == tls_session::result::done ? read : 0;
  }
  for (;;) {
    const auto got = ::recv(descriptor_, into, room, 0);
    closed_ = got == 0 || (got < 0 && errno == ECONNRESET);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return 0;
  }
}

tls_problem stream_socket::tls_problem() const {
  return tls_ == nullptr ? redis::tls_problem{} : redis::tls_problem{tls_->why(), tls_->lasts()};
}

std::optional<std::size_t> stream_socket::receive_now(char* into, std::size_t room) noexcept {
  if (tls_ != nullptr) {
    std::size_t read = 0;
    const auto found = tls_->read(into, room, read);
    if (found == tls_session::result::more_to_read || found == tls_session::result::more_to_write) return std::nullopt;
    return found == tls_session::result::done ? read : 0;
  }
  for (;;) {
    const auto got = ::recv(descriptor_, into, room, MSG_DONTWAIT);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) return 0;
  }
}

void stream_socket::wait_with(int other, std::chrono::milliseconds limit) const noexcept {
  if (tls_ != nullptr && tls_->pending()) return;
  std::array<pollfd, 2> at{{{descriptor_, POLLIN, 0}, {other, POLLIN, 0}}};
  ::poll(at.data(), at.size(), static_cast<int>(std::clamp<long long>(limit.count(), 0, 3'600'000)));
}

bool stream_socket::quiet() const noexcept {
  if (tls_ != nullptr && tls_->pending()) return false;
  pollfd at{descriptor_, POLLIN, 0};
  return ::poll(&at, 1, 0) == 0;
}

void stream_socket::shut_down() const noexcept { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace dlock::stores::redis
