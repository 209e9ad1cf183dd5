// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlock/store_interface/store.hpp"
#include "simulation/notifications.hpp"
#include "simulation/waiter_table.hpp"
#include "simulation/world.hpp"
#include "stores/sql/deadlock_cycles.hpp"
#include "stores/waiter_turns.hpp"

namespace dlock::simulation {

/// The turns of other processes' waiters, as this process has seen them.
class turns_of_others {
 public:
  bool is_over(const std::string& key, std::uint64_t fence, const waiter_table::row& first, instant now) {
    return turns_.is_over(key, fence, std::to_string(first.since) + " " + std::to_string(first.wake_id),
                          stores::waiter_turns::clock::time_point{now.time_since_epoch()});
  }

 private:
  stores::waiter_turns turns_{};
};

/// The waits of one process, which the server's waiter table has: what parked_waiters does on MySQL.
class registered_waiters final : public subscriber {
 public:
  registered_waiters(network& by, process& of, std::shared_ptr<turns_of_others> turns)
      : subscriber(by, of), turns_(std::move(turns)) {}

  void watch(const std::string& key, const id128& session, key_listener& listener) override;
  void unwatch(const std::string& key, key_listener& listener) override;
  std::size_t watches() const noexcept override;
  void published(const std::string& /*key*/) override {}
  void done(std::span<const request> requests, std::span<const reply> replies) override;
  void changed(const std::string& key) override;
  void woken() override;

 private:
  static constexpr moment never = std::numeric_limits<moment>::max();
  struct watched_key {
    std::vector<key_listener*> listeners{};
    id128 session{};
    instant begun{};  ///< of the wait
    bool registered = false;
    bool taken = false;  ///< by this process, since the watch began
    bool stale = false;  ///< its row is of a wait that a grant has ended
    bool works = false;
    bool was_rung = false;
    bool second = false;  ///< one row is ahead of its own
    std::uint64_t fence = 0;
    held_meanwhile held{};
  };
  struct looked_at {
    std::string key{};
    bool known = false;  ///< it has a row in the lock table
    bool free = false, dead = false, registered = false, first = false;
    std::size_t ahead = 0;
    std::uint64_t fence = 0;
  };
  struct free_key {
    std::string key{};
    std::uint64_t fence = 0;
  };
  enum class look_at : std::uint8_t { all_keys, second_keys };
  struct cycles_seen {
    std::vector<stores::sql::nested_waiter> waiters{};
    std::map<std::string, stores::sql::present_grant> grants{};
  };
  void broken() override;
  /// Does what is due next, if nothing is under way.
  void go_on();
  /// At the server, and with what came of it at the client, unless the connection has ended; then go_on().
  template <class At, class Then>
  void round_trip(At at, Then then);
  void begin();
  bool leave_old();
  bool enter_new();
  bool enter_held();
  void park();
  void sleep_ends(bool rung);
  void hear_own(const std::string& key);
  void look(look_at which, bool rung);
  void look_later();
  void let_first(std::vector<free_key> keys, look_at which);
  void let_first(std::vector<free_key> keys, look_at which, const std::optional<waiter_table::row>& first);
  void look_for_cycles();
  held_meanwhile held_by_waiters(const watched_key& about) const;
  void found(const std::vector<looked_at>& all, look_at which, bool rung);
  void found(const cycles_seen& all);
  void tell(watched_key& about, bool works);
  bool wanted() const noexcept;
  std::string wake_id() const { return std::to_string(connection_); }

  const std::shared_ptr<turns_of_others> turns_;
  std::map<std::string, watched_key, std::less<>> keys_{};
  bool connecting_ = false;
  bool busy_ = false;
  bool sleeps_ = false;
  bool new_sleep_ = false;
  bool killed_ = false;
  bool has_wake_id_ = false;
  std::uint64_t sleeps_begun_ = 0;
  std::uint64_t sleep_over_ = 0;
  moment next_try_ = 0;
  moment look_at_ = 0;
  moment second_look_at_ = never;
  moment look_after_ = 0;
};

}  // namespace dlock::simulation
