// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dlock/store_interface/store.hpp"
#include "simulation/notifications.hpp"
#include "simulation/world.hpp"
#include "stores/sql/deadlock_cycles.hpp"

namespace dlock::simulation {

/// The waits of one process, which the server's waiter table has: what parked_waiters does on MySQL.
class registered_waiters final : public subscriber {
 public:
  using subscriber::subscriber;

  void watch(const std::string& key, const id128& session, key_listener& listener) override;
  void unwatch(const std::string& key, key_listener& listener) override;
  std::size_t watches() const noexcept override;
  void published(const std::string& /*key*/) override {}
  void done(std::span<const request> requests, std::span<const reply> replies) override;
  void changed(const std::string& key) override;
  void woken() override;

 private:
  struct watched_key {
    std::vector<key_listener*> listeners{};
    id128 session{};
    bool registered = false;
    bool taken = false;  ///< by this process, since the watch began
    bool stale = false;  ///< its row is of a wait that a grant has ended
    bool works = false;
    bool was_rung = false;
    std::uint64_t fence = 0;
    held_meanwhile held{};
  };
  struct looked_at {
    std::string key{};
    bool free = false, dead = false, registered = false;
    std::uint64_t fence = 0;
  };
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
  void look();
  void look_later();
  void look_for_cycles();
  held_meanwhile held_by_waiters(const watched_key& about) const;
  void found(const std::vector<looked_at>& all);
  void found(const cycles_seen& all);
  void tell(watched_key& about, bool works);
  bool wanted() const noexcept;
  std::string wake_id() const { return std::to_string(connection_); }

  std::map<std::string, watched_key, std::less<>> keys_{};
  bool connecting_ = false;
  bool busy_ = false;
  bool sleeps_ = false;
  bool new_sleep_ = false;
  bool killed_ = false;
  bool has_wake_id_ = false;
  std::uint64_t sleeps_begun_ = 0;
  moment next_try_ = 0;
  moment look_at_ = 0;
  moment look_after_ = 0;
};

}  // namespace dlock::simulation
