// SPDX-License-Identifier: BSL-1.0
#include "simulation/store_kind.hpp"

namespace dlock::simulation {

store_traits traits_of(store_kind kind) noexcept {
  store_traits made;
  auto& caps = made.caps;
  caps.rows = kind == store_kind::lease_table || kind == store_kind::waiter_table;
  made.locks_rows = caps.rows || kind == store_kind::state_row || kind == store_kind::t_lock;
  switch (kind) {
    case store_kind::lease_table: caps.passes_on = true; break;
    case store_kind::waiter_table:
      caps.waits = waiting::woken;
      caps.passes_on = caps.keeps_order = true;
      break;
    case store_kind::redis:
      caps.waits = waiting::notified;
      made.counts_waiters = true;
      break;
    case store_kind::zookeeper:
      caps.expiring_leases = caps.min_hold = false;
      caps.waits = waiting::notified;
      made.keeps_rows = caps.consecutive_fences = false;
      made.queues = made.ends_sessions = made.notices_deletions = true;
      break;
    case store_kind::named_lock:
      caps.expiring_leases = caps.fence = caps.min_hold = false;
      caps.waits = waiting::notified;
      made.keeps_rows = false;
      made.ends_sessions = true;
      break;
    case store_kind::setnx:
      caps.session_leases = caps.fence = caps.min_hold = false;
      caps.renewed_leases = true;
      caps.waits = waiting::notified_beside_others;
      made.keeps_rows = false;
      break;
    case store_kind::state_row:
    case store_kind::t_lock:
      caps.session_leases = caps.batch = caps.min_hold = false;
      caps.renewed_leases = true;
      caps.request_ids = kind == store_kind::t_lock;
      caps.consecutive_fences = kind != store_kind::t_lock;
      break;
    case store_kind::for_update:
      caps.session_leases = caps.expiring_leases = caps.batch = caps.fence = caps.min_hold = false;
      caps.renewed_leases = true;
      made.keeps_rows = false;
      break;
  }
  return made;
}

}  // namespace dlock::simulation
