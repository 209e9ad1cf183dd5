// SPDX-License-Identifier: BSL-1.0
#include "engine/core/blocking_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/drivers/blocking_driver.hpp"
#include "engine/operations/extension.hpp"
#include "engine/operations/lock_errors.hpp"
#include "engine/registry/nested_wait.hpp"
#include "engine/registry/owner_state.hpp"
#include "engine/registry/transaction_watch.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {

/// Time limit of one administrative query.
constexpr microseconds query_limit = 5s;

/// Goes on with a re-entry that needs a statement.
class reentry_under_way final : public operation {
 public:
  reentry_under_way(reentry_attempt& entry, const action& next) noexcept : entry_(entry), next_(next) {}
  action start(instant) override { return next_; }
  action resume(instant now) override { return entry_.resume(now); }
  action interrupt(interruption, instant now) override { return resume(now); }

 private:
  reentry_attempt& entry_;
  const action next_;
};

/// Without an acquisition, which most re-entries need not make: it would cost several times as much. Null: it is not
/// entered.
acquired enter_again(service_core& core, const lock_key& key, const detail::lock_settings& terms, instant now) {
  const auto& owner = *current_owner();
  if (owner.grants.load(std::memory_order_relaxed) == 0) return {};
  reentry_attempt again(core.all(), terms);
  if (again.find(owner, in_owner_scope(), key, now) != reentry_attempt::found::entered) return {};
  if (const auto next = again.start(now); next.what != action::kind::finished) {
    blocking_driver driver(core.all());
    reentry_under_way op(again, next);
    driver.run(op);
  }
  return again.take();
}

/// Ends a wait in a deadlock cycle of waiting threads, if no other wait of it ends earlier. Only the thread's own owner
/// counts: what an owner holds that the program named, other threads may release.
class cycle_check final : public wait_check {
 public:
  /// `until`: the end of the wait.
  cycle_check(service_core& core, blocking_driver& driver, instant until) noexcept
      : core_(core), until_(until), wait_(driver.signal()) {
    driver.check_waits(*this);
  }
  ~cycle_check() { end(); }
  /// Whether the calling thread can be in a deadlock cycle at all. `several`: it holds some keys while it waits for
  /// others. A wait that may end after some polls closes none: nobody knows when it ends.
  static bool needed(bool several, const detail::lock_settings& terms) noexcept {
    return !in_owner_scope() && !terms.retry.limited() &&
           (several || current_owner()->grants.load(std::memory_order_relaxed) > 0);
  }

  verdict check(const operation& op, const lock_key& key) noexcept override {
    try {
      std::vector<nested_wait::held_lock> taken;
      op.list_taken(taken);
      if (key_ == &key && taken == taken_) {
        cycle_ = wait_.cycle();
      } else {
        end();
        auto held = held_here(taken);
        cycle_ = wait_.begin({&core_.where(), &core_.all().queue, &key, until_}, std::move(held));
        taken_ = std::move(taken);
        key_ = &key;
        tell_store(wait_.keys_ahead());
      }
      if (cycle_.empty()) return verdict::waits_on;
      refused_ = &key;
      return verdict::never_ends;
    } catch (const std::bad_alloc&) {
      return verdict::unknown;
    }
  }
  /// An acquire of several keys gives its turns back if one of them is busy at the store.
  void asks() noexcept override {
    if (std::none_of(taken_.begin(), taken_.end(), [](const auto& each) { return each.held == nullptr; })) return;
    end();
  }
  /// Of a wait that was refused: tells the observer, and says why.
  std::string tell() const {
    const auto here = fmt::format("another thread of {}/{}", core_.shared().host, core_.shared().pid);
    std::string text = "the wait would never end: ", held = "it";
    for (const auto& [who, waits_for] : cycle_) {
      const auto next = fmt::format("'{}'", detail::printable_text(waits_for));
      text += fmt::format("{} holds {} and waits for {}; ", who.empty() ? here : who, held, next);
      held = next;
    }
    text += fmt::format("the calling thread holds {}", held);
    std::vector<std::string_view> keys;
    for (const auto& each : cycle_) keys.push_back(each.waits_for);
    core_.shared().notify({.what = event::kind::deadlock, .key = refused_->view(), .text = text, .keys = keys});
    return fmt::format("key '{}': {}", printable(*refused_), text);
  }

