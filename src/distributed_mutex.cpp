// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/distributed_mutex.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "dlock/error.hpp"
#include "engine/engine.hpp"

namespace dlock {

distributed_mutex::distributed_mutex(lock_key key) : distributed_mutex(default_service(), std::move(key)) {}

distributed_mutex::distributed_mutex(lock_key key, lock_options options)
    : distributed_mutex(default_service(), std::move(key), std::move(options)) {}

distributed_mutex::distributed_mutex(lock_service& service, lock_key key)
    : distributed_mutex(service, std::move(key), service.defaults()) {}

distributed_mutex::distributed_mutex(lock_service& service, lock_key key, lock_options options)
    : service_(service), key_(std::move(key)), options_(std::move(options)) {
  validate(options_);
  // std::lock and guards count on one unlock() per lock(): a second lease would be freed by the first of them.
  if (options_.again == reentry::allow) options_.again = reentry::refuse;
}

void distributed_mutex::lock() { keep(service_.acquire(key_, options_)); }

bool distributed_mutex::try_lock() {
  lease got = service_.try_acquire(key_, options_);
  if (!got) return false;
  keep(std::move(got));
  return true;
}

bool distributed_mutex::lock_within(std::chrono::milliseconds wait) {
  if (wait == std::chrono::milliseconds{0}) return try_lock();
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
  std::list<holding> one;
  one.push_back(holding{owner::current(), std::move(held)});
  detail::engine::stand(one.back().held, &detail::grant::by_mutex);
  const std::lock_guard guard(mutex_);
  holdings_.splice(holdings_.end(), one);
}

void distributed_mutex::unlock() {
  std::list<holding> mine;  // destroyed, and with it released, after the guard
  const owner me = owner::current();
  const std::lock_guard guard(mutex_);
  const auto at = std::ranges::find(holdings_, me, &holding::who);
  if (at == holdings_.end()) throw_not_held("unlock");
  mine.splice(mine.end(), holdings_, at);
}

const lease& distributed_mutex::held() const& {
  const owner me = owner::current();
  const std::lock_guard guard(mutex_);
  const auto at = std::ranges::find(holdings_, me, &holding::who);
  if (at == holdings_.end()) throw_not_held("held");
  return at->held;
}

void distributed_mutex::throw_not_held(const char* call) const {
  throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                          fmt::format("key {}: {}() by an owner that does not hold the mutex", key_.explain(), call));
}

}  // namespace dlock
