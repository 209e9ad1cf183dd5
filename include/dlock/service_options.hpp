// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/lock_options.hpp"

namespace DLOCK_EXPORT dlock {

class observer;
class environment;

/// How one lock_service works. An aggregate, owning; validated when the service is made.
/// Errors: std::invalid_argument, naming the first bad field and its value.
struct service_options {
  /// Shown to operators as the holder, beside host and pid. At most 64 bytes. Default: the program's name.
  std::string label{};
  /// Connections for acquires and releases; one more serves renewal. No connection is bound to a held lock. At most
  /// half of them wait for rows that another program has locked. With 1, a thread of yours that a debugger stops in the
  /// middle of a statement stops all acquires and releases. A session may have 32 + 2 x connections broken connections
  /// in doubt; more end it (loss_reason::abandoned). Default 4; 1 to 256.
  std::size_t connections = 4;
  /// What calls inherit for each field that they do not set themselves. Default: lock_options{}, the library's own.
  lock_options defaults{};
  /// Trust in a lease ends this long before the server may give it away, and whatever ends it, dlock itself frees the
  /// key no earlier than that. Default 0: max(50 ms, ttl/20), at most ttl/4. At most a quarter of the ttl that a lease
  /// gets: here of that in `defaults`, and of that in the options of each call, which throws std::invalid_argument
  /// otherwise.
  std::chrono::milliseconds margin{0};
  /// Threads and asynchronous calls that may wait for a lock at one time, queued in this service or between two polls,
  /// all keys together; more get lock_refused (too_many_waiters). Default 10,000; 1 to 10,000,000.
  std::size_t max_waiters = 10'000;
  /// Longest time a lease's destructor or release() spends before the release is left to the background. Default 1 s;
  /// 10 ms to 60 s. The last one after the end of its service may take as long again, for the service's threads.
  std::chrono::milliseconds release_limit{1'000};
  /// Longest time the service's destructor waits for leases still held. Default 5 s; 0 to 1 day.
  std::chrono::milliseconds close_limit{5'000};
  /// How long the constructor tries to reach a database that may start later than this program. It throws
  /// at once for what doesn't pass by itself (a wrong password, a missing right). Default 0: one attempt; at most 1
  /// day.
  std::chrono::milliseconds start_limit{0};
  /// The constructor does not speak to the database, which may be down: the first call that needs it makes or verifies
  /// the schema; what the constructor would have thrown is the reason in that call's store_error. Default false. Not
  /// together with start_limit.
  bool lazy = false;
  /// Clean-up may delete a free key that was not granted for this long (later fences stay greater). Default 24
  /// h; 0: never; at most 365 days.
  std::chrono::milliseconds key_retention{std::chrono::hours{24}};
  /// How often clean-up runs. Default 60 s; 0: never; at most 1 day.
  std::chrono::milliseconds cleanup_interval{60'000};
  /// A holder that was stopped in a transaction in which it verified its lease keeps the key until that transaction
  /// ends (event blocked names its connection). A waiter that has seen it so long after the holder's death ends that
  /// connection (KILL, which needs the same database user or the privilege): what it wrote is rolled back. MySQL and
  /// MariaDB only. Default 0: never; else 1 s to 1 day.
  std::chrono::milliseconds break_verified_after{0};
  /// Notified of grants, losses, failures. Default: none. See observer.hpp, spdlog_observer.hpp.
  std::shared_ptr<dlock::observer> observer{};
  /// Only for tests: another clock, other threads. Default: system_time(). Must outlive the service and its leases.
  environment* time = nullptr;
};

/// Checks every field.
/// Errors: std::invalid_argument, naming the first bad field and its value.
DLOCK_EXPORT void validate(const service_options& options);
/// The same, of options of a call to a service: what is not set counts as its defaults say.
/// Errors: std::invalid_argument, naming the first bad field and its value.
DLOCK_EXPORT void validate(const lock_options& options, const service_options& in);

/// For lock_service::close(): what is still held at the end of its limit is taken from its holders.
struct release_all_t {
  explicit release_all_t() = default;
};
inline constexpr release_all_t release_all{};

}  // namespace dlock
