// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "stores/redis/server_store.hpp"
#include "stores/redis/setnx/values.hpp"

namespace dlock::stores::redis::setnx {

/// A store of keys that other programs lock too, on one server or on several. Each key has an expiry at the server, and
/// no session keeps a lease.
class shared_key_store : public redis_store {
 public:
  capabilities caps() const noexcept final {
    return {.session_leases = false,
            .renewed_leases = true,
            .fence = false,
            .min_hold = false,
            .waits = wakes_ ? waiting::notified_beside_others : waiting::polls,
            .any_key = false};
  }
  /// A folded key would be another lock than the one that other programs know by that name.
  std::string unfit_key(std::string_view key) const final { return setnx::unfit(key); }
  /// No session keeps a lease here, so no session has a row.
  reply session(connection&, session_verb, const session_record&) noexcept final { return {.result = outcome::yes}; }

 protected:
  /// `prefix` is that of the keys; may be empty. `wakes`: dlock's releases notify waiters.
  shared_key_store(std::string prefix, bool wakes) : prefix_(std::move(prefix)), wakes_(wakes) {}

  const std::string& prefix() const noexcept { return prefix_; }
  /// Returns one reply for each command; an empty one did not come.
  using asker = std::function<std::vector<answer>(const command_text&)>;
  /// Adds one server's keys that dlock has locked and that are greater than `after`.
  reply scan_server(const asker& ask, std::string_view after, std::set<std::string>& keys) const;

 private:
  // store_admin
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept final;
  /// Lists only dlock's locks, because no mark distinguishes other locks from keys that are no locks.
  reply list(connection& on, std::string_view after, std::size_t limit, std::vector<holder_info>& found) noexcept final;
  /// There are no sessions to revoke.
  reply revoke(connection&, const request&) noexcept final { return {.result = outcome::no}; }
  /// The servers delete expired keys themselves.
  reply cleanup(connection&, microseconds, std::size_t) noexcept final { return {.result = outcome::yes}; }

  /// Adds the keys that dlock has locked and that are greater than `after`.
  virtual reply scan(connection& on, std::string_view after, std::set<std::string>& keys) = 0;
  /// As execute(), for keys. Returns absent unless a holder excludes all others.
  virtual void poll(connection& on, std::span<const request> keys, std::span<reply> replies) = 0;

  const std::string prefix_;
  const bool wakes_;
};

/// The lock that most programs on Redis use: SET NX PX, and a script that deletes the key if it still has our value. A
/// value names session and attempt, so it is never used twice.
class setnx_store final : public server_store<shared_key_store> {
 public:
  explicit setnx_store(const redis_settings& settings)
      : server_store(settings, scripts, std::string(channel_prefix) + settings.prefix, settings.prefix, settings.wake) {
  }

  void prepare() override;

 private:
  bool introduce(script_connection& to, fault& why) const override;
  void add(script_calls& to, const request& asked, std::string_view) const override {
    add_request(to, prefix(), asked);
  }
  reply judge(const request& asked, const answer& response) override;
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;
  reply scan(connection& on, std::string_view after, std::set<std::string>& keys) override;
  void poll(connection& on, std::span<const request> keys, std::span<reply> replies) override {
    execute(on, keys, replies);
  }
};

}  // namespace dlock::stores::redis::setnx
