// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Processes that lock at random, while they are killed and stopped, their connections are ended, and the servers are
/// killed and restarted. A seed decides the order of the faults. At the end the log of who held what is checked against
/// what the store promises.

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "process/hold_log.hpp"
#include "process/torture/wait_check.hpp"

namespace dlock {
class lease;
class lock_service;
}  // namespace dlock

namespace dlock::test {

using dice = std::mt19937_64;

/// A store under torture, with servers that nobody else uses. What throws ends the test.
class tortured_fixture {
 public:
  virtual ~tortured_fixture() = default;
  virtual std::string url() const = 0;
  /// Whether what follows does something.
  virtual bool has_servers() const { return true; }
  /// Ends connections at the server.
  virtual void cut(dice& random) = 0;
  /// Stops or kills servers and starts them again; returns when they can be used.
  virtual void restart(dice& random, bool orderly) = 0;
  /// Whether a process that was stopped keeps all others from writing.
  virtual bool locked() { return false; }
  /// With torture_terms::shares: the members that the store has, and the keys that are closed to them.
  virtual std::vector<std::string> members() { return {}; }
};

/// What the store promises, and how it is used.
struct torture_terms {
  std::chrono::milliseconds ttl{1000};
  bool shares = false;   ///< readers, permits and exclusive holders, by several threads of each process
  bool lingers = false;  ///< keys stay with their process for a while
  /// A process that is stopped may hold up all others, because it has locked the file.
  bool stops_hold_up = false;
  bool fenced = true;  ///< as hold_terms has it
  bool counts = false;
  /// The key of a holder that dies is free at once.
  bool ends_with_connection = false;
  /// How long after such a fault two may trust their leases; 0: never.
  std::chrono::milliseconds doubt_after_cut{0};
  std::chrono::milliseconds doubt_after_restart{0};
  /// Within which every key is granted again after the last fault, under load.
  std::chrono::milliseconds recovery{6'000};
  /// With `shares` and `lingers`: how much later than the store promises a key may be granted, under load.
  std::chrono::milliseconds patience{5'000};
  std::chrono::milliseconds length{10'000};
};

struct torture_report {
  hold_check holds{};
  wait_check waits{};
  std::size_t kills = 0, pauses = 0, freezes = 0, halts = 0, cuts = 0, crashes = 0, orderly = 0;
  std::size_t keepers = 0;             ///< killed and stopped while they kept a key without a lease
  bool doubted = false;                ///< there was a time of doubt
  std::size_t deaths = 0;              ///< killed holders whose key had to be free at once
  std::vector<std::string> journal{};  ///< what was done, and when
  std::vector<int> codes{};            ///< of the processes that ended by themselves
  std::vector<std::string> stuck{};    ///< keys that nobody was granted in time after the last fault
  std::vector<std::string> late{};     ///< what was not free at once
  std::vector<std::string> left{};     ///< what remained of members
  std::string text() const;
};

torture_report torture(tortured_fixture& fixture, const torture_terms& terms, std::uint64_t seed);

/// The checks that every store must pass, and that each kind of fault it knows has happened. The environment may name
/// the seed, DLOCK_TORTURE_SEED: then the same faults come in the same order, though not at the same moments, and they
/// may meet other processes and connections. DLOCK_TORTURE_SECONDS replaces `length`, and prints the report.
void check_torture(tortured_fixture& fixture, const torture_terms& terms);

struct torture_settings {
  std::string log{};  ///< a hold_log
  std::vector<std::string> keys{};
  std::uint64_t seed = 1;
  std::chrono::milliseconds ttl{1000};
  unsigned threads = 1;
  bool shares = false;
  bool lingers = false;
  bool long_waits = false;
};

/// 0: its store has none.
std::uint64_t fence_of(const lease& mine);

/// Takes and releases the keys at random, holds one now and then for longer than a ttl of a second, writes under it to
/// a resource that refuses smaller fences, and logs what it holds, until somebody says something on standard input or
/// closes it.
void run_torture(lock_service& locks, const torture_settings& settings);

}  // namespace dlock::test
