// SPDX-License-Identifier: BSL-1.0
// What transactions of the application's, and the ends of threads, need of the engine.
#include <fmt/format.h>

#include <new>
#include <utility>

#include "engine/books/own_stack.hpp"
#include "engine/books/transaction_watch.hpp"
#include "engine/core/blocking_calls.hpp"
#include "engine/drivers/blocking_driver.hpp"
#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

bool release_by(const std::shared_ptr<grant>& grant, const std::function<bool()>& free) {
  const auto core = grant->home;
  auto& with = core->all();
  if (!with.table.drop_if_sole(*grant)) return false;
  const auto now = [&] { return core->shared().time.now(); };
  ended_lease ended{.grant = grant, .last = true};
  ended.begun = with.grants.begin_release(*grant, ended.trusted, now());
  const auto send = [&]() noexcept {
    if (ended.begun) free_all({&ended, 1});
  };
  if (!ended.trusted) {
    send();
    ensure_held(*grant, now());
  }
  try {
    ended.unanswered = true;  // unless it throws: what had no answer may have freed it
    if (free()) {
      with.grants.end_release(grant, release_result::freed, true, {}, now(), true);
      core->join_if_last();
      return true;
    }
  } catch (...) {
    // Rolled back, or its outcome is unknown: the release names session and fence, so it may be tried in either case.
    ended.unanswered = false;
    send();
    throw;
  }
  send();
  return true;
}

void abandon(const owner_state& owner, bool all) noexcept {
  if (owner.grants.load() == 0) return;
  std::vector<std::shared_ptr<grant>> remaining;
  try {
    for (const auto& core : service_core::living()) {
      const auto mine = [all](const grant& grant) {
        const auto* const at = grant.anchor.load();
        return on_own_stack(at) || (all && at == &grant::by_mutex);
      };
      if (!core->forked()) core->all().table.abandon(owner, mine, remaining);
    }
  } catch (const std::bad_alloc&) {  // of those that are left out, the ttl is the end
  }
  auto* const watch = watched_transactions();
  for (const auto& grant : remaining) {
    // The outcome of what the transaction wrote is unknown until its connection has ended.
    if (watch != nullptr && watch->open_here(grant->home->where())) continue;
    ended_lease ended{.grant = grant, .last = true};
    free_all({&ended, 1});
    if (ended.result == release_result::later) return;  // the store is away: no waiting for each of them
  }
}

// ---- transactions of the application's ------------------------------------------------------------------------------

void outlive_transaction(grant& grant) noexcept { grant.home->all().table.outlive_transaction(grant); }

void transaction_ended(const std::shared_ptr<grant>& grant) noexcept { transaction_over(grant, true); }

// ---- claims ---------------------------------------------------------------------------------------------------------

std::vector<std::shared_ptr<grant>> adopt(service_core& core, const detail::lock_settings& terms, row_renewal renewal,
                                          const std::function<std::vector<std::uint64_t>(row_adoption&)>& take) {
  core.refuse_if_forked();
  validate(terms, core.shared().options);
  check_request(core, "rows to be claimed", &renewal, terms);
  check_owner(core, terms);
  if (terms.cancel.stop_requested()) throw lock_refused(errc::cancelled, "a claim of rows was cancelled");
  const service_core::call here(core);
  if (core.closing().stop_requested()) throw lock_refused(errc::closed, "a claim of rows: the lock service is closed");
  blocking_driver driver(core.all());
  row_adoption op(core.all(), terms, renewal == row_renewal::column, current_owner(), driver.now(), driver.signal());
  driver.run(op);
  op.check_pinned();
  const auto sent = driver.now();
  const auto fences = take(op);
  return op.committed(fences, sent, driver.now());
}

}  // namespace dlock::engine
