// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "dlock/store/store.hpp"
#include "stores/redis/client/answer.hpp"
#include "stores/redis/client/command.hpp"
#include "stores/redis/client/reader.hpp"
#include "stores/redis/client/socket.hpp"

namespace dlock::stores::redis {

/// Speaks the protocol on one socket. Knows no key and no script.
class redis_connection : public connection {
 public:
  redis_connection(stream_socket socket, std::chrono::milliseconds timeout);

  void interrupt() noexcept override;
  /// How long the following calls wait for each part of an answer, at most.
  void set_patience(std::chrono::milliseconds patience) { socket_.set_patience(patience); }
  bool usable() const noexcept override { return usable_.load(std::memory_order_relaxed); }
  bool alive() noexcept override { return usable() && socket_.quiet(); }
  const connection_identity& identity() const noexcept override { return identity_; }
  void set_identity(connection_identity identity) { identity_ = std::move(identity); }

  /// Sends them in one go. One answer for each; the first one that is empty did not come in time, nor did those behind it, and
  /// the connection is of no more use.
  std::vector<answer> ask(const command_text& commands);
  /// One command, which takes no keys.
  answer ask(std::initializer_list<std::string_view> words);

  /// Sends them; what is answered comes with what the server sends by itself. False: it broke.
  bool send(const command_text& commands) noexcept;
  /// Waits until the server has sent something, until `other` can be read, or for the limit.
  void wait(int other, std::chrono::milliseconds limit) const noexcept { socket_.wait_with(other, limit); }
  /// The next that the server has sent; empty: it has sent no more, or the connection broke.
  answer sent_meanwhile();

 private:
  answer next();

  stream_socket socket_;
  answer_reader reader_{};
  std::atomic<bool> usable_{true};
  connection_identity identity_{};
};

}  // namespace dlock::stores::redis
