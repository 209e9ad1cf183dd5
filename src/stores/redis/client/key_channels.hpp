// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "stores/key_waiters.hpp"
#include "stores/redis/client/client.hpp"

namespace dlock::stores::redis {

struct channel_key {
  bool ask = false;  ///< it was added or removed since the server was last informed
};

/// Receives messages about keys that become free, on one connection for all waiters. A key's listeners rely on them as
/// soon as the server has confirmed the subscription.
class key_channels final : public key_waiters<channel_key> {
 public:
  /// Whether the key may be free, according to a published message; an empty message means that the server has
  /// subscribed us. Called by the thread.
  using judge = std::function<bool(std::string_view key, std::string_view message)>;

  /// `prefix` is the prefix of the channels' names, before the key. Without `frees` each message means that the key may
  /// be free.
  key_channels(redis_client& client, std::string prefix, report says, judge frees = {})
      : key_waiters(std::move(says)), client_(client), prefix_(std::move(prefix)), frees_(std::move(frees)) {}
  ~key_channels() { end(); }

 private:
  void entered(place at) DLOCK_REQUIRES(mutex_) override;
  void left(place at) noexcept DLOCK_REQUIRES(mutex_) override { change_subscription(at->second); }
  bool serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_) override;
  clock::time_point next(clock::time_point served) const DLOCK_REQUIRES(mutex_) override;
  void wait(clock::time_point until) DLOCK_REQUIRES(mutex_) override;
  void close() noexcept DLOCK_REQUIRES(mutex_) override { link_.reset(); }
  void change_subscription(watched_key& about) noexcept DLOCK_REQUIRES(mutex_);
  bool hear(const answer& response) DLOCK_REQUIRES(mutex_);

  redis_client& client_;
  const std::string prefix_;
  const judge frees_;
  // The thread's:
  std::unique_ptr<redis_connection> link_{};
  bool confirmed_ = false;  // the server has sent something about a key on it
  clock::time_point heard_{};
  clock::time_point asked_{};
};

}  // namespace dlock::stores::redis
