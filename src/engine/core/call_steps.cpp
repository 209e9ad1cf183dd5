// SPDX-License-Identifier: BSL-1.0
#include "engine/core/call_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "engine/operations/lock_errors.hpp"
#include "engine/registry/transaction_watch.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

// ---- before ---------------------------------------------------------------------------------------------------------

void check_request(const service_core& core, const std::string& which, const row_renewal* row,
                   const detail::lock_settings& terms) {
  const auto refuse = [&](const std::string& why) { throw std::invalid_argument("dlock: " + which + ": " + why); };
  const auto& caps = core.all().caps;
  const auto& name = core.where().name();
  if (row != nullptr && !caps.rows) refuse(name + " has no tables whose rows could be locked");
  const bool by_column = row != nullptr && *row == row_renewal::column;
  const bool renewed = by_column || caps.session_leases || (row == nullptr && caps.renewed_leases);
  if (terms.renewal == renewal::automatic && !renewed) {
    refuse(name + " has no leases that are renewed: renewal::none or renewal::manual");
  }
  if (terms.renewal != renewal::automatic && !caps.expiring_leases) {
    refuse(name + " has no leases that end by an expiry: renewal::automatic");
  }
  if (terms.fairness == fairness::fifo && (row != nullptr || !caps.keeps_order)) {
    refuse(fmt::format("fairness = fifo: {} keeps no order of waiters{}", name, row != nullptr ? " for rows" : ""));
  }
  if (terms.linger.count() > 0 && (row != nullptr || !caps.lingers)) {
    refuse(
        fmt::format("linger = {} ms: on {} a process does not learn that another one waits for {}; it can be had for "
                    "keys in the lease tables of MySQL, MariaDB and SQLite, without wake=off",
                    terms.linger.count(), name, row != nullptr ? "a row" : "a key that it keeps"));
  }
  if (row == nullptr) {
    if (terms.min_hold.count() > 0 && !caps.min_hold) {
      refuse(fmt::format("min_hold = {} ms: {} keeps no time of the grant", terms.min_hold.count(), name));
    }
    return;
  }
  if (terms.min_hold.count() > 0) {
    refuse(
        fmt::format("min_hold = {} ms: a row keeps no time of its grant; lock a key for that", terms.min_hold.count()));
  }
  if (by_column && terms.ttl < 5s) {
    refuse(fmt::format("ttl = {} ms: at least 5000 ms where the row's own expiry is renewed (row_renewal::column)",
                       terms.ttl.count()));
  }
}

void check_request(const service_core& core, const lock_key& key, const detail::lock_settings& terms) {
  if (&terms != &core.shared().defaults) validate(terms, core.shared().options);
  const auto* const row = key.row();
  const auto& caps = core.all().caps;
  if (row == nullptr && !caps.any_key) {
    if (const auto why = core.where().unfit_key(key.view()); !why.empty()) {
      throw std::invalid_argument(fmt::format("dlock: key '{}': {}: {}", printable(key), core.where().name(), why));
    }
  }
  if (terms.mode != exclusive || !caps.any_mode) {
    const auto refuse = [&](const std::string& why) {
      throw std::invalid_argument(
          fmt::format("dlock: {} '{}': mode: {}", row != nullptr ? "row" : "key", printable(key), why));
    };
    if (terms.mode != exclusive && row != nullptr) refuse("a row has one holder: exclusive");
    if (!caps.any_mode) {
      if (const auto why = core.where().unfit_mode(mode_of(terms)); !why.empty()) refuse(core.where().name() + why);
    } else if (!caps.shares) {
      refuse(core.where().name() + " has only exclusive locks");
    }
  }
  const bool can_all = caps.session_leases && caps.expiring_leases && caps.min_hold;
  if (row == nullptr && can_all && terms.fairness == fairness::none && terms.linger.count() == 0) return;
  check_request(core, (row != nullptr ? "row '" : "key '") + printable(key) + "'",
                row != nullptr ? &row->table->renewal : nullptr, terms);
}

void check_owner(const service_core& core, const detail::lock_settings& terms) {
  if (!in_owner_scope() || current_owner()->request_id.empty()) return;
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument(fmt::format("dlock: owner '{}': {}", current_owner()->request_id, why));
  };
  if (!core.all().caps.request_ids) {
    refuse(core.where().name() + " knows no requests that lock through several processes: an owner without an id");
  }
  // No poll asks first whether the request holds the key through another process: its take is granted.
  if (terms.reentry != reentry::allow) {
    refuse("reentry = refuse or busy, and distributed_mutex: it enters again what it holds elsewhere");
  }
  // Another program of that request reads the row, and then frees it if the row has not changed. A renewal in between
  // would make that fail without a message. So would any other change, but renewals never stop.
  if (terms.renewal == renewal::automatic) {
    refuse("renewal = automatic may undo what other programs of that request do: renewal::none or renewal::manual");
  }
}

