// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlock/store_interface/store_admin.hpp"
#include "stores/redis/redlock/connection.hpp"
#include "stores/redis/redlock/missing_keys.hpp"
#include "stores/redis/setnx/values.hpp"

namespace dlock::stores::redis::redlock {

/// The lock of the Redlock page: key, value and scripts of scheme=setnx, granted by a majority of independent masters.
class redlock_store final : public store, private store_admin {
 public:
  explicit redlock_store(const redlock_settings& settings);

  const std::string& name() const noexcept override { return group_->settings.name; }
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
  bool terminate(connection& on, const connection_identity& lost) noexcept override;
  store_admin* admin() noexcept override { return this; }

 private:
  using clock = quorum_connection::clock;

  // store_admin
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept override;
  /// Only what was locked by dlock, and is held by a majority.
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  /// There are no sessions to be revoked.
  reply revoke(connection&, const request&) noexcept override { return {.result = outcome::no}; }
  /// The servers delete what has expired.
  reply cleanup(connection&, microseconds, std::size_t) noexcept override { return {.result = outcome::yes}; }
  /// Whether each master can be asked, and counts.
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;

  std::unique_ptr<quorum_connection> open(microseconds limit, const std::stop_token& cancel, fault& why) const;
  void take(quorum_connection& on, std::span<const request> requests, std::span<reply> replies) const;
  /// Undoes what has found no majority. Where something may be left: ballot::remains.
  void take_back(quorum_connection& on, std::span<const request> requests,
                 std::vector<std::vector<ballot>>& ballots) const;
  void run(quorum_connection& on, std::span<const request> requests, std::span<reply> replies) const;
  /// Gives the key of a lease that a majority has extended to the masters that have none: they were restarted, or not
  /// there. So a lease outlives the restart of all masters, one after the other. Only where there was none at the
  /// renewal before either: else a release on another connection may have deleted it a moment ago, and is on its way to
  /// the others.
  void restore(quorum_connection& on, std::span<const request> requests,
               const std::vector<std::vector<ballot>>& ballots) const;
  /// Keys on a master that dlock has locked. False: it did not answer.
  bool scan(quorum_connection& on, std::size_t master, std::vector<std::string>& keys) const;
  fault trouble(const quorum_connection& on) const;
  /// How long a master is waited for.
  std::chrono::microseconds timeout(std::span<const request> requests) const noexcept;

  const std::shared_ptr<master_group> group_;
  mutable missing_keys missing_{};
};

}  // namespace dlock::stores::redis::redlock
