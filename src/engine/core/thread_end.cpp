// SPDX-License-Identifier: BSL-1.0
#include "engine/core/thread_end.hpp"

#include <memory>
#include <new>
#include <vector>

#include "engine/core/blocking_calls.hpp"
#include "engine/registry/owner_state.hpp"
#include "engine/registry/transaction_watch.hpp"

namespace dlock::engine {

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
  } catch (const std::bad_alloc&) {  // the rest ends by its ttl
  }
  auto* const watch = watched_transactions();
  for (const auto& grant : remaining) {
    // The outcome of what the transaction wrote is unknown until its connection has ended.
    if (watch != nullptr && watch->open_here(grant->home->where())) continue;
    ended_lease ended{.grant = grant, .last = true};
    free_all({&ended, 1});
    if (ended.result == release_result::later) return;  // the store is away, so the others would only wait as well
  }
}

}  // namespace dlock::engine
