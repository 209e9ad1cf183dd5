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

/// The masters, and what is under way to them. Shared by a store and its connections.
struct master_group {
  explicit master_group(const redlock_settings& all);

  const redlock_settings settings;
  const majority of{settings.quorum(), settings.hosts.size()};
  const std::string here =
      id128::random().hex();  ///< names this object, which alone knows the numbers of its connections
  std::vector<std::unique_ptr<master>> masters{};
  unacknowledged_connections ends{};
  std::atomic<std::uint64_t> connections{0};
  std::atomic<bool> looks_up{
      false};  ///< a connection has ended so that a new one looks names up, and that is not there yet
};

/// A connection to each of the masters. All are asked at the same time; one that does not answer in time is not waited
/// for again until it has caught up.
class quorum_connection final : public connection {
 public:
  using clock = master_link::clock;

  explicit quorum_connection(std::shared_ptr<master_group> of);

  void interrupt() noexcept override;
  bool usable() const noexcept override { return !interrupted_.load(std::memory_order_relaxed) && majority_; }
  /// No also when the name of a master should be looked up again, which open() does: others keep what it finds.
  bool alive() noexcept override;
  const connection_identity& identity() const noexcept override { return identity_; }

  /// Waits until all are connected; or, once a majority is, for a moment more. False: no majority.
  bool open(clock::time_point until, const std::stop_token& cancel);

  /// What a master said, one answer for each command; those at the end that are missing did not come in time.
  struct heard {
    bool sent = false;
    bool votes = false;  ///< when it was asked
    std::vector<answer> response{};
  };
  enum class ask_late : bool { no, yes };
  /// Asks each what stands in its place, or nothing, where there is no command. Waits until `until`, not for those that
  /// are late; these are asked only if `late` says so.
  std::vector<heard> ask(std::span<const command_text> each, clock::time_point until, ask_late late);
  /// Asks all the same.
  std::vector<heard> ask(const command_text& all, clock::time_point until, ask_late late) {
    return ask(std::vector<command_text>(size(), all), until, late);
  }

  std::size_t size() const noexcept { return links_.size(); }
  const master_link& link(std::size_t which) const noexcept { return *links_[which]; }
  /// How many can be asked, are not late, and count.
  std::size_t counting() const;
  /// How many can be asked, and are not late.
  std::size_t answering() const;
  /// Whether so many masters are down for reasons that last that no majority is left.
  bool lasts() const;
  /// Which masters can't help, and why.
  std::string trouble() const;
  /// Why a server will not do, whatever the others say. Empty: all that were reached will.
  std::string refusal() const;

 private:
  /// Waits until something comes, at most so long.
  void wait(clock::time_point until);
  /// Sees which masters have gone, caught up or come back. Waits a moment for those that are about to.
  void catch_up(clock::time_point until);
  void refuse_twins(clock::time_point now);
  /// Names are looked up only by new connections, which there may never be while a majority is there.
  bool look_up_due(clock::time_point now) const;

  const std::shared_ptr<master_group> of_;
  connection_identity identity_{};
  std::vector<std::unique_ptr<master_link>> links_{};
  std::vector<pollfd> polled_{};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> majority_{true};  ///< answers
};

}  // namespace dlock::stores::redis::redlock
