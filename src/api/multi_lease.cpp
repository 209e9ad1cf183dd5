// SPDX-License-Identifier: BSL-1.0
#include "dlock/multi_lease.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <new>
#include <stdexcept>
#include <utility>

#include "api/access.hpp"

namespace dlock {

/// One stop_source for the losses of all leases.
struct multi_lease::watch {
  // Owns the watch while it runs, so that ending the leases does not wait for the application's callbacks: the
  // destructor of a std::stop_callback does not wait for a callback on its own thread.
  struct tell {
    std::weak_ptr<watch> owner;
    void operator()() const {
      if (const auto self = owner.lock()) self->any.request_stop();
    }
  };
  std::stop_source any{};
  std::list<std::stop_callback<tell>> each{};
};

namespace {

/// Anchors all leases at the multi_lease: they themselves are on the heap, where an anchor would allow no re-entry.
void stand(const std::vector<lease>& leases, const void* at) noexcept {
  for (const auto& lease : leases) detail::access::stand(lease, at);
}

/// Ends the leases, the last first; they are empty afterwards. If memory ran out, ends them one after the other.
std::vector<engine::ended_lease> end_all(std::vector<lease>& leases) noexcept {
  std::vector<engine::ended_lease> all;
  try {
    all.reserve(leases.size());
  } catch (const std::bad_alloc&) {
    while (!leases.empty()) leases.pop_back();
    return all;
  }
  for (auto at = leases.rbegin(); at != leases.rend(); ++at) {
    if (*at) all.push_back({.grant = detail::access::take_grant(*at)});
  }
  engine::release_all(all);
  return all;
}

}  // namespace

multi_lease::multi_lease(const lock_keys& keys, std::vector<lease> leases)
    : keys_(keys.begin(), keys.end()), leases_(std::move(leases)), watch_(std::make_shared<watch>()) {
  stand(leases_, this);
  for (const auto& lease : leases_) watch_->each.emplace_back(lease.lost_token(), watch::tell{watch_});
}

multi_lease::multi_lease(multi_lease&& other) noexcept
    : keys_(std::move(other.keys_)), leases_(std::move(other.leases_)), watch_(std::move(other.watch_)) {
  stand(leases_, this);
}

multi_lease& multi_lease::operator=(multi_lease&& other) noexcept {
  if (this == &other) return *this;
  multi_lease before(std::move(*this));  // released at the end of this function
  keys_ = std::move(other.keys_);
  leases_ = std::move(other.leases_);
  watch_ = std::move(other.watch_);
  stand(leases_, this);
  return *this;
}

multi_lease::~multi_lease() {
  if (leases_.empty()) return;
  if (detail::access::grant_of(leases_.front())->home->forked()) {
    // The watch belongs to the parent, whose threads may hold what the callbacks need. The leases leak themselves.
    static_cast<void>(new (std::nothrow) std::shared_ptr<watch>(std::move(watch_)));
    return;
  }
  end_all(leases_);  // the observer gets the result
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
  for (const auto& lease : leases_) least = std::min(least, lease.remaining());
  return least;
}

std::stop_token multi_lease::lost_token() const& noexcept {
  if (watch_ == nullptr) return {};
  // In a forked child the parent's threads may hold what the callbacks need.
  const bool forked = !leases_.empty() && detail::access::grant_of(leases_.front())->home->forked();
  return forked ? detail::access::stopped_token() : watch_->any.get_token();
}

loss_reason multi_lease::loss() const noexcept {
  for (const auto& lease : leases_) {
    if (const auto why = lease.loss(); why != loss_reason::none) return why;
  }
  return loss_reason::none;
}

void multi_lease::ensure_held() const {
  if (leases_.empty()) throw std::logic_error("dlock: ensure_held() on an empty multi_lease");
  for (const auto& lease : leases_) lease.ensure_held();
}

void multi_lease::renew() {
  if (leases_.empty()) throw std::logic_error("dlock: renew() on an empty multi_lease");
  for (auto& lease : leases_) lease.renew();
}

void multi_lease::renew(std::chrono::milliseconds ttl) {
  if (leases_.empty()) throw std::logic_error("dlock: renew() on an empty multi_lease");
  for (auto& lease : leases_) lease.renew(ttl);
}

void multi_lease::release() {
  if (leases_.empty()) throw std::logic_error("dlock: release() on an empty multi_lease");
  detail::access::grant_of(leases_.front())->home->refuse_if_forked();
  multi_lease mine(std::move(*this));  // so that *this is empty even after an exception
  leases_.clear();
  keys_.clear();
  auto all = end_all(mine.leases_);
  mine.leases_.clear();
  engine::check_released(all);
}

}  // namespace dlock
