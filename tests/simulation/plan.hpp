// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "simulation/store_kind.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// What may happen in a run. Each run has some of them; a run that failed is tried again without each.
enum class hazard : std::uint64_t {
  slow_statements = 1ULL << 0U,  ///< some stay long between their clock and their execution, on their way, or both
  lost_replies = 1ULL << 1U,     ///< a statement is done, and its connection breaks before the answer is there
  ghosts = 1ULL << 2U,           ///< a connection breaks, and its statement is done later
  hangs = 1ULL << 3U,            ///< no answer comes, until the client interrupts the statement
  refusals = 1ULL << 4U,         ///< connections can't be made, or are found dead
  kills = 1ULL << 5U,            ///< the server ends connections
  restarts = 1ULL << 6U,         ///< the server is restarted
  failovers = 1ULL << 7U,        ///< ... and calls itself another one
  freezes = 1ULL << 8U,          ///< processes stand still
  crashes = 1ULL << 9U,          ///< processes are killed
  drift = 1ULL << 10U,           ///< clocks go at different rates
  late_threads = 1ULL << 11U,    ///< threads get no processor for long
  transactions = 1ULL << 12U,    ///< leases are verified in transactions
  rows = 1ULL << 13U,            ///< rows of the application's are locked
  several = 1ULL << 14U,         ///< several keys at once
  unkept = 1ULL << 15U,          ///< leases with an expiry of their own
  limits = 1ULL << 16U,          ///< min_hold, max_hold
  asynchronous = 1ULL << 17U,    ///< calls that nobody waits for
  cancels = 1ULL << 18U,         ///< calls are cancelled
  reentry = 1ULL << 19U,         ///< owners that enter again
  closes = 1ULL << 20U,          ///< services are closed with leases held, and others begin
  force = 1ULL << 21U,           ///< operators take locks away
  cleanup = 1ULL << 22U,         ///< idle keys are forgotten
  one_by_one = 1ULL << 23U,      ///< batches are many statements
  contention = 1ULL << 24U,      ///< row locks fail batches, and deadlocks statements
  abandoned = 1ULL << 25U,       ///< leases are never released
  stale_polls = 1ULL << 26U,     ///< a poll may show a holder as expired who is not: a node of a cluster that lags
  long_holds = 1ULL << 27U,      ///< leases are held for longer than their ttl
  columns = 1ULL << 28U,         ///< rows whose own expiry column keeps the lease
  claims = 1ULL << 29U,          ///< free rows are claimed by transactions of the application
  foreign =
      1ULL << 30U,  ///< other programs lock rows by their expiry column, update rows, and have them locked for a while
  clock_steps = 1ULL << 31U,             ///< the server's clock is set back
  lost_notifications = 1ULL << 32U,      ///< a message that a key may be free does not arrive
  late_notifications = 1ULL << 33U,      ///< ... or arrives late, and those after it too
  repeated_notifications = 1ULL << 34U,  ///< ... or arrives twice
  broken_channels = 1ULL << 35U,         ///< the connection of notifications breaks, and the client sees it
  silent_channels = 1ULL << 36U,         ///< ... or does not see it
  requests = 1ULL << 37U,                ///< several processes lock for one request
  long_waits = 1ULL << 38U,              ///< some calls wait for up to 20 s
  deletions = 1ULL << 39U,               ///< somebody deletes a held lock at the server, which notifies its holder
  distances = 1ULL << 40U,               ///< some processes are farther from the server than others
  nested = 1ULL << 41U,                  ///< threads wait for a key while they hold others, in any order
};
/// Those that are faults: without them nothing fails, and nothing is slow.
inline constexpr std::uint64_t fault_hazards = [] {
  std::uint64_t all = 0;
  for (const auto each :
       {hazard::slow_statements, hazard::lost_replies, hazard::ghosts, hazard::hangs, hazard::refusals, hazard::kills,
        hazard::restarts, hazard::failovers, hazard::freezes, hazard::crashes, hazard::late_threads, hazard::contention,
        hazard::stale_polls, hazard::clock_steps, hazard::lost_notifications, hazard::late_notifications,
        hazard::broken_channels, hazard::silent_channels}) {
    all |= static_cast<std::uint64_t>(each);
  }
  return all;
}();

