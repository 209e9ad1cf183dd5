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

/// Requests that are sent together, and one wait for all of them. A waiter may leave; later answers are dropped.
class request_round : public std::enable_shared_from_this<request_round> {
 public:
  explicit request_round(std::size_t requests) : answers_(requests), open_(requests) {}

  /// The function that takes the answer to one of them.
  on_answer slot(std::size_t which);
  /// Returns all answers; the code of a missing one says that it did not come in time.
  std::vector<answer> wait(std::chrono::steady_clock::time_point until);
  void interrupt() noexcept;

 private:
  base::mutex mutex_{};
  std::condition_variable changed_{};
  std::vector<answer> answers_ DLOCK_GUARDED_BY(mutex_);
  std::size_t open_ DLOCK_GUARDED_BY(mutex_);
  bool interrupted_ DLOCK_GUARDED_BY(mutex_) = false;
};

/// Waits for the answers of one statement at a time. The session's handle is connected to the servers.
class zookeeper_connection final : public connection {
 public:
  zookeeper_connection(std::string server, std::chrono::milliseconds timeout)
      : timeout_(timeout), identity_{std::move(server), "1", 0} {}

  void interrupt() noexcept override;
  bool usable() const noexcept override { return usable_.load(); }
  /// Its number is 0, because a session's requests are executed in their order, so that a cancel comes after what it
  /// cancels.
  const connection_identity& identity() const noexcept override { return identity_; }

  /// `send(round)` sends that many requests. Returns their answers, as request_round::wait().
  template <class Send>
  std::vector<answer> ask(std::size_t requests, Send&& send) {
    if (requests == 0) return {};
    const auto round = begin(requests);
    send(*round);
    return finish(*round);
  }
  /// The same for one request, which `send(done)` sends.
  template <class Send>
  answer ask(Send&& send) {
    return std::move(ask(1, [&](request_round& round) { send(round.slot(0)); }).front());
  }
  /// Waits until it is connected, at most as long as a statement may wait.
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

/// The fault for an error code of the library.
fault fault_of(int code, const std::string& doing);
/// The fault that no server accepted a connection, with its code.
fault no_connection(const zookeeper_settings& settings, int code);
/// The reply to a failed request: in doubt if the connection was lost meanwhile, otherwise certainly not executed.
reply not_done(const answer& response, const char* doing);

}  // namespace dlock::stores::zookeeper
