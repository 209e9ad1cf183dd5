// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "stores/zookeeper/recipe/session.hpp"

namespace dlock::stores::zookeeper {

/// Sessions that are not used any more and that could not be ended, because no server could be reached. The servers
/// would keep their nodes for a timeout after they are back, so each one stays until it is connected again and ends
/// then. Thread-safe.
class session_closer {
 public:
  session_closer() = default;
  /// Those that are left end without the servers.
  ~session_closer();
  session_closer(const session_closer&) = delete;
  session_closer& operator=(const session_closer&) = delete;

  /// Precondition: the session has left its queues.
  void add(std::shared_ptr<zookeeper_session> session);

 private:
  /// More than these would be of many outages in a row: the oldest one is given up.
  static constexpr std::size_t most = 16;
  struct waiting_room {
    base::mutex mutex{};
    std::condition_variable changed{};
    struct guest {
      std::shared_ptr<zookeeper_session> session{};
      bool reached = false;  // a server has answered, or the servers have ended it
    };
    std::vector<guest> guests DLOCK_GUARDED_BY(mutex){};
    bool stop DLOCK_GUARDED_BY(mutex) = false;
    void run();
    void reached(const zookeeper_handle& handle);
  };
  static void probe(const std::weak_ptr<waiting_room>& room, zookeeper_handle& handle);

  const pid_t process_ = ::getpid();
  std::shared_ptr<waiting_room> room_ = std::make_shared<waiting_room>();
  base::mutex starting_{};
  std::thread thread_ DLOCK_GUARDED_BY(starting_){};
};

}  // namespace dlock::stores::zookeeper