void check_acquire(const service_core& core, std::span<const lock_key> keys, const detail::lock_settings& terms) {
  for (const auto& key : keys) check_request(core, key, terms);
  check_owner(core, terms);
}

void check_cancelled(std::span<const lock_key> keys, const detail::lock_settings& terms) {
  if (terms.cancel.stop_requested()) {
    throw lock_refused(errc::cancelled,
                       fmt::format("key '{}': cancelled before it was asked for", printable(keys.front())));
  }
}

bool in_transaction(const service_core& core) noexcept {
  auto* const watch = watched_transactions();
  return watch != nullptr && watch->open_here(core.where());
}

bool leave(const std::shared_ptr<grant>& grant) noexcept {
  if (grant->leave_inner()) return false;
  auto& core = *grant->home;
  auto& table = core.all().table;
  // Called without a lock, because the watch may query the database, and calls back.
  auto* const watch = watched_transactions();
  const bool open = watch != nullptr && watch->open_here(core.where());
  // The key of a lost lease does not wait. Any other key does, because other programs don't see yet what was written
  // under the lock, and the next holder would read what was there before.
  const bool waits = open && grant->remaining(core.shared().time.now()).count() > 0;
  auto end = table.leave(*grant, waits);
  if (end == held_locks::leave_result::asks) {
    bool deferred = false;
    try {
      deferred = watch->at_end(core.where(), [grant] { transaction_over(grant, false); });
    } catch (const std::bad_alloc&) {
      deferred = false;
    }
    if (deferred) return false;
    end = table.leave_after_all(*grant);
  }
  return end == held_locks::leave_result::last;
}

// ---- after ----------------------------------------------------------------------------------------------------------

namespace {
void tell_in_transaction(service_core& core, const lock_key& key) {
  core.shared().notify({.what = event::kind::in_transaction,
                        .key = key.view(),
                        .text =
                            "acquired inside an open transaction: what that reads may be older than the lock, and the "
                            "key is not freed before it ends; take the lock first, then begin"});
}
}  // namespace

void tell_in_transaction(service_core& core, const acquired& result) {
  if (result.held != nullptr && !result.entered_again) tell_in_transaction(core, result.held->key);
}

void tell_in_transaction(service_core& core, const acquired_all& result) {
  const auto first =
      std::find_if(result.held.begin(), result.held.end(), [](const auto& each) { return !each.entered_again; });
  if (first != result.held.end()) tell_in_transaction(core, first->held->key);
}

void note_in_transaction(const std::shared_ptr<grant>& granted) noexcept {
  if (auto* const watch = watched_transactions()) watch->granted_inside(granted);
}

void transaction_over(const std::shared_ptr<grant>& grant, bool verified) noexcept {
  auto& core = *grant->home;
  if (core.forked()) return;
  auto& with = core.all();
  if (!with.table.transaction_ended(*grant, verified)) return;
  const auto now = core.shared().time.now();
  if (with.grants.begin_release(*grant, grant->deferral.trusted, now)) {
    with.background.release_now(grant, now);
  } else {
    with.table.drop(*grant);  // it was lost meanwhile, and others free it
  }
}

void check_released(std::span<const ended_lease> all) {
  const ended_lease* worst = nullptr;
  for (const auto& each : all) {
    // A loss is worse than no answer. If several are lost, the last of them is thrown, because leases end in the
    // reverse order of their keys.
    const bool lost_reported = worst != nullptr && worst->result == release_result::lost;
    if (each.result == release_result::lost || (each.result == release_result::later && !lost_reported)) worst = &each;
  }
  if (worst != nullptr) throw_not_released(*worst->grant, worst->result, worst->why);
}

namespace {

[[noreturn]] void throw_not_ended(grant& grant, release_result result, const fault& why, const char* unanswered,
                                  const char* done) {
  auto& core = *grant.home;
  if (result == release_result::later) {
    throw store_error(
        errc::outcome_unknown,
        fmt::format("key '{}': {} in the background: {}", printable(grant.key), unanswered, trouble(core.all(), why)),
        why.native, why.sqlstate, true);
  }
  const auto reason = grant.why(core.shared().time.now());
  throw lock_lost(reason, fmt::format("key '{}': the lease was lost before it was {}: {}", printable(grant.key), done,
                                      explain(reason)));
}

}  // namespace

void throw_not_released(grant& grant, release_result result, const fault& why) {
  throw_not_ended(grant, result, why, "release not answered, tried again", "released");
}

void throw_not_downgraded(grant& grant, release_result result, const fault& why) {
  throw_not_ended(grant, result, why, "not downgraded, and released", "downgraded");
}

}  // namespace dlock::engine
