// SPDX-License-Identifier: BSL-1.0
#include "dlock/distributed_mutex.hpp"
#include "base/mutex.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <system_error>
#include <utility>

#include "api/access.hpp"
#include "dlock/error.hpp"
#include "dlock/owner.hpp"
#include "engine/machines/backoff.hpp"

namespace dlock {

using detail::access;

struct distributed_mutex::holdings {
  struct holding {
    owner who;
    lease held;
  };

  base::mutex mutex{};  // never locked while a statement runs
  // Has several entries after a loss, when the thread that lost the key has not unlocked yet and its successor holds
  // it.
  std::list<holding> list DLOCK_GUARDED_BY(mutex){};
};

namespace {

/// The same options with the remaining wait.
lock_options options_since(instant begun, instant now, const lock_options& options) {
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(now - begun);
  auto rest = detail::settled(options);
  if (waited.count() > 0) rest.wait = std::max(rest.wait - waited, std::chrono::milliseconds{0});
  return as_options(rest);
}

/// How this thread takes mutexes one after the other. std::lock() and std::scoped_lock wait for one mutex, try the
/// others, and when one of those is busy they unlock all and begin again with that one. Two threads or processes that
/// do so in different orders could refuse each other again and again, so a round that follows a failed one begins with
/// a random pause. It is plain data, so it needs no memory and no destructor, and a forked child may inherit it.
struct lock_round {
  bool locked = false;            // lock() has returned, so the next try_lock() belongs to the same round
  const void* refused = nullptr;  // the mutex at which the round failed; only compared
  int failed = 0;                 // rounds in a row

  /// Whether lock() of that mutex begins the round after a failed one.
  bool begins_again(const void* mutex) noexcept {
    const bool again = std::exchange(refused, nullptr) == mutex;
    failed = again ? failed + 1 : 0;
    locked = false;
    return again;
  }
  void refuse(const void* mutex) noexcept {
    if (std::exchange(locked, false)) refused = mutex;
  }
};
constinit thread_local lock_round round_here{};

/// A random time from 0 to a bound that grows with each failed round, so that two threads that collided don't again.
std::chrono::microseconds pause_after(int failed, detail::retry_settings retry, std::uint64_t seed) {
  const auto grown = static_cast<double>(retry.pause.count()) * std::pow(retry.multiplier, std::min(failed - 1, 64));
  const auto longest = static_cast<double>(retry.max_pause.count());
  retry.pause = std::chrono::milliseconds{static_cast<std::int64_t>(std::min(grown, longest))};
  retry.jitter = 1;
  return engine::backoff(retry, seed).next();
}

}  // namespace

distributed_mutex::distributed_mutex(lock_service& service, lock_key key, const lock_options& options)
    : service_(service), key_(std::move(key)), holdings_(std::make_unique<holdings>()) {
  auto terms = detail::settled(options, access::core_of(service)->shared().defaults);
  validate(terms);
  // std::lock and guards expect one unlock() per lock(); with a second lease the first unlock() would free it.
  if (terms.reentry == reentry::allow) terms.reentry = reentry::refuse;
  options_ = as_options(terms);
}

distributed_mutex::~distributed_mutex() = default;

void distributed_mutex::lock() {
  auto& core = *access::core_of(service_);
  core.refuse_if_forked();
  auto& round = round_here;
  const auto begun = core.shared().time.now();
  if (round.begins_again(this)) {
    const auto terms = detail::settled(options_);
    const auto pause = pause_after(round.failed, terms.retry, core.shared().next_nonce());
    engine::pause_for(core, std::min<std::chrono::microseconds>(pause, terms.wait), key_, terms, begun);
  }
  keep(service_.acquire(key_, options_since(begun, core.shared().time.now(), options_)));
  round.locked = true;
}

bool distributed_mutex::try_lock() {
  auto got = engine::acquire(*access::core_of(service_), key_, detail::settled(options_), {.once = true});
  if (got.held == nullptr) {
    round_here.refuse(this);
    return false;
  }
  keep(access::make(std::move(got.held), got.entered_again, got.first));
  return true;
}

bool distributed_mutex::lock_within(std::chrono::milliseconds wait) {
  if (wait == std::chrono::milliseconds{0}) return try_lock();
  lock_options options = options_;
  options.wait = wait;
  auto held = service_.try_acquire(key_, options);
  if (!held) return false;
  keep(std::move(held));
  return true;
}

void distributed_mutex::keep(lease held) {
  std::list<holdings::holding> holding;
  holding.push_back({owner::current(), std::move(held)});
  access::stand(holding.back().held, &engine::grant::by_mutex);
  const base::lock_guard guard(holdings_->mutex);
  holdings_->list.splice(holdings_->list.end(), holding);
}

void distributed_mutex::unlock() {
  // In a forked child the key is the parent's, and a guard that existed at the fork must be able to end.
  if (access::core_of(service_)->forked()) return;
  std::list<holdings::holding> mine;  // destroyed after the guard, which releases the key
  const owner me = owner::current();
  const base::lock_guard guard(holdings_->mutex);
  const auto at = std::ranges::find(holdings_->list, me, &holdings::holding::who);
  if (at == holdings_->list.end()) throw_not_held("unlock");
  mine.splice(mine.end(), holdings_->list, at);
  round_here.locked = false;
}

lease distributed_mutex::give_up(const char* call) {
  access::core_of(service_)->refuse_if_forked();
  const owner me = owner::current();
  const base::lock_guard guard(holdings_->mutex);
  const auto at = std::ranges::find(holdings_->list, me, &holdings::holding::who);
  if (at == holdings_->list.end()) throw_not_held(call);
  lease mine = std::move(at->held);
  holdings_->list.erase(at);
  round_here.locked = false;
  return mine;
}

const lease& distributed_mutex::held() const& {
  access::core_of(service_)->refuse_if_forked();
  const owner me = owner::current();
  const base::lock_guard guard(holdings_->mutex);
  const auto at = std::ranges::find(holdings_->list, me, &holdings::holding::who);
  if (at == holdings_->list.end()) throw_not_held("held");
  return at->held;
}

void distributed_mutex::throw_not_held(const char* call) const {
  throw std::system_error(
      std::make_error_code(std::errc::operation_not_permitted),
      fmt::format("dlock: key {}: {}() by an owner that does not hold the mutex", key_.explain(), call));
}

}  // namespace dlock
