// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dlock/store_interface/store_admin.hpp"
#include "stores/key_listeners.hpp"
#include "stores/redis/client/client.hpp"
#include "stores/redis/client/key_channels.hpp"
#include "stores/redis/setnx/values.hpp"

namespace dlock::stores::redis::setnx {

/// A store of keys that other programs lock too, on one server or on several. Each key ends by its expiry there, and no
/// lease is kept by a session.
class shared_key_store : public store, protected store_admin {
 public:
  capabilities caps() const noexcept final {
    return {.session_leases = false,
            .renewed_leases = true,
            .fence = false,
            .min_hold = false,
            .tells_free = wakes_,
            .others_release = true,
            .any_key = false};
  }
  /// A folded key would be another lock than the one that other programs know by that name.
  std::string unfit_key(std::string_view key) const final { return setnx::unfit(key); }
  using store::connect;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept final { return connect(limit, why, {}); }
  /// No lease is kept by a session here, so none has a row.
  reply session(connection&, session_verb, const session_record&) noexcept final { return {.result = outcome::yes}; }
  store_admin* admin() noexcept final { return this; }

 protected:
  /// `prefix`: of the keys; may be empty. `wakes`: whoever waits is notified of dlock's releases.
  shared_key_store(std::string prefix, bool wakes) : prefix_(std::move(prefix)), wakes_(wakes) {}

  const std::string& prefix() const noexcept { return prefix_; }
  /// One answer for each command; an empty one did not come.
  using asker = std::function<std::vector<answer>(const command_text&)>;
  /// Adds the keys of one server that dlock has locked, and that come after.
  reply scan_server(const asker& ask, std::string_view after, std::set<std::string>& keys) const;

 private:
  // store_admin
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept final;
  /// Only what was locked by dlock: no mark distinguishes other locks from keys that are no locks.
  reply list(connection& on, std::string_view after, std::size_t limit, std::vector<holder_info>& found) noexcept final;
  /// There are no sessions to be revoked.
  reply revoke(connection&, const request&) noexcept final { return {.result = outcome::no}; }
  /// The servers delete what has expired.
  reply cleanup(connection&, microseconds, std::size_t) noexcept final { return {.result = outcome::yes}; }

  /// Adds the keys that dlock has locked, and that come after.
  virtual reply scan(connection& on, std::string_view after, std::set<std::string>& keys) = 0;
  /// As execute(), of keys: absent unless they have a holder who keeps all others out.
  virtual void poll(connection& on, std::span<const request> keys, std::span<reply> replies) = 0;

  const std::string prefix_;
  const bool wakes_;
};

/// The lock that most programs on Redis use: SET NX PX, and a script that deletes what is still theirs. A value names
/// the session and the attempt, so it is never the same twice.
class setnx_store final : public shared_key_store {
 public:
  explicit setnx_store(const redis_settings& settings)
      : shared_key_store(settings.prefix, settings.wake),
        client_(settings, scripts),
        channels_(client_, std::string(channel_prefix) + settings.prefix,
                  [to = listeners_](const std::string& why) { to->waiters_poll(why); }) {}

  const std::string& name() const noexcept override { return client_.settings().name; }
  void prepare() override;
  using shared_key_store::connect;
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override;
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  bool terminate(connection& on, const connection_identity& lost) noexcept override {
    return end_lost_connection(static_cast<script_connection&>(on), lost);
  }
  void watch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    channels_.watch(key, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    channels_.unwatch(key, listener);
  }
  void listen(store_listener& listener) noexcept override { listeners_->add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_->remove(listener); }

 private:
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;
  reply scan(connection& on, std::string_view after, std::set<std::string>& keys) override;
  void poll(connection& on, std::span<const request> keys, std::span<reply> replies) override {
    execute(on, keys, replies);
  }

  const std::shared_ptr<store_listeners> listeners_ = std::make_shared<store_listeners>();
  /// Shared with the connections, which may outlive the store.
  const std::shared_ptr<hangup_watch> hangups_ = std::make_shared<hangup_watch>();
  redis_client client_;
  key_channels channels_;
};

}  // namespace dlock::stores::redis::setnx
