// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/multi_lease.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "engine/engine.hpp"

namespace dlock {

/// One stop_source for the losses of many.
struct multi_lease::watch {
  // Holds the watch while it runs, so that nobody who ends the leases has to wait for other people's callbacks; the
  // destructor of a std::stop_callback on its own thread doesn't.
  struct tell {
    std::weak_ptr<watch> of;
    void operator()() const {
      if (const auto self = of.lock()) self->any.request_stop();
    }
  };
  std::stop_source any{};
  std::list<std::stop_callback<tell>> each{};
};

multi_lease::multi_lease(const lock_keys& keys, std::vector<lease> leases)
    : keys_(keys.begin(), keys.end()), leases_(std::move(leases)), watch_(std::make_shared<watch>()) {
  detail::engine::stand(leases_, this);
  for (const auto& one : leases_) watch_->each.emplace_back(one.lost_token(), watch::tell{watch_});
}

multi_lease::multi_lease(multi_lease&& other) noexcept
    : keys_(std::move(other.keys_)), leases_(std::move(other.leases_)), watch_(std::move(other.watch_)) {
  detail::engine::stand(leases_, this);  // they are on the heap
}

multi_lease& multi_lease::operator=(multi_lease&& other) noexcept {
  if (this == &other) return *this;
  multi_lease before(std::move(*this));  // released at the end of this function
  keys_ = std::move(other.keys_);
  leases_ = std::move(other.leases_);
  watch_ = std::move(other.watch_);
  detail::engine::stand(leases_, this);
  return *this;
}

multi_lease::~multi_lease() {
  if (leases_.empty()) return;
  if (detail::engine::forked(leases_.front())) {
    // The parent's: its threads may hold what the callbacks need. The leases leak themselves.
    static_cast<void>(new (std::nothrow) std::shared_ptr<watch>(std::move(watch_)));
    return;
  }
  detail::engine::let_go(leases_);  // what comes of it is told to the observer
}

multi_lease::const_iterator multi_lease::find(const lock_key& key) const& noexcept {
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (at == keys_.end() || *at != key || leases_.empty()) return leases_.end();
  return leases_.begin() + (at - keys_.begin());
}

const lease& multi_lease::operator[](const lock_key& key) const& {
  const auto found = find(key);
  if (found == leases_.end()) {
    throw std::out_of_range(fmt::format("dlock: key '{}' is not among the {} that are held", printable(key), size()));
  }
  return *found;
}

std::chrono::microseconds multi_lease::remaining() const noexcept {
  auto least = leases_.empty() ? std::chrono::microseconds{0} : std::chrono::microseconds::max();
  for (const auto& one : leases_) least = std::min(least, one.remaining());
  return least;
}

std::stop_token multi_lease::lost_token() const& noexcept {
  return watch_ == nullptr ? std::stop_token{} : watch_->any.get_token();
}

loss_reason multi_lease::loss() const noexcept {
  for (const auto& one : leases_) {
    if (const auto why = one.loss(); why != loss_reason::none) return why;
  }
  return loss_reason::none;
}

void multi_lease::ensure_held() const {
  if (leases_.empty()) throw std::logic_error("dlock: ensure_held() on an empty multi_lease");
  for (const auto& one : leases_) one.ensure_held();
}

void multi_lease::renew() {
  if (leases_.empty()) throw std::logic_error("dlock: renew() on an empty multi_lease");
  for (auto& one : leases_) one.renew();
}

void multi_lease::renew(std::chrono::milliseconds ttl) {
  if (leases_.empty()) throw std::logic_error("dlock: renew() on an empty multi_lease");
  for (auto& one : leases_) one.renew(ttl);
}

void multi_lease::release() {
  if (leases_.empty()) throw std::logic_error("dlock: release() on an empty multi_lease");
  detail::engine::refuse_if_forked(leases_.front());
  multi_lease mine(std::move(*this));  // empty afterwards in each case
  leases_.clear();
  keys_.clear();
  std::optional<detail::engine::ended> unanswered;
  std::optional<detail::engine::ended> lost;
  for (auto& one : detail::engine::release(mine.leases_)) {
    // The last of those that the loop finds is the first by key.
    if (one.how == detail::engine::freed::lost)
      lost = std::move(one);
    else if (one.how == detail::engine::freed::later)
      unanswered = std::move(one);
  }
  mine.leases_.clear();
  if (lost) {
    const auto reason = lost->of->why(lost->of->home->shared().now());
    throw lock_lost(reason, fmt::format("key '{}': was not ours any more at the release: {}", printable(lost->of->key),
                                        detail::engine::explain(reason)));
  }
  if (!unanswered) return;
  const auto& why = unanswered->why;
  throw store_error(errc::outcome_unknown,
                    fmt::format("key '{}': release not answered, tried again in the background: {}",
                                printable(unanswered->of->key), unanswered->of->home->shared().trouble(why)),
                    why.native, why.sqlstate, true);
}

}  // namespace dlock
