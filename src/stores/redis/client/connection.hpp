// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dlock/store_interface/store.hpp"
#include "stores/hangup_watch.hpp"
#include "stores/redis/client/protocol.hpp"
#include "stores/redis/client/socket.hpp"

namespace dlock::stores::redis {

/// Speaks the protocol on one socket. It knows no keys and no scripts.
class redis_connection : public connection {
 public:
  using clock = stream_socket::clock;

  /// `timeout` is the longest wait of each call for each part of a reply; with 0 it does not wait.
  redis_connection(stream_socket socket, std::chrono::milliseconds timeout)
      : socket_(std::move(socket)), timeout_(timeout) {}
  ~redis_connection() override;
  /// Calls `closed` when the server closes the connection, even while it is idle. `by` lives as long as the connection.
  void watch_hang_up(std::shared_ptr<hangup_watch> by, std::function<void()> closed) noexcept;

  void interrupt() noexcept override;
  /// The replies to the following calls come completely by then, or not at all, whatever the timeout is; max() means no
  /// such limit.
  void answer_by(clock::time_point when) noexcept { answer_by_ = when; }
  /// Why a reply did not come.
  const connection_problem& problem() const noexcept { return problem_; }
  bool usable() const noexcept override { return usable_.load(std::memory_order_relaxed); }
  /// Whether the server has not closed it and has sent nothing unrequested.
  bool alive() noexcept override { return usable() && !socket_.readable(std::chrono::milliseconds{0}); }
  const connection_identity& identity() const noexcept override { return identity_; }
  void set_identity(connection_identity identity) { identity_ = std::move(identity); }
  int descriptor() const noexcept { return socket_.descriptor(); }

  /// Sends the commands together, and returns one reply for each. From the first empty one on, replies did not come in
  /// time, and the connection can't be used any more.
  std::vector<answer> ask(const command_text& commands);
  /// Sends one command without keys.
  answer ask(std::initializer_list<std::string_view> words);

  /// Sends commands; sent_meanwhile() returns the replies. Returns false if the connection broke.
  bool send(const command_text& commands) noexcept;
  /// Waits until the server has sent something, until `other` can be read, or for the limit.
  void wait(int other, std::chrono::milliseconds limit) const noexcept { socket_.readable(limit, other); }
  /// The next message from the server; empty if there is none yet, or the connection broke. Does not wait.
  answer sent_meanwhile() { return next(waits::no); }

 private:
  enum class waits : bool { no, yes };
  answer next(waits how);
  clock::time_point limit() const noexcept;

  stream_socket socket_;
  const std::chrono::milliseconds timeout_;
  answer_reader reader_{};
  std::atomic<bool> usable_{true};
  std::shared_ptr<hangup_watch> watched_by_{};
  std::uint64_t watch_ = 0;
  clock::time_point answer_by_ = clock::time_point::max();
  connection_problem problem_{};
  bool spoke_ = false;  // the server has sent something
  connection_identity identity_{};
};

}  // namespace dlock::stores::redis
