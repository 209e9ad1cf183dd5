// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/stores/mysql_named_lock.hpp"
#include "stores/key_listeners.hpp"
#include "stores/mysql/bound/blocking_waiters.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/named_lock/lock_connection.hpp"

namespace dlock::stores::mysql::named_lock {

struct named_lock_settings : mysql_settings {
  /// The URL takes precedence over `options`. Throws std::invalid_argument naming the parameter and its value.
  named_lock_settings(store_url url, const named_lock_options& options);

  std::string prefix{};
  std::size_t waiters = 0;
};

/// GET_LOCK: each session has a connection that holds its locks. There is no table, and nothing on disk.
class named_lock_store final : public store, private store_admin {
 public:
  explicit named_lock_store(named_lock_settings settings);

  const std::string& name() const noexcept override { return settings_.name; }
  capabilities caps() const noexcept override {
    return {.expiring_leases = false,
            .fence = false,
            .min_hold = false,
            .waits = settings_.waiters != 0 ? waiting::notified : waiting::polls};
  }
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override {
    return client_.open<waiting_connection>(limit, cancel, why);
  }
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& connection, session_verb action, const session_record& record) noexcept override;
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    waiters_.watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    waiters_.unwatch(key, listener);
  }
  /// The engine's connections only read.
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }
  store_admin* admin() noexcept override { return this; }
  void listen(store_listener& listener) noexcept override { listeners_.add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_.remove(listener); }

 private:
  reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept override;
  /// Lists only this store's names, because the server lists none.
  reply list(connection& connection, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection& connection, const request& key) noexcept override;
  /// Free locks leave nothing behind.
  reply cleanup(connection&, microseconds, std::size_t) noexcept override {
    return {.result = outcome::yes, .statements = 0};
  }
  reply waiters(connection& connection, std::string_view key, std::size_t limit,
                waiter_overview& found) noexcept override;
  reply examine(connection& connection, std::vector<store_finding>& found) noexcept override;

  reply open(waiting_connection& by, const session_record& record);
  void change(waiting_connection& by, std::span<const request> requests, std::span<reply> replies);
  void poll(waiting_connection& by, std::span<const request> requests, std::span<reply> replies);
  std::shared_ptr<lock_connection> find(const id128& session) const;
  std::shared_ptr<lock_connection> find_connection(const connection_identity& of) const;
  seen holder(const std::string& name, const connection_identity& connection) const;

  const named_lock_settings settings_;
  mysql_client client_;
  blocking_waiters waiters_;
  store_listeners listeners_{};
  hangup_watch hangups_{};  // destroyed after the lock connections
  mutable base::mutex mutex_;
  std::map<id128, std::shared_ptr<lock_connection>> lock_connections_ DLOCK_GUARDED_BY(mutex_){};  // by session
};

}  // namespace dlock::stores::mysql::named_lock
