// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// Requests that are sent together and waited for together. A waiter may leave: later answers are dropped.
class request_round : public std::enable_shared_from_this<request_round> {
 public:
  explicit request_round(std::size_t requests) : answers_(requests), open_(requests) {}

  /// Hands in the answer to one of them.
  on_answer slot(std::size_t which);
  /// All answers; of those that did not come in time the code says so.
  std::vector<answer> wait(std::chrono::steady_clock::time_point until);
  void interrupt() noexcept;

 private:
  base::mutex mutex_{};
  std::condition_variable changed_{};
  std::vector<answer> answers_ DLOCK_GUARDED_BY(mutex_);
  std::size_t open_ DLOCK_GUARDED_BY(mutex_);
  bool interrupted_ DLOCK_GUARDED_BY(mutex_) = false;
};

/// Waits for answers, for a statement at a time. What leads to the servers is the session's handle.
class zookeeper_connection final : public connection {
 public:
  zookeeper_connection(std::string server, std::chrono::milliseconds timeout)
      : timeout_(timeout), identity_{std::move(server), "1", 0} {}

  void interrupt() noexcept override;
  bool usable() const noexcept override { return usable_.load(); }
  /// Its number is 0: what is sent for a session is done in that order, so a cancel comes behind what it cancels.
  const connection_identity& identity() const noexcept override { return identity_; }

  /// `send(round)` sends so many requests. Their answers, as request_round::wait().
  template <class Send>
  std::vector<answer> ask(std::size_t requests, Send&& send) {
    if (requests == 0) return {};
    const auto round = begin(requests);
    send(*round);
    return finish(*round);
  }
  /// The same of one request: `send(done)` sends it.
  template <class Send>
  answer ask(Send&& send) {
    return std::move(ask(1, [&](request_round& round) { send(round.slot(0)); }).front());
  }
  /// Whether it is connected, at the latest when the patience for a statement ends.
  answer wait_connected(zookeeper_handle& handle);

 private:
  std::shared_ptr<request_round> begin(std::size_t requests);
  std::vector<answer> finish(request_round& round);

  const std::chrono::milliseconds timeout_;
  const connection_identity identity_;
  std::atomic<bool> usable_{true};
  base::mutex mutex_{};
  std::shared_ptr<request_round> current_ DLOCK_GUARDED_BY(mutex_){};
  bool interrupted_ DLOCK_GUARDED_BY(mutex_) = false;
};

/// What an error code of the library says.
fault fault_of(int code, const std::string& doing);
/// No server has accepted a connection, which had this code.
fault no_connection(const zookeeper_settings& settings, int code);
/// It was sent, or may have been, if the connection was lost meanwhile; otherwise it was certainly not done.
reply not_done(const answer& response, const char* doing);

}  // namespace dlock::stores::zookeeper
