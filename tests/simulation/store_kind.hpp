// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::simulation {

/// Which of dlock's stores the simulated one does as. All processes of a run share one store.
enum class store_kind : std::uint8_t {
  lease_table,   ///< mysql:, sqlite: sessions and rows; waiters poll
  waiter_table,  ///< mysql: the same, and a release wakes the first waiter
  redis,         ///< sessions; the server publishes releases and says how many waiters heard them
  zookeeper,     ///< sessions that the servers end; waiters queue at the server
  named_lock,    ///< sessions, no fences; waiters are notified
  setnx,         ///< also redlock: no sessions, no fences; each lease is renewed by itself; waiters poll
  state_row,     ///< also unique_insert: no sessions; each lease is renewed by itself; other programs lock rows
  t_lock,        ///< the same, and several processes may hold a key for one request
  for_update,    ///< no sessions, no fences; nothing but leases that are renewed
};

struct store_kind_name {
  store_kind what;
  std::string_view name;
};
inline constexpr std::array store_kind_names{
    store_kind_name{store_kind::lease_table, "lease_table"},
    store_kind_name{store_kind::waiter_table, "waiter_table"},
    store_kind_name{store_kind::redis, "redis"},
    store_kind_name{store_kind::zookeeper, "zookeeper"},
    store_kind_name{store_kind::named_lock, "named_lock"},
    store_kind_name{store_kind::setnx, "setnx"},
    store_kind_name{store_kind::state_row, "state_row"},
    store_kind_name{store_kind::t_lock, "t_lock"},
    store_kind_name{store_kind::for_update, "for_update"},
};
constexpr std::string_view name_of(store_kind kind) noexcept {
  return store_kind_names[static_cast<std::size_t>(kind)].name;
}
inline constexpr std::uint32_t all_store_kinds = (1U << store_kind_names.size()) - 1;
constexpr std::uint32_t bit_of(store_kind kind) noexcept { return 1U << static_cast<unsigned>(kind); }

/// What a kind of store can do, and what the engine does not know of it.
struct store_traits {
  capabilities caps{.rows = true};
  bool keeps_rows = true;          ///< a key that was used has a row while it is free
  bool locks_rows = false;         ///< transactions of other programs may have a row locked
  bool counts_waiters = false;     ///< the reply to a release says how many waiters were notified
  bool queues = false;             ///< a watch with a session takes a position in a queue at the server
  bool notices_deletions = false;  ///< the holder of a lock that somebody deletes is notified
  bool ends_sessions = false;      ///< the server itself removes an expired session and frees what it held
};

store_traits traits_of(store_kind kind) noexcept;

}  // namespace dlock::simulation
