// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "base/wake_event.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/redis/client/client.hpp"

namespace dlock::stores::redis::leases {

/// Hears what is published when a key becomes free, on one connection for all waiters, by a separate thread that
/// begins with the first of them. A lock's channel has the name of its hash. Thread safety: watch() and unwatch() from
/// any thread.
class key_channels {
 public:
  /// `prefix`: begins the names of locks.
  key_channels(redis_client& client, const std::string& prefix) : client_(client), prefix_(prefix) {}
  key_channels(const key_channels&) = delete;
  key_channels& operator=(const key_channels&) = delete;
  ~key_channels();

  void watch(std::string_view key, key_listener& listener) noexcept;
  void unwatch(std::string_view key, key_listener& listener) noexcept;

 private:
  struct heard_key {
    std::vector<key_listener*> listeners{};
    bool ask = false;    ///< subscribed or ended since the server was last informed
    bool works = false;  ///< the server has confirmed it
  };
  void begin() DLOCK_REQUIRES(mutex_);
  void run(const std::stop_token& stop) noexcept;
  bool serve(const std::stop_token& stop) noexcept;
  bool serve(redis_connection& on, const std::stop_token& stop);
  bool subscribe(redis_connection& on, bool anew);
  bool hear(const answer& response);
  void none_works() noexcept;
  bool nobody_waits() const noexcept;

  redis_client& client_;
  const std::string prefix_;
  const base::wake_event changed_{"eventfd"};  ///< ends a wait of the thread
  std::stop_source stop_{};
  mutable base::mutex mutex_;
  std::map<std::string, heard_key, std::less<>> channels_ DLOCK_GUARDED_BY(mutex_){};
  std::thread thread_ DLOCK_GUARDED_BY(mutex_){};
  pid_t process_ DLOCK_GUARDED_BY(mutex_) = 0;  // which has the thread
};

}  // namespace dlock::stores::redis::leases
