// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "stores/zookeeper/client/connection.hpp"
#include "stores/zookeeper/recipe/nodes.hpp"
#include "stores/zookeeper/recipe/session.hpp"

namespace dlock::stores::zookeeper {

/// Locks as queues of ephemeral nodes, which the servers delete with the session that made them. Each session of dlock
/// is one of ZooKeeper.
class zookeeper_store final : public store, private store_admin {
 public:
  explicit zookeeper_store(zookeeper_settings settings) : settings_(std::move(settings)) {}

  const std::string& name() const noexcept override { return settings_.name; }
  capabilities caps() const noexcept override {
    return {.expiring_leases = false,
            .consecutive_fences = false,
            .min_hold = false,
            .waits = waiting::notified,
            .keeps_order = true,
            .shares = settings_.names != node_names::curator,
            .any_mode = false};
  }
  std::string unfit_mode(const key_mode& wanted) const override;
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override;
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& on, session_verb action, const session_record& record) noexcept override;
  /// Not needed, because a session's requests are executed in their order, so that a cancel comes after what it
  /// cancels.
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override;
  void unwatch(std::string_view key, const id128& session, key_listener& listener) noexcept override;
  void listen(store_listener& listener) noexcept override { listeners_->add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_->remove(listener); }
  store_admin* admin() noexcept override { return this; }

 private:
  /// Executes requests of one session.
  void execute_part(zookeeper_connection& on, requests asked, replies results);

  // admin.cpp
  /// Asks on any connected handle. Returns failed if none is connected in time.
  reply ask_servers(connection& on, const std::function<reply(const execution& with)>& ask) noexcept;
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection& on, const request& key) noexcept override;
  /// The servers delete unused nodes themselves.
  reply cleanup(connection&, microseconds, std::size_t) noexcept override { return {.result = outcome::yes}; }
  reply waiters(connection& on, std::string_view key, std::size_t limit, waiter_overview& found) noexcept override;
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;

  reply open(zookeeper_connection& on, const session_record& record);
  reply renew(zookeeper_connection& on, const session_record& record);
  reply close(zookeeper_connection& on, const session_record& record);
  std::shared_ptr<zookeeper_session> find(const id128& id) const;
  std::shared_ptr<zookeeper_session> take_out(const id128& id);
  /// The handle of any session, for requests about none.
  std::shared_ptr<zookeeper_handle> any_handle();
  std::shared_ptr<zookeeper_handle> connected_handle();
  void leave_spare();

  const zookeeper_settings settings_;
  const lock_nodes nodes_{settings_};
  const std::shared_ptr<store_listeners> listeners_ = std::make_shared<store_listeners>();
  mutable base::mutex mutex_{};
  std::map<id128, std::shared_ptr<zookeeper_session>> sessions_ DLOCK_GUARDED_BY(mutex_){};
  std::shared_ptr<zookeeper_handle> spare_ DLOCK_GUARDED_BY(mutex_){};  // used while there is no session
  struct watcher {
    std::shared_ptr<holder_watch> of_holder{};  ///< for a waiter without a session
    std::weak_ptr<zookeeper_session> session{};
    std::shared_ptr<queue_node> node{};  ///< for a waiter with a session
  };
  std::map<const key_listener*, watcher> watchers_ DLOCK_GUARDED_BY(mutex_){};
  session_closer closer_{};
};

}  // namespace dlock::stores::zookeeper