struct hazard_name {
  hazard what;
  std::string_view name;
};
inline constexpr std::array hazard_names{
    hazard_name{hazard::slow_statements, "slow_statements"},
    hazard_name{hazard::lost_replies, "lost_replies"},
    hazard_name{hazard::ghosts, "ghosts"},
    hazard_name{hazard::hangs, "hangs"},
    hazard_name{hazard::refusals, "refusals"},
    hazard_name{hazard::kills, "kills"},
    hazard_name{hazard::restarts, "restarts"},
    hazard_name{hazard::failovers, "failovers"},
    hazard_name{hazard::freezes, "freezes"},
    hazard_name{hazard::crashes, "crashes"},
    hazard_name{hazard::drift, "drift"},
    hazard_name{hazard::late_threads, "late_threads"},
    hazard_name{hazard::transactions, "transactions"},
    hazard_name{hazard::rows, "rows"},
    hazard_name{hazard::several, "several"},
    hazard_name{hazard::unkept, "unkept"},
    hazard_name{hazard::limits, "limits"},
    hazard_name{hazard::asynchronous, "asynchronous"},
    hazard_name{hazard::cancels, "cancels"},
    hazard_name{hazard::reentry, "reentry"},
    hazard_name{hazard::closes, "closes"},
    hazard_name{hazard::force, "force"},
    hazard_name{hazard::cleanup, "cleanup"},
    hazard_name{hazard::one_by_one, "one_by_one"},
    hazard_name{hazard::contention, "contention"},
    hazard_name{hazard::abandoned, "abandoned"},
    hazard_name{hazard::stale_polls, "stale_polls"},
    hazard_name{hazard::long_holds, "long_holds"},
    hazard_name{hazard::columns, "columns"},
    hazard_name{hazard::claims, "claims"},
    hazard_name{hazard::foreign, "foreign"},
    hazard_name{hazard::clock_steps, "clock_steps"},
    hazard_name{hazard::lost_notifications, "lost_notifications"},
    hazard_name{hazard::late_notifications, "late_notifications"},
    hazard_name{hazard::repeated_notifications, "repeated_notifications"},
    hazard_name{hazard::broken_channels, "broken_channels"},
    hazard_name{hazard::silent_channels, "silent_channels"},
    hazard_name{hazard::requests, "requests"},
    hazard_name{hazard::long_waits, "long_waits"},
    hazard_name{hazard::deletions, "deletions"},
    hazard_name{hazard::distances, "distances"},
    hazard_name{hazard::nested, "nested"},
};
inline constexpr std::uint64_t all_hazards = (1ULL << hazard_names.size()) - 1;

/// What runs are about. All but `everything` meet one kind of trouble more often than chance does.
enum class subject : std::uint8_t {
  everything,
  cycles,     ///< nested waits that end early while others begin: what looks like a deadlock cycle may be none
  lingering,  ///< keys that stay with a process between two leases
  shared,     ///< readers, writers, and holders of permits
  stops,      ///< processes that stand still while they wait, and nothing else that fails: they excuse no other delay
};
struct subject_name {
  subject what;
  std::string_view name;
};
inline constexpr std::array subject_names{
    subject_name{subject::everything, "everything"}, subject_name{subject::cycles, "cycles"},
    subject_name{subject::lingering, "lingering"},   subject_name{subject::shared, "shared"},
    subject_name{subject::stops, "stops"},
};

/// What runs may have.
struct allowed {
  std::uint64_t hazards = all_hazards;
  std::uint32_t kinds = all_store_kinds;
  subject about = subject::everything;
};

/// What a seed makes of a run.
struct plan {
  std::uint64_t seed = 0;
  subject about = subject::everything;
  store_kind kind = store_kind::lease_table;
  std::uint64_t hazards = 0;
  unsigned processes = 2;
  unsigned threads = 3;  ///< of the application, in each process
  unsigned keys = 3;
  unsigned rounds = 40;  ///< of each thread
  unsigned connections = 2;
  moment travel = 200;        ///< of a statement on the wire, at most
  moment farthest = 5;        ///< so many times as far from the server as the nearest process, with hazard::distances
  moment mischief = 700'000;  ///< between two of the rarer misfortunes, about
  moment first_pause = 10;    ///< of a waiter, milliseconds
  std::uint64_t often = 1;    ///< how much more often than usual faults come
  bool take_waits = false;    ///< a statement waits for row locks for up to a second, unless row_wait::never
  bool in_order = false;      ///< all ask with fairness::fifo
  unsigned nested = 30;       ///< how many leases of a hundred are held while their thread waits for another key
  moment before_nested = 0;   ///< for how long at most before that
  unsigned cancelled = 15;    ///< how many calls of a hundred are cancelled, with hazard::cancels

  static plan of(std::uint64_t seed, const allowed& may = {});
  bool has(hazard one) const noexcept { return (hazards & static_cast<std::uint64_t>(one)) != 0; }
  capabilities caps() const noexcept {
    auto made = traits_of(kind).caps;
    made.lingers = about == subject::lingering;
    made.shares = about == subject::shared;
    return made;
  }
  /// Waiters that don't run are passed over. In all other runs they keep the key from those behind them, as they did
  /// before this was simulated; there any stop excuses any delay.
  bool passes_over() const noexcept { return about == subject::stops; }
  /// Waiters rely on notifications, and don't poll.
  bool notifies() const noexcept { return caps().tells_free() && !caps().others_release(); }
  moment longest_travel() const noexcept { return has(hazard::distances) ? farthest * travel : travel; }
  /// Transactions have rows locked for a while, which no key of the store tells.
  bool locks_rows() const noexcept { return has(hazard::transactions) || has(hazard::claims) || has(hazard::foreign); }
  std::string describe() const;

 private:
  void be_about_cycles(random_source& chance);
  void be_about_lingering(random_source& chance);
  void be_about_shared(random_source& chance);
  void be_about_stops(random_source& chance);
};

}  // namespace dlock::simulation
