// SPDX-License-Identifier: BSL-1.0
#include "dlock/distributed_semaphore.hpp"

#include <fmt/core.h>

#include <list>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "api/access.hpp"
#include "base/mutex.hpp"
#include "dlock/distributed_shared_mutex.hpp"
#include "dlock/error.hpp"

namespace dlock {

using detail::access;

namespace {

void refuse_mode(const lock_options& options, const char* what) {
  if (!options.mode) return;
  throw std::invalid_argument(fmt::format("dlock: mode: a {} has its own: leave it unset", what));
}

}  // namespace

lock_options distributed_shared_mutex::in_mode(lock_options options, lock_mode mode) {
  refuse_mode(options, "distributed_shared_mutex");
  options.mode = mode;
  return options;
}

void distributed_shared_mutex::unlock_and_lock_shared() {
  auto mine = writer_.give_up("unlock_and_lock_shared");
  try {
    mine.downgrade();
  } catch (...) {
    if (mine) writer_.keep(std::move(mine));
    throw;
  }
  reader_.keep(std::move(mine));
}

struct distributed_semaphore::holdings {
  base::mutex mutex{};  // never locked while a statement runs
  std::list<lease> list DLOCK_GUARDED_BY(mutex){};
};

distributed_semaphore::distributed_semaphore(lock_service& service, lock_key key, std::uint32_t permits,
                                             const lock_options& options)
    : service_(service), key_(std::move(key)), options_(options), holdings_(std::make_unique<holdings>()) {
  refuse_mode(options, "distributed_semaphore");
  if (options.reentry) {
    throw std::invalid_argument(
        "dlock: reentry: each acquire() of a distributed_semaphore takes a permit: leave it unset");
  }
  options_.mode = one_of(permits);
  options_.reentry = reentry::busy;
  if (permits == 0) {
    throw std::invalid_argument("dlock: permits = 0: a distributed_semaphore has 1 to 1,000,000");
  }
  validate(detail::settled(options_, access::core_of(service)->shared().defaults));
}

distributed_semaphore::~distributed_semaphore() = default;

void distributed_semaphore::acquire() { keep(service_.acquire(key_, options_)); }

bool distributed_semaphore::try_acquire() {
  auto once = options_;
  once.wait = std::chrono::milliseconds{0};
  auto got = service_.try_acquire(key_, once);
  if (!got) return false;
  keep(std::move(got));
  return true;
}

bool distributed_semaphore::acquire_within(std::chrono::milliseconds wait) {
  auto options = options_;
  options.wait = wait;
  auto got = service_.try_acquire(key_, options);
  if (!got) return false;
  keep(std::move(got));
  return true;
}

void distributed_semaphore::keep(lease held) {
  const base::lock_guard lock(holdings_->mutex);
  holdings_->list.push_back(std::move(held));
}

void distributed_semaphore::release() {
  std::list<lease> first;
  {
    const base::lock_guard lock(holdings_->mutex);
    auto& all = holdings_->list;
    if (!all.empty()) first.splice(first.begin(), all, all.begin());
  }
  if (first.empty()) {
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            fmt::format("dlock: key '{}': release() without a permit", printable(key_)));
  }
}

std::size_t distributed_semaphore::held() const {
  const base::lock_guard lock(holdings_->mutex);
  return holdings_->list.size();
}

}  // namespace dlock
