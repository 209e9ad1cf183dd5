// SPDX-License-Identifier: BSL-1.0
#pragma once

/// An overview of a store for operators: store_admin.hpp.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/row_table.hpp"

namespace DLOCK_EXPORT dlock {

/// A session, which keeps the leases of one process and ttl class alive.
struct session_info {
  id128 id{};
  std::string host{};
  std::int64_t pid = 0;
  std::string label{};
  std::chrono::microseconds ttl{0};  ///< 0: the store does not show it
  std::chrono::microseconds age{0};  ///< since it was opened; 0 if the store does not show it
  std::chrono::microseconds remaining{
      0};                   ///< until its expiry if it is not renewed; 0 if it is over, or the store does not show it
  bool revoked = false;     ///< an operator forced it
  bool dead = false;        ///< it has expired
  std::uint64_t locks = 0;  ///< keys that it holds, as far as they were read
};

/// A store at one moment.
struct store_overview {
  std::uint64_t held = 0;       ///< keys that are held
  std::uint64_t held_dead = 0;  ///< of these: the holder's session is gone or has expired
  std::uint64_t keys = 0;       ///< keys that the store keeps, free ones included
  std::uint64_t sessions_alive = 0;
  std::uint64_t sessions_dead = 0;
  /// Grows by one with each grant. If `keys` or this itself has fallen, the number of grants in between is unknown. Not
  /// set if the store does not count them.
  std::optional<std::int64_t> grants{};
  /// False if the store was too large to read all of it. Then the numbers above, except `sessions_*`, are those of a
  /// part, and so are `longest` and session_info::locks.
  bool complete = true;
  std::vector<session_info> sessions{};  ///< those that hold most first
  std::vector<holder_info> longest{};    ///< held keys, those held longest first
};

/// A program that waits for a key.
struct waiter_info {
  std::string host{};                   ///< empty: the store does not show it
  std::int64_t pid = 0;                 ///< 0: the store does not show it
  std::string label{};                  ///< service_options::label, or the server's user
  std::chrono::microseconds waited{0};  ///< 0: the store does not show it
};

/// The waiters of one key, as far as the server knows them.
struct waiter_overview {
  bool known = false;                ///< false if waiters poll, so that the server does not know them
  std::uint64_t count = 0;           ///< waiting processes or connections
  std::vector<waiter_info> first{};  ///< some of them, in the order in which they are served; a store may show none
};

/// A row of the application that is locked in place.
struct held_row {
  std::vector<row_value> id{};
  holder_info holder{};  ///< its key is that of the row, "orders:42"
};

/// A fact about a store's server that matters to locks; `dlock doctor` shows it.
struct store_finding {
  enum class level : std::uint8_t {
    good,     ///< as it should be
    note,     ///< worth knowing
    warning,  ///< locks work, but something may be lost, late or refused
    problem,  ///< locks don't work, or their promise does not hold
  };

  level severity = level::good;
  std::string name{};     ///< what was examined, a few words that never change: "durability"
  std::string value{};    ///< what was found: "innodb_flush_log_at_trx_commit = 2"
  std::string meaning{};  ///< what that means for locks
  std::string advice{};   ///< what to do; empty if it is good
};

}  // namespace dlock
