// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/redlock/connection.hpp"
#include "stores/redis/redlock/votes.hpp"
#include "stores/redis/setnx/store.hpp"

namespace dlock::stores::redis::redlock {

/// The lock of the Redlock page: key, value and scripts of scheme=setnx, granted by a majority of independent masters.
class redlock_store final : public setnx::shared_key_store {
 public:
  explicit redlock_store(const redlock_settings& settings);

  const std::string& name() const noexcept override { return group_->settings.name; }
  void prepare() override;
  using shared_key_store::connect;
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override;
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  bool terminate(connection& on, const connection_identity& lost) noexcept override;
  void watch(std::string_view key, const id128&, key_listener& listener) noexcept override;
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override;

 private:
  using clock = quorum_connection::clock;

  /// Whether each master can be asked, and counts.
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;
  reply scan(connection& on, std::string_view after, std::set<std::string>& keys) override;
  void poll(connection& on, std::span<const request> keys, std::span<reply> replies) override;

  std::unique_ptr<quorum_connection> open(microseconds limit, const std::stop_token& cancel, fault& why) const;
  void take(quorum_connection& on, std::span<const request> requests, std::span<reply> replies) const;
  /// Undoes what has found no majority. Where something may be left: ballot::remains.
  void take_back(quorum_connection& on, std::span<const request> requests,
                 std::vector<std::vector<ballot>>& ballots) const;
  /// What the masters say of requests of one verb, and what that means together.
  enum class holders : bool { any, of_majority };
  void run(quorum_connection& on, std::span<const request> requests, std::span<reply> replies,
           holders polled = holders::any) const;
  /// Gives the key of a lease that a majority has extended to the masters that have none: they were restarted, or not
  /// there. So a lease outlives the restart of all masters, one after the other. Only where there was none at the
  /// renewal before either: else a release on another connection may have deleted it a moment ago, and is on its way to
  /// the others.
  void restore(quorum_connection& on, std::span<const request> requests,
               const std::vector<std::vector<ballot>>& ballots) const;
  fault trouble(const quorum_connection& on) const;
  /// How long a master is waited for.
  std::chrono::microseconds timeout(std::span<const request> requests) const noexcept;

  const std::shared_ptr<master_group> group_;
  mutable missing_keys missing_{};
  published_releases published_;
  std::atomic<std::size_t> mute_{0};  ///< masters that have not been able to notify
  /// What one master publishes.
  struct master_channels {
    master_channels(redis_settings at, std::string prefix, key_channels::report says, key_channels::judge frees)
        : client(std::move(at), {}), channels(client, std::move(prefix), std::move(says), std::move(frees)) {}
    redis_client client;
    key_channels channels;
  };
  std::vector<std::unique_ptr<master_channels>> channels_{};
};

}  // namespace dlock::stores::redis::redlock
