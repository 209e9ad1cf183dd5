// SPDX-License-Identifier: BSL-1.0
#include "engine/core/transaction_calls.hpp"

#include <utility>

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
    ended.unanswered = true;  // if `free` gets no answer, its transaction may have freed the key
    if (free()) {
      with.grants.end_release(grant, release_result::freed, true, {}, now(), true);
      core->join_if_last();
      return true;
    }
  } catch (...) {
    // The transaction was rolled back, or its outcome is unknown. The release names session and fence, so it may be
    // sent in either case.
    ended.unanswered = false;
    send();
    throw;
  }
  send();
  return true;
}

void outlive_transaction(grant& grant) noexcept { grant.home->all().table.outlive_transaction(grant); }

void transaction_ended(const std::shared_ptr<grant>& grant) noexcept { transaction_over(grant, true); }

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
  const keeping kept(renewal == row_renewal::column, terms);
  row_adoption rows(core.all(), terms, kept, current_owner(), driver.now());
  frame_storage<1536> room;
  coroutine_operation<void> opening(room, driver.signal(), [&](flow& f) { return rows.pin_session(f); });
  driver.run(opening);
  const auto sent = driver.now();
  const auto fences = take(rows);
  auto granted = rows.committed(fences, sent, driver.now());
  if (in_transaction(core)) {
    for (const auto& each : granted) {
      if (each != nullptr) note_in_transaction(each);
    }
  }
  return granted;
}

}  // namespace dlock::engine
