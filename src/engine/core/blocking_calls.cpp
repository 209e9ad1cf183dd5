// SPDX-License-Identifier: BSL-1.0
#include "engine/core/blocking_calls.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "engine/core/cycle_check.hpp"
#include "engine/drivers/blocking_driver.hpp"
#include "engine/operations/downgrade.hpp"
#include "engine/operations/extension.hpp"
#include "engine/operations/lock_errors.hpp"
#include "engine/registry/owner_state.hpp"

namespace dlock::engine {

namespace {

/// Enters the key again if the owner holds it; otherwise the result is empty. It makes no acquisition, which would cost
/// several times as much. `looked` says whether the acquisition need not search again.
acquired enter_again(service_core& core, const lock_key& key, const detail::lock_settings& terms, bool& looked) {
  looked = true;
  const auto& owner = *current_owner();
  if (owner.grants.load(std::memory_order_relaxed) == 0) return {};
  const auto now = core.shared().time.now();
  reentry_attempt again(core.all(), terms);
  const auto found = again.find(owner, in_owner_scope(), key, now);
  looked = found == reentry_attempt::found::nothing;
  if (found != reentry_attempt::found::entered) return {};
  if (again.check(now)) {
    blocking_driver driver(core.all());
    frame_storage<1536> room;
    coroutine_operation<void> op(room, driver.signal(), [&again](flow& f) { return again.extend(f); });
    driver.run(op);
  }
  return again.take();
}

}  // namespace

// ---- acquiring ------------------------------------------------------------------------------------------------------

namespace {

/// `room` is for the frames of an acquisition, and lies on the stack of the caller.
template <class Keys, class... Room>
acquired_of<Keys> run_acquire(service_core& core, const Keys& keys, const detail::lock_settings& terms,
                              lock_request::wait_mode wait_mode, Room*... room) {
  core.refuse_if_forked();
  check_acquire(core, all_of(keys), terms);
  check_cancelled(all_of(keys), terms);
  if constexpr (std::is_same_v<Keys, lock_key>) {
    if (auto again = enter_again(core, keys, terms, wait_mode.holds_nothing); again.held != nullptr) return again;
  }
  const service_core::call here(core);
  blocking_driver driver(core.all(), core.closing().get_token(), terms.cancel);
  const auto begun = driver.now();
  acquisition_of<Keys> op(core.all(), keys, {terms, current_owner(), in_owner_scope(), begun, wait_mode},
                          driver.signal(), room...);
  std::optional<cycle_check> cycles;
  if (cycle_check::needed(std::is_same_v<Keys, lock_keys>, terms)) cycles.emplace(core, driver, begun + terms.wait);
  try {
    auto result = op.result(driver.run(op, begun));
    if (in_transaction(core)) {
      note_in_transaction(result);
      tell_in_transaction(core, result);
    }
    return result;
  } catch (const lock_deadlock&) {
    if (!cycles || !cycles->refused()) throw;  // an owner that reads has asked for the exclusive lock
    auto why = cycles->tell();
    if (!wait_mode.tries) throw lock_deadlock(why);
    return {.why_busy = std::move(why)};
  }
}

}  // namespace

acquired acquire(service_core& core, const lock_key& key, const detail::lock_settings& terms,
                 const lock_request::wait_mode& wait_mode) {
  acquisition::room room;
  return run_acquire(core, key, terms, wait_mode, &room);
}

acquired_all acquire_all(service_core& core, const lock_keys& keys, const detail::lock_settings& terms,
                         const lock_request::wait_mode& wait_mode) {
  return run_acquire(core, keys, terms, wait_mode);
}

void pause_for(service_core& core, microseconds time, const lock_key& key, const detail::lock_settings& terms,
               instant begun) {
  blocking_driver driver(core.all(), core.closing().get_token(), terms.cancel);
  const auto why = driver.pause(driver.now() + time);
  if (!why) return;
  const auto waited = driver.now() - begun;
  core.shared().notify({.what = event::kind::busy, .key = key.view(), .waited = waited});
  throw_interrupted(*why, key, waited);
}

bool pause_for(service_core& core, microseconds time, const std::stop_token& cancel) {
  blocking_driver driver(core.all(), core.closing().get_token(), cancel);
  return !driver.pause(driver.now() + time);
}

void extend(const std::shared_ptr<grant>& grant, microseconds ttl) {
  auto& core = *grant->home;
  blocking_driver driver(core.all());
  extension op(core.all(), grant, ttl, driver.signal());
  driver.run(op);
}

std::shared_ptr<grant> downgrade(const std::shared_ptr<grant>& grant, bool& begun) {
  const auto core = grant->home;
  auto& with = core->all();
  check_request(*core, grant->key, {.mode = shared});
  if (!with.caps.any_mode) {
    throw std::invalid_argument(
        fmt::format("dlock: key '{}': downgrade(): {} can't turn an exclusive lease into a shared one",
                    printable(grant->key), core->where().name()));
  }
  check_may_downgrade(with, *grant);
  const auto misuse = [&](const char* why) {
    return std::logic_error(fmt::format("dlock: key '{}': downgrade(): {}", printable(grant->key), why));
  };
  if (in_transaction(*core))
    throw misuse("inside an open transaction: end that first, so that readers see what it has written");
  if (fault why; !with.may_wait(why)) throw_waits_for_itself(grant->key, "downgrade: ", why);
  ended_lease ended{.grant = grant, .last = true, .next = make_downgraded(with, *grant)};
  if (!with.table.drop_if_sole(*grant)) throw misuse("its owner has just entered the key again");
  begun = true;
  blocking_driver driver(with);
  frame_storage<1536> room;
  coroutine_operation<void> op(room, driver.signal(), [&](flow& f) { return downgrade_lease(f, with, ended); });
  driver.run(op);
  if (ended.next != nullptr) return std::move(ended.next);
  core->join_if_last();
  throw_not_downgraded(*grant, ended.result, ended.why);
}

void ensure_held(grant& grant) { ensure_held(grant, grant.home->shared().time.now()); }

bool holds(service_core& core, const lock_key& key) {
  core.refuse_if_forked();
  const auto mine = core.all().table.find(*current_owner(), key, in_owner_scope(), false);
  if (mine.held == nullptr || mine.without_lease) return false;
  const bool by_mutex = mine.held->anchor.load(std::memory_order_relaxed) == &grant::by_mutex;
  return (mine.within_reach || by_mutex) && mine.held->remaining(core.shared().time.now()).count() > 0;
}

// ---- releasing ------------------------------------------------------------------------------------------------------

void free_all(std::span<ended_lease> all) noexcept {
  const auto core = all.front().grant->home;
  statement* few[8];
  std::vector<statement*> many;
  std::span<statement*> room(few);
  if (all.size() > room.size()) {
    try {
      many.resize(all.size());
      room = many;
    } catch (const std::bad_alloc&) {
      for (; all.size() > room.size(); all = all.subspan(room.size())) free_all(all.first(room.size()));
    }
  }
  blocking_driver driver(core->all());
  release_operation op(core->all(), all, room, driver.signal());
  driver.run(op);
  // If this was the last lease and the service has ended, no thread of it runs when the destructor of the lease
  // returns.
  core->join_if_last();
}

void release(const std::shared_ptr<grant>& grant) {
  if (!leave(grant)) {  // an inner lease
    const bool held = grant->remaining(grant->home->shared().time.now()).count() > 0;
    if (!held) throw_not_released(*grant, release_result::lost, {});
    return;
  }
  ended_lease ended{.grant = grant, .last = true};
  free_all({&ended, 1});
  if (ended.result != release_result::freed) throw_not_released(*grant, ended.result, ended.why);
}

void end(const std::shared_ptr<grant>& grant) noexcept {
  if (!leave(grant)) return;
  ended_lease ended{.grant = grant, .last = true};
  free_all({&ended, 1});
}

void release_all(std::span<ended_lease> all) noexcept {
  for (auto& each : all) each.last = leave(each.grant);
  if (!all.empty()) free_all(all);
}

}  // namespace dlock::engine
