// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/lease_kind.hpp"

namespace DLOCK_EXPORT dlock {

/// A held lock, for operators: lock_service::holder(), lock_service::held_keys(). For a row locked in place that
/// another program holds by plain SQL, `label` is the text that it wrote as owner, and there is no session.
struct holder_info {
  std::string key{};
  id128 session{};                         ///< of the holder
  std::uint64_t fence = 0;                 ///< fencing token of the present grant
  std::string host{};                      ///< of the holder's process; empty if its session is gone
  std::int64_t pid = 0;                    ///< likewise
  std::string label{};                     ///< service_options::label of the holder
  lease_kind kind = lease_kind::expiring;  ///< what keeps it
  bool revoked = false;                    ///< an operator forced it: its renewals are refused
  std::chrono::microseconds since{0};  ///< how long ago it was granted, by the server's clock; a row doesn't keep it: 0
  std::chrono::microseconds remaining{0};  ///< until its expiry if it is not renewed; 0: over, or it has none
  /// Its session is gone or has expired: the key has no holder any more, and the next caller gets it.
  bool dead = false;
  /// Processes that wait for it and that a release can wake, as lock_service::waiters() counts them. Not set if the
  /// store does not know them, or they were not counted. held_keys() counts them on the lease tables of MySQL, MariaDB
  /// and SQLite, with wake=on also on tables of other programs, in Redis and in ZooKeeper.
  std::optional<std::uint64_t> waiters{};
  /// It was asked for with lock_options::linger: its process may keep it without a lease, until another process waits
  /// for it. `fence` is the last token that the process has reserved.
  bool lingers = false;
};

}  // namespace dlock
