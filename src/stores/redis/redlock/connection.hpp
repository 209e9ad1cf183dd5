// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <poll.h>

#include <atomic>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "dlock/store_interface/store.hpp"
#include "stores/redis/redlock/master.hpp"
#include "stores/redis/redlock/votes.hpp"

namespace dlock::stores::redis::redlock {

/// The masters, and the requests in progress. A store and its connections share it.
struct master_group {
  explicit master_group(const redlock_settings& all);

  const redlock_settings settings;
  const majority of{settings.quorum(), settings.hosts.size()};
  const std::string here =
      id128::random().hex();  ///< identifies this object, which alone knows the numbers of its connections
  std::vector<std::unique_ptr<master>> masters{};
  unacknowledged_connections ends{};
  std::atomic<std::uint64_t> connections{0};
  std::atomic<bool> looks_up{
      false};  ///< a connection has ended so that a new one looks names up, and that one does not exist yet
};

/// A connection to each of the masters. It asks all at the same time. A master that does not reply in time is not
/// waited for again until it has caught up.
class quorum_connection final : public connection {
 public:
  using clock = master_link::clock;

  explicit quorum_connection(std::shared_ptr<master_group> of);

  void interrupt() noexcept override;
  bool usable() const noexcept override { return !interrupted_.load(std::memory_order_relaxed) && majority_; }
  /// Also false if the name of a master should be looked up again, which open() does; other connections keep the
  /// result.
  bool alive() noexcept override;
  const connection_identity& identity() const noexcept override { return identity_; }

  /// Waits until all are connected, or, once a majority is, a moment longer. Returns false without a majority.
  bool open(clock::time_point until, const std::stop_token& cancel);

  /// A master's replies, one for each command; missing ones at the end did not come in time.
  struct heard {
    bool sent = false;
    bool votes = false;  ///< at the time of the request
    std::vector<answer> response{};
  };
  enum class ask_late : bool { no, yes };
  /// Sends each master its commands, if it has any. Waits until `until`, but not for masters that are late, which are
  /// asked only if `late` says so.
  std::vector<heard> ask(std::span<const command_text> each, clock::time_point until, ask_late late);
  /// Sends all masters the same commands.
  std::vector<heard> ask(const command_text& all, clock::time_point until, ask_late late) {
    return ask(std::vector<command_text>(size(), all), until, late);
  }

  std::size_t size() const noexcept { return links_.size(); }
  const master_link& link(std::size_t which) const noexcept { return *links_[which]; }
  /// The number of masters that can be asked, are not late, and vote.
  std::size_t counting() const;
  /// The number of masters that can be asked, and are not late.
  std::size_t answering() const;
  /// Whether so many masters are down for lasting reasons that no majority is left.
  bool lasts() const;
  /// Which masters can't vote, and why.
  std::string trouble() const;
  /// Why a server can't be used, whatever the others say. Empty if all that were reached can.
  std::string refusal() const;

 private:
  /// Waits until something comes, or until `until`.
  void wait(clock::time_point until);
  /// Notices which masters have gone, caught up or come back. Waits a moment for those that are about to.
  void catch_up(clock::time_point until);
  void refuse_twins(clock::time_point now);
  /// Whether names should be looked up. Only new connections do that, and with a majority there may never be one.
  bool look_up_due(clock::time_point now) const;

  const std::shared_ptr<master_group> of_;
  connection_identity identity_{};
  std::vector<std::unique_ptr<master_link>> links_{};
  std::vector<pollfd> polled_{};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> majority_{true};  ///< a majority answers
};

}  // namespace dlock::stores::redis::redlock