 private:
  void end() noexcept {
    const auto keys = wait_.keys_ahead();
    wait_.end();
    key_ = nullptr;
    taken_.clear();
    tell_store(keys);
  }
  /// Waiters for any of these keys have something else behind them now.
  void tell_store(const std::vector<std::string>& keys) const noexcept {
    for (const auto& each : keys) core_.where().waiters_changed(each);
  }
  static std::vector<nested_wait::held_lock> held_here(std::vector<nested_wait::held_lock> all) {
    const auto& owner = *current_owner();
    if (owner.grants.load(std::memory_order_relaxed) == 0) return all;
    for (const auto& core : service_core::living()) {
      std::vector<std::shared_ptr<grant>> found;
      core->all().table.find_own(owner, found);
      for (auto& each : found) all.push_back({.held = std::move(each), .where = &core->where()});
    }
    return all;
  }

  service_core& core_;
  const instant until_;
  nested_wait wait_;
  std::vector<cycle_link> cycle_{};
  const lock_key* key_ = nullptr;      // that was waited for last
  const lock_key* refused_ = nullptr;  // the wait for that is in vain
  std::vector<nested_wait::held_lock> taken_{};
};

}  // namespace

std::shared_ptr<grant> enter_again(service_core& core, const lock_key& key) {
  core.refuse_if_forked();
  if (!core.shared().plain_defaults) return nullptr;
  const auto& owner = *current_owner();
  if (owner.grants.load(std::memory_order_relaxed) == 0) return nullptr;
  auto& shared = core.shared();
  auto held = core.all().table.enter(owner, key, in_owner_scope(), shared.time.now());
  if (held != nullptr && shared.options.observer != nullptr) {
    shared.deliver({.what = event::kind::reentered, .key = key.view(), .fence = held->fence_shown()});
  }
  return held;
}

// ---- acquiring ------------------------------------------------------------------------------------------------------

namespace {

/// `room`: of an acquisition, for which the stack of the caller has it.
template <class Keys, class... Room>
acquired_of<Keys> run_acquire(service_core& core, const Keys& keys, const detail::lock_settings& terms,
                              const lock_request::wait_mode& wait_mode, Room*... room) {
  core.refuse_if_forked();
  check_acquire(core, all_of(keys), terms);
  check_cancelled(all_of(keys), terms);
  if constexpr (std::is_same_v<Keys, lock_key>) {
    if (auto again = enter_again(core, keys, terms, core.shared().time.now()); again.held != nullptr) return again;
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

void extend(const std::shared_ptr<grant>& grant, microseconds ttl) {
  auto& core = *grant->home;
  blocking_driver driver(core.all());
  extension op(core.all(), grant, ttl);
  driver.run(op);
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

namespace {

/// Frees those whose last lease has ended already. They are grants of one service, at least one.
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
  release_operation op(core->all(), all, room);
  driver.run(op);
  // The last lease, after the service: nothing of it runs any more when its destructor returns.
  core->join_if_last();
}

}  // namespace

void release(const std::shared_ptr<grant>& grant) {
  if (!leave(grant)) {  // an inner one, which costs no more than this
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

// ---- operators ------------------------------------------------------------------------------------------------------

namespace {

reply answer_to(service_core& core, const char* doing, statement& statement) {
  core.refuse_if_forked();
  const service_core::call here(core);
  statement.queue_deadline = core.shared().time.now() + query_limit;
  core.all().statements.run(statement);
  const auto result = statement.answer.result;
  if (result == outcome::failed || result == outcome::unknown) throw_store_error(core.all(), doing, statement);
  return std::move(statement.answer);
}

}  // namespace

reply ask(service_core& core, const char* doing, const request& request) {
  statement statement;
  statement.ask = request;
  return answer_to(core, doing, statement);
}

reply ask(service_core& core, const char* doing, const std::function<reply(connection&)>& use) {
  statement statement;
  statement.what = statement::kind::call;
  statement.about = const_cast<std::function<reply(connection&)>*>(&use);
  statement.call = [](void* about, connection& link) {
    return (*static_cast<std::function<reply(connection&)>*>(about))(link);
  };
  return answer_to(core, doing, statement);
}

// ---- the ends of leases in transactions, and of threads -------------------------------------------------------------

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
  auto granted = op.committed(fences, sent, driver.now());
  if (in_transaction(core)) {
    for (const auto& each : granted) {
      if (each != nullptr) note_in_transaction(each);
    }
  }
  return granted;
}

}  // namespace dlock::engine
