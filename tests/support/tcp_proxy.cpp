// SPDX-License-Identifier: BSL-1.0
#include "support/tcp_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace dlock::test {

namespace {

int checked(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::system_category(), call);
  return result;
}

class descriptor {
 public:
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&&) = delete;
  void swap(descriptor& other) noexcept { std::swap(number_, other.number_); }
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int operator*() const noexcept { return number_; }

 private:
  int number_;
};

descriptor make_socket() {
  descriptor socket(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  const int yes = 1;
  ::setsockopt(*socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return socket;
}

sockaddr_in local(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct connection_pair {
  descriptor client;
  descriptor server;
  std::size_t answers = 0;  // that go through
  bool loses = false;       // the server's next answer; not all that a client sends has one
  bool cut = false;         // nothing goes through any more, and the server's side stays open
  bool renumbered = false;  // in its greeting, which is still to come
  bool over = false;        // one side has closed it
  bool commanded = false;   // the last that came from the client was a command, in MySQL's protocol
  bool at_rest = false;     // and it was answered
  bool replaces = false;    // the server's answer, by `instead`, until the client sends the next thing
  std::string instead{};
};

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto more = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (more <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(more));
  }
  return true;
}

/// False: `from` has no more.
bool forward(int from, int to, const std::pair<std::string, std::string>& rewritten = {}) {
  std::array<char, 16'384> buffer;
  const auto size = ::recv(from, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  std::string bytes(buffer.data(), static_cast<std::size_t>(size));
  const auto& [old, other] = rewritten;
  for (std::size_t at = 0; !old.empty() && (at = bytes.find(old, at)) != std::string::npos; at += other.size()) {
    bytes.replace(at, old.size(), other);
  }
  return send_all(to, bytes);
}

/// A greeting: its length, a byte for the protocol, the version's text, and the connection's number.
bool forward_renumbered(int from, int to) {
  std::array<char, 16'384> buffer;
  const auto size = ::recv(from, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  std::string bytes(buffer.data(), static_cast<std::size_t>(size));
  ++bytes.at(bytes.find('\0', 5) + 1);
  return send_all(to, bytes);
}

/// What `from` has is dropped. False: it has no more.
bool drop(int from) {
  std::array<char, 16'384> buffer;
  return ::recv(from, buffer.data(), buffer.size(), 0) > 0;
}

}  // namespace

struct tcp_proxy::state {
  static constexpr auto for_ever = static_cast<std::size_t>(-1);

  explicit state(std::vector<std::uint16_t> to)
      : server_ports(std::move(to)), wake(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")), listener(make_socket()) {
    auto address = local(0);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(*listener, any, size), "bind");
    checked(::listen(*listener, 64), "listen");
    checked(::getsockname(*listener, any, &size), "getsockname");
    port = ntohs(address.sin_port);
  }

  void accept_one() {
    descriptor client(::accept4(*listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (*client < 0 || is_cut) return;
    auto server = make_socket();
    const auto address = local(server_ports[accepted % server_ports.size()]);
    if (::connect(*server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
    pairs.push_back(
        {.client = std::move(client), .server = std::move(server), .answers = answers, .renumbered = counts});
    ++accepted;
  }

  /// Before a client's command: the fourth byte of a message counts from zero.
  void share(connection_pair& pair) {
    std::array<char, 4> head{};
    pair.at_rest = false;
    pair.commanded =
        ::recv(*pair.client, head.data(), head.size(), MSG_PEEK) == static_cast<ssize_t>(head.size()) && head[3] == 0;
    if (!pair.commanded) return;
    for (auto& other : pairs) {
      if (&other != &pair && other.at_rest) return pair.server.swap(other.server);
    }
  }
  static void lose(connection_pair& pair, loss lost) {
    if (lost == loss::answer) {
      pair.loses = forward(*pair.client, *pair.server);
      pair.over = !pair.loses;
    } else {
      pair.over = true;
      static_cast<void>(drop(*pair.client));
      const linger at_once{lost == loss::by_reset ? 1 : 0, 0};
      ::setsockopt(*pair.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
  }
  /// The answer is there, so the server has done what it was asked.
  static void answer_lost(connection_pair& pair) {
    pair.loses = false;
    pair.cut = true;
    ::shutdown(*pair.client, SHUT_RDWR);
  }

  void run() {
    for (std::vector<pollfd> watched;;) {
      watched.assign({{*wake, POLLIN, 0}, {*listener, POLLIN, 0}});
      std::vector<connection_pair*> live;
      {
        const std::lock_guard lock(mutex);
        for (auto& each : pairs) {
          const bool mute = silent || each.answers == 0;
          watched.push_back({mute ? -1 : *each.client, POLLIN, 0});
          watched.push_back({mute ? -1 : *each.server, POLLIN, 0});
          live.push_back(&each);  // only this thread changes the list
        }
      }
      ::poll(watched.data(), watched.size(), -1);
      const std::lock_guard lock(mutex);
      if (stop) return;
      if ((watched[0].revents & POLLIN) != 0) {
        eventfd_t ignored = 0;
        ::eventfd_read(*wake, &ignored);
      }
      for (std::size_t i = 0; i != live.size(); ++i) {
        auto& each = *live[i];
        if (each.cut || silent) continue;
        if (watched[2 + 2 * i].revents != 0) {
          if (losing) {
            lose(each, *std::exchange(losing, std::nullopt));
            continue;
          }
          each.replaces = false;
          if (replacement) {
            each.replaces = true;
            each.instead = *std::exchange(replacement, std::nullopt);
          }
          if (shares) share(each);
          each.over = !forward(*each.client, *each.server, rewritten);
          if (shares) break;  // what this thread was told of is no longer about the same pairs
        }
        if (watched[3 + 2 * i].revents == 0) continue;
        if (each.loses) {
          answer_lost(each);
          continue;
        }
        if (each.replaces) {
          each.over = !drop(*each.server) || !send_all(*each.client, std::exchange(each.instead, {})) || each.over;
          continue;
        }
        const bool sent = std::exchange(each.renumbered, false) ? forward_renumbered(*each.server, *each.client)
                                                                : forward(*each.server, *each.client);
        each.over = !sent || each.over;
        each.at_rest = each.commanded;
        if (each.answers != for_ever) --each.answers;
      }
      for (auto at = pairs.begin(); at != pairs.end();) {
        if (at->cut) {
          severed.splice(severed.end(), pairs, at++);
        } else {
          at = at->over ? pairs.erase(at) : std::next(at);
        }
      }
      if ((watched[1].revents & POLLIN) != 0) accept_one();
    }
  }

  const std::vector<std::uint16_t> server_ports;
  const descriptor wake;
  const descriptor listener;
  std::uint16_t port = 0;
  std::mutex mutex{};
  // Guarded by it:
  std::list<connection_pair> pairs{};
  std::list<connection_pair> severed{};
  std::size_t accepted = 0;
  std::size_t answers = for_ever;  // of new ones
  bool counts = false;
  bool shares = false;
  bool silent = false;
  bool is_cut = false;
  std::optional<loss> losing{};
  std::optional<std::string> replacement{};
  std::pair<std::string, std::string> rewritten{};
  bool stop = false;
  std::thread thread{};
};

tcp_proxy::tcp_proxy(std::vector<std::uint16_t> server_ports)
    : state_(std::make_unique<state>(std::move(server_ports))) {
  state_->thread = std::thread([raw = state_.get()] { raw->run(); });
}

tcp_proxy::~tcp_proxy() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  ::eventfd_write(*state_->wake, 1);
  state_->thread.join();
}

std::uint16_t tcp_proxy::port() const noexcept { return state_->port; }

void tcp_proxy::cut() {
  const std::lock_guard lock(state_->mutex);
  state_->is_cut = true;
  for (auto& each : state_->pairs) {
    each.cut = true;
    ::shutdown(*each.client, SHUT_RDWR);  // closed later: its number must not come back while it is polled
  }
}

void tcp_proxy::fall_silent() {
  const std::lock_guard lock(state_->mutex);
  state_->silent = true;
  ::eventfd_write(*state_->wake, 1);
}

void tcp_proxy::answer(std::size_t times) {
  const std::lock_guard lock(state_->mutex);
  state_->answers = times;
}

void tcp_proxy::lose_next(loss lost) {
  const std::lock_guard lock(state_->mutex);
  state_->losing = lost;
}

void tcp_proxy::replace_next_answer(std::string bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->replacement = std::move(bytes);
}

void tcp_proxy::rewrite_requests(std::string from, std::string to) {
  if (from.size() != to.size()) throw std::invalid_argument("a message's length would be wrong");
  const std::lock_guard lock(state_->mutex);
  state_->rewritten = {std::move(from), std::move(to)};
}

void tcp_proxy::count_by_itself() {
  const std::lock_guard lock(state_->mutex);
  state_->counts = true;
}

void tcp_proxy::share_servers() {
  const std::lock_guard lock(state_->mutex);
  state_->shares = true;
}

void tcp_proxy::mend() {
  const std::lock_guard lock(state_->mutex);
  state_->silent = state_->is_cut = false;
  state_->answers = state::for_ever;
  for (auto& each : state_->pairs) each.answers = state::for_ever;
  ::eventfd_write(*state_->wake, 1);
}

std::size_t tcp_proxy::accepted() const {
  const std::lock_guard lock(state_->mutex);
  return state_->accepted;
}

std::size_t tcp_proxy::connected() const {
  const std::lock_guard lock(state_->mutex);
  return state_->pairs.size();
}

}  // namespace dlock::test
