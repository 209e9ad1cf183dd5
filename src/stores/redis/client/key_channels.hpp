// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/redis/client/client.hpp"

namespace dlock::stores::redis {

/// Receives messages about keys that become free, on one connection for all waiters, by a separate thread that starts
/// with the first of them. Thread safety: watch() and unwatch() from any thread.
class key_channels {
 public:
  /// Called by the thread once for each reason why no waiter can be notified for now.
  using report = std::function<void(const std::string& why)>;
  /// Whether the key may be free, according to a published message; an empty message means that the server has
  /// subscribed us. Called by the thread.
  using judge = std::function<bool(std::string_view key, std::string_view message)>;

  /// `prefix` is the prefix of the channels' names, before the key. Without `frees` each message means that the key may
  /// be free.
  key_channels(redis_client& client, std::string prefix, report says, judge frees = {})
      : client_(client), prefix_(std::move(prefix)), says_(std::move(says)), frees_(std::move(frees)) {}
  key_channels(const key_channels&) = delete;
  key_channels& operator=(const key_channels&) = delete;

  void watch(std::string_view key, key_listener& listener) noexcept;
  void unwatch(std::string_view key, key_listener& listener) noexcept;

 private:
  struct heard_key {
    std::vector<key_listener*> listeners{};
    bool ask = false;    ///< it was added or removed since the server was last informed
    bool works = false;  ///< the server has confirmed it
  };
  void run(const std::stop_token& stop) noexcept;
  bool serve(const std::stop_token& stop) noexcept;
  bool serve(redis_connection& on, const std::stop_token& stop);
  bool subscribe(redis_connection& on, bool anew);
  bool hear(const answer& response);
  void say(const std::string& why);
  void none_works() noexcept;
  bool nobody_waits() const noexcept;

  redis_client& client_;
  const std::string prefix_;
  const report says_;
  const judge frees_;
  std::string said_{};                         ///< by the thread
  const base::wake_event changed_{"eventfd"};  ///< ends a wait of the thread
  mutable base::mutex mutex_;
  std::map<std::string, heard_key, std::less<>> channels_ DLOCK_GUARDED_BY(mutex_){};
  base::background_thread thread_{};  // destroyed before what it uses
};

}  // namespace dlock::stores::redis
