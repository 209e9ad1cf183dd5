// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "simulation/random.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// What may happen in a run. Each run has some of them; a run that failed is tried again without each.
enum class hazard : std::uint32_t {
  slow_statements = 1U << 0U,  ///< some stay long between their clock and their execution, on their way, or both
  lost_replies = 1U << 1U,     ///< a statement is done, and its connection breaks before the answer is there
  ghosts = 1U << 2U,           ///< a connection breaks, and its statement is done later
  hangs = 1U << 3U,            ///< no answer comes, until the client interrupts the statement
  refusals = 1U << 4U,         ///< connections can't be made, or are found dead
  kills = 1U << 5U,            ///< the server ends connections
  restarts = 1U << 6U,         ///< the server is restarted
  failovers = 1U << 7U,        ///< ... and calls itself another one
  freezes = 1U << 8U,          ///< processes stand still
  crashes = 1U << 9U,          ///< processes are killed
  drift = 1U << 10U,           ///< clocks go at different rates
  late_threads = 1U << 11U,    ///< threads get no processor for long
  transactions = 1U << 12U,    ///< leases are verified in transactions
  rows = 1U << 13U,            ///< rows of the application's are locked
  several = 1U << 14U,         ///< several keys at once
  unkept = 1U << 15U,          ///< leases with an expiry of their own
  limits = 1U << 16U,          ///< min_hold, max_hold
  asynchronous = 1U << 17U,    ///< calls that nobody waits for
  cancels = 1U << 18U,         ///< calls are cancelled
  reentry = 1U << 19U,         ///< owners that enter again
  closes = 1U << 20U,          ///< services are closed with leases held, and others begin
  force = 1U << 21U,           ///< operators take locks away
  cleanup = 1U << 22U,         ///< idle keys are forgotten
  one_by_one = 1U << 23U,      ///< batches are many statements
  contention = 1U << 24U,      ///< row locks fail batches, and deadlocks statements
  abandoned = 1U << 25U,       ///< leases are never released
  stale_polls = 1U << 26U,     ///< a poll may show a holder as expired who is not: a node of a cluster that lags
  long_holds = 1U << 27U,      ///< leases are held for longer than their ttl
  columns = 1U << 28U,         ///< rows whose own expiry column keeps the lease
  claims = 1U << 29U,          ///< free rows are claimed by transactions of the application
  foreign = 1U << 30U,         ///< other programs lock rows by their expiry column, and update rows
};

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
};
inline constexpr std::uint32_t all_hazards = (1U << hazard_names.size()) - 1;

/// What a seed makes of a run.
struct plan {
  std::uint64_t seed = 0;
  std::uint32_t hazards = 0;
  unsigned processes = 2;
  unsigned threads = 3;  ///< of the application, in each process
  unsigned keys = 3;
  unsigned rounds = 40;  ///< of each thread
  unsigned connections = 2;
  moment travel = 200;        ///< of a statement on the wire, at most
  moment mischief = 700'000;  ///< between two of the rarer misfortunes, about
  moment first_pause = 10;    ///< of a waiter, milliseconds
  std::uint64_t often = 1;    ///< how much more often than usual faults come
  bool take_waits = false;    ///< a take waits for row locks for up to a second

  /// `allowed`: the hazards that the run may have.
  static plan of(std::uint64_t seed, std::uint32_t allowed = all_hazards);
  bool has(hazard one) const noexcept { return (hazards & static_cast<std::uint32_t>(one)) != 0; }
  std::string describe() const;
};

}  // namespace dlock::simulation
