// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/id128.hpp"
#include "simulation/mistakes.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// The waiter table at the server, and the connections that sleep there. A process has one wake id for all its keys,
/// which is the number of the connection that sleeps.
class waiter_table {
 public:
  struct row {
    moment since = 0;  ///< the earliest waits longest
    std::uint64_t wake_id = 0;
    id128 session{};
    std::string held{};        ///< as write_held() writes it, with the time before it
    bool passed_over = false;  ///< for mistake::passed_over_until_woken alone, which leaves the row
  };
  using rows = std::map<std::string, std::vector<row>, std::less<>>;

  /// Those that entered earlier come first, or with `begun` those that have waited longer.
  void enter(const std::string& key, std::uint64_t wake_id, const id128& session, std::optional<moment> begun);
  void leave(const std::string& key, std::uint64_t wake_id);
  /// Another process deletes that row, whose process did not take the key in its turn.
  void pass_over(const std::string& key, const row& first);
  row* find(std::string_view key, std::uint64_t wake_id) noexcept;
  const rows& all() const noexcept { return rows_; }

  /// A process that holds its wake id can be woken: it sleeps on that connection, or is about to.
  void hang_up(std::uint64_t wake_id) noexcept { sleeps_.erase(wake_id); }
  void park(std::uint64_t wake_id, std::uint64_t sleep) { sleeps_[wake_id] = sleep; }
  bool holds(std::uint64_t wake_id) const noexcept { return sleeps_.contains(wake_id); }
  /// The connection has ended, and its rows are those of a dead process.
  void ended(std::uint64_t wake_id) noexcept;
  void joined(std::uint64_t wake_id) { present_.insert(wake_id); }
  /// Ends that sleep, unless it has ended already.
  bool end_sleep(std::uint64_t wake_id, std::uint64_t sleep) noexcept;
  /// KILL QUERY: ends whatever sleep that is.
  bool ring(std::uint64_t wake_id) noexcept;
  /// Called when a sleep has been ended so.
  std::function<void(std::uint64_t wake_id)> woken{};

  /// Whoever is to be woken first; 0: nobody.
  std::uint64_t first(std::string_view key, std::uint64_t own) noexcept;
  /// Those of other processes that come before `own`'s: of a process that is not `registered`, all do.
  std::vector<row> earlier(std::string_view key, std::uint64_t own, bool registered) const;
  /// The first of them.
  std::optional<row> first_of_others(std::string_view key, std::uint64_t own, bool registered) const;
  /// How many rows come before `own`'s, also those of processes that are no more.
  std::size_t ahead(std::string_view key, std::uint64_t own) const;

  mistake wrong = mistake::none;

 private:
  rows rows_{};
  moment last_place_ = 0;
  std::map<std::uint64_t, std::uint64_t> sleeps_{};  // by the wake id that is held; 0: the sleep is over
  std::set<std::uint64_t> present_{};
};

}  // namespace dlock::simulation
