// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlock/store_interface/store_admin.hpp"
#include "stores/redis/client/script_calls.hpp"
#include "stores/redis/setnx/values.hpp"
#include "stores/store_listeners.hpp"

namespace dlock::stores::redis::setnx {

/// The URL's parameters of this scheme, checked, beside those of the client.
struct setnx_settings : redis_settings {
  std::string prefix{};  ///< of the keys; may be empty

  static setnx_settings parse(store_url url);
};

/// The lock that most programs on Redis use: SET NX PX, and a script that deletes what is still theirs. A value names
/// the session and the attempt, so it is never the same twice.
class setnx_store final : public store, private store_admin {
 public:
  explicit setnx_store(const setnx_settings& settings);

  const std::string& name() const noexcept override { return client_.settings().name; }
  capabilities caps() const noexcept override {
    return {.session_leases = false, .renewed_leases = true, .fence = false, .min_hold = false, .any_key = false};
  }
  /// A folded key would be another lock than the one that other programs know by that name.
  std::string unfit_key(std::string_view key) const override { return setnx::unfit(key); }
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override;
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  /// No lease is kept by a session here, so none has a row.
  reply session(connection&, session_verb, const session_record&) noexcept override { return {.result = outcome::yes}; }
  bool terminate(connection& on, const connection_identity& lost) noexcept override {
    return end_lost_connection(static_cast<script_connection&>(on), lost);
  }
  void listen(store_listener& listener) noexcept override { listeners_->add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_->remove(listener); }
  store_admin* admin() noexcept override { return this; }

 private:
  // store_admin
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept override;
  /// Only what was locked by dlock: no mark distinguishes other locks from keys that are no locks.
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  /// There are no sessions to be revoked.
  reply revoke(connection&, const request&) noexcept override { return {.result = outcome::no}; }
  /// The server deletes what has expired.
  reply cleanup(connection&, microseconds, std::size_t) noexcept override { return {.result = outcome::yes}; }
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;

  /// Those of the keys that dlock has locked, and that come after.
  void add_ours(script_connection& on, const answer& names, std::string_view after, std::vector<std::string>& to) const;

  const std::shared_ptr<store_listeners> listeners_ = std::make_shared<store_listeners>();
  /// Shared with the connections, which may outlive the store.
  const std::shared_ptr<hangup_watch> hangups_ = std::make_shared<hangup_watch>();
  redis_client client_;
  const std::string prefix_;
};

}  // namespace dlock::stores::redis::setnx
