// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dlock::test {

/// A way to a server on this host that can be cut so that the client is sure to notice and the server is not: what
/// was sent goes on at the server, and its answer gets lost.
class tcp_proxy {
 public:
  /// Listens on a free port of 127.0.0.1. Throws std::system_error.
  explicit tcp_proxy(std::uint16_t server_port) : tcp_proxy(std::vector{server_port}) {}
  /// Of several servers each new connection gets the next one.
  explicit tcp_proxy(std::vector<std::uint16_t> server_ports);
  ~tcp_proxy();

  std::uint16_t port() const noexcept;
  /// Every client finds its connection closed, and new ones too, until mend(). The server sees nothing of it.
  void cut();
  /// Nothing goes through any more, and nobody sees anything of that: those who connect do, and then wait for ever.
  void fall_silent();
  /// New connections fall silent after so many answers of the server; the first is its greeting.
  void answer(std::size_t times);
  /// Connections that were cut stay so. What had been held back goes on.
  void mend();
  /// What any client sends next does not reach the server, whose side of that connection ends; or it does, and its
  /// answer gets lost. The client finds its connection closed (`request`, `answer`) or reset (`by_reset`), the others
  /// go on.
  enum class loss { request, by_reset, answer };
  void lose_next(loss lost);

  /// What any client sends next reaches the server, and the client gets these bytes in the place of the server's
  /// answer.
  void replace_next_answer(std::string bytes);

  /// What clients send from now on reaches the server with `to` in the place of each `from`, of the same length. Of a
  /// `from` that comes in two pieces it knows nothing. Throws std::invalid_argument.
  void rewrite_requests(std::string from, std::string to);

  /// New connections get a number in the server's greeting that is the next one's at the server: as behind a proxy that
  /// counts connections by itself.
  void count_by_itself();

  /// From now on each command of a client of MySQL's protocol goes by the server's connection of another client, if one
  /// is at rest: as through a proxy that shares them. A client counts once it has got an answer to a command.
  void share_servers();

  /// How many clients have come.
  std::size_t accepted() const;
  /// How many of them are connected now.
  std::size_t connected() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace dlock::test
