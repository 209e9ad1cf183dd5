// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/distributed_mutex.hpp"
#include "base/mutex.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <list>
#include <string>
#include <system_error>
#include <utility>

#include "api/access.hpp"
#include "api/lock_round.hpp"
#include "dlock/error.hpp"
#include "dlock/owner.hpp"

namespace dlock {

struct distributed_mutex::holdings {
  struct holding {
    owner who;
    lease held;
  };

  base::mutex mutex{};  // never locked during a statement
  // Several after a loss: the one who lost the key has not unlocked yet, its successor holds it.
  std::list<holding> list DLOCK_GUARDED_BY(mutex){};
};

namespace {

/// What is left of the wait.
lock_options options_since(instant begun, instant now, const lock_options& options) {
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(now - begun);
  auto rest = detail::settled(options);
  if (waited.count() > 0) rest.wait = std::max(rest.wait - waited, std::chrono::milliseconds{0});
  return as_options(rest);
}

}  // namespace

distributed_mutex::distributed_mutex(lock_service& service, lock_key key, const lock_options& options)
    : service_(service), key_(std::move(key)), holdings_(std::make_unique<holdings>()) {
  auto terms = detail::settled(options, service.core_->shared().defaults);
  validate(terms);
  // std::lock and guards count on one unlock() per lock(): a second lease would be freed by the first of them.
  if (terms.reentry == reentry::allow) terms.reentry = reentry::refuse;
  options_ = as_options(terms);
}

distributed_mutex::~distributed_mutex() = default;

void distributed_mutex::lock() {
  auto& round = detail::lock_round::here();
  try {
    const auto begun = service_.core_->shared().time.now();
    const auto terms = detail::settled(options_);
    const std::chrono::microseconds limit = terms.wait;
    round.begin(key_, limit);
    const auto pause = round.pause(terms.retry, key_.hash() ^ reinterpret_cast<std::uintptr_t>(&round));
    if (pause.count() > 0) engine::pause_for(*service_.core_, std::min(pause, limit), key_, terms, begun);
    keep(service_.acquire(key_, options_since(begun, service_.core_->shared().time.now(), options_)));
    round.locked(key_);
  } catch (...) {
    round.other();
    throw;
  }
}

bool distributed_mutex::try_lock() {
  auto& round = detail::lock_round::here();
  try {
    const auto wanted = detail::settled(options_);
    const auto patience = std::min<std::chrono::microseconds>(round.may_wait(key_), wanted.wait);
    auto got = engine::acquire(*service_.core_, key_, wanted, {.once = true, .in_line = patience});
    if (got.held == nullptr) {
      round.refused(key_, got.here);
      return false;
    }
    keep(detail::access::make(std::move(got.held), got.entered_again, got.first));
    round.got(key_);
    return true;
  } catch (...) {
    round.other();
    throw;
  }
}

bool distributed_mutex::lock_within(std::chrono::milliseconds wait) {
  if (wait == std::chrono::milliseconds{0}) return try_lock();
  detail::lock_round::here().other();
  lock_options options = options_;
  options.wait = wait;
  try {
    keep(service_.acquire(key_, options));
    return true;
  } catch (const lock_timeout&) {
    return false;
  }
}

void distributed_mutex::keep(lease held) {
  std::list<holdings::holding> holding;
  holding.push_back({owner::current(), std::move(held)});
  detail::access::stand(holding.back().held, &engine::grant::by_mutex);
  const base::lock_guard guard(holdings_->mutex);
  holdings_->list.splice(holdings_->list.end(), holding);
}

void distributed_mutex::unlock() {
  // In a forked child: it is the parent's, and a guard that was there at the fork must be able to end.
  if (service_.core_->forked()) return;
  std::list<holdings::holding> mine;  // destroyed, and with it released, after the guard
  const owner me = owner::current();
  const base::lock_guard guard(holdings_->mutex);
  const auto at = std::ranges::find(holdings_->list, me, &holdings::holding::who);
  if (at == holdings_->list.end()) throw_not_held("unlock");
  mine.splice(mine.end(), holdings_->list, at);
  detail::lock_round::here().unlocked(key_);
}

const lease& distributed_mutex::held() const& {
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
