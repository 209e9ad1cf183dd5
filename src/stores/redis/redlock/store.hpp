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
  /// Undoes grants without a majority. ballot::remains says where something may be left.
  void take_back(quorum_connection& on, std::span<const request> requests,
                 std::vector<std::vector<ballot>>& ballots) const;
  /// The masters' answers to requests of one verb, and their combined meaning.
  enum class holders : bool { any, of_majority };
  void run(quorum_connection& on, std::span<const request> requests, std::span<reply> replies,
           holders polled = holders::any) const;
  /// Restores the key of a lease that a majority has extended on masters that have none, because they were restarted or
  /// not reachable. So a lease survives the restart of all masters, one after the other. Only on masters that had none
  /// at the previous renewal either: otherwise a release on another connection may have just deleted it, and be on its
  /// way to the others.
  void restore(quorum_connection& on, std::span<const request> requests,
               const std::vector<std::vector<ballot>>& ballots) const;
  fault trouble(const quorum_connection& on) const;
  /// How long to wait for a master.
  std::chrono::microseconds timeout(std::span<const request> requests) const noexcept;

  const std::shared_ptr<master_group> group_;
  mutable missing_keys missing_{};
  published_releases published_;
  std::atomic<std::size_t> mute_{0};  ///< the masters that could not notify
  /// The messages of one master.
  struct master_channels {
    master_channels(redis_settings at, std::string prefix, key_channels::report says, key_channels::judge frees)
        : client(std::move(at), {}), channels(client, std::move(prefix), std::move(says), std::move(frees)) {}
    redis_client client;
    key_channels channels;
  };
  std::vector<std::unique_ptr<master_channels>> channels_{};
};

}  // namespace dlock::stores::redis::redlock
