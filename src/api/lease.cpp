// SPDX-License-Identifier: BSL-1.0
#include "dlock/lease.hpp"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <utility>

#include "api/access.hpp"
#include "dlock/store_interface/transactional_store.hpp"
#include "engine/operations/lock_errors.hpp"

namespace dlock {

namespace {

/// Leaks the parent's grant in a forked child, so that the child releases, closes and frees nothing of it.
void leak(std::shared_ptr<engine::grant>&& grant) noexcept {
  static_cast<void>(new (std::nothrow) std::shared_ptr<engine::grant>(std::move(grant)));
}

instant now_of(const engine::grant& grant) { return grant.home->shared().time.now(); }

engine::grant& must(const std::shared_ptr<engine::grant>& grant, const char* call) {
  if (grant == nullptr) throw std::logic_error(std::string("dlock: ") + call + " on an empty lease");
  grant->home->refuse_if_forked();
  return *grant;
}

}  // namespace

lease::lease(std::shared_ptr<engine::grant> grant, bool again, bool first) noexcept
    : grant_(std::move(grant)), reentered_(again), first_(first) {
  detail::access::stand(*this, this);
}

lease::lease(lease&& other) noexcept
    : grant_(std::move(other.grant_)),
      reentered_(std::exchange(other.reentered_, false)),
      first_(std::exchange(other.first_, false)) {
  detail::access::stand(*this, this);
}

lease& lease::operator=(lease&& other) noexcept {
  if (this == &other) return *this;
  lease before(std::move(*this));  // released at the end of this function
  grant_ = std::move(other.grant_);
  reentered_ = std::exchange(other.reentered_, false);
  first_ = std::exchange(other.first_, false);
  detail::access::stand(*this, this);
  return *this;
}

lease::~lease() {
  if (grant_ == nullptr) return;
  if (grant_->home->forked()) {
    leak(std::move(grant_));
    return;
  }
  engine::end(detail::access::take_grant(*this));  // the observer gets the result
}

std::string_view lease::key() const& noexcept { return grant_ == nullptr ? std::string_view{} : grant_->key.view(); }

std::uint64_t lease::fencing_token() const {
  if (grant_ == nullptr) return 0;
  if (grant_->fenced) return grant_->shown();
  throw std::logic_error("dlock: key '" + printable(grant_->key) + "': " + grant_->home->where().name() +
                         " has no fencing tokens: its table keeps no number that grows with each grant");
}

std::chrono::microseconds lease::remaining() const noexcept {
  if (grant_ == nullptr || grant_->home->forked()) return std::chrono::microseconds{0};
  return grant_->remaining(now_of(*grant_));
}

std::stop_token lease::lost_token() const& {
  if (grant_ == nullptr) return {};
  return grant_->home->forked() ? detail::access::stopped_token() : grant_->lost_token();
}

loss_reason lease::loss() const noexcept {
  if (grant_ == nullptr) return loss_reason::none;
  if (grant_->home->forked()) return loss_reason::forked;
  const auto now = now_of(*grant_);
  return grant_->remaining(now).count() > 0 ? loss_reason::none : grant_->why(now);
}

void lease::ensure_held() const {
  auto& grant = must(grant_, "ensure_held()");
  engine::ensure_held(grant);
}

verification lease::verification() const& {
  auto& grant = must(grant_, "verification()");
  engine::ensure_held(grant);
  auto& store = grant.home->where();
  const auto* const transactions = store.transactions();
  if (transactions == nullptr)
    throw std::logic_error("dlock: " + store.name() + " can't verify leases in transactions");
  return transactions->verification_of(grant.ask(verb::poll));
}

void lease::renew() {
  auto& grant = must(grant_, "renew()");
  if (!grant.renewable) throw std::logic_error("dlock: renew() needs renewal::manual");
  engine::extend(grant_, grant.ttl);
}

void lease::renew(std::chrono::milliseconds ttl) {
  auto& grant = must(grant_, "renew()");
  if (!grant.renewable) throw std::logic_error("dlock: renew() needs renewal::manual");
  engine::check_request(*grant.home, grant.key, {.ttl = ttl, .renewal = renewal::manual});
  engine::extend(grant_, ttl);
}

void lease::downgrade() {
  must(grant_, "downgrade()");
  auto held = std::exchange(grant_, nullptr);
  bool begun = false;
  try {
    grant_ = engine::downgrade(held, begun);
  } catch (...) {
    if (!begun) {
      grant_ = std::move(held);
    } else {
      reentered_ = first_ = false;
    }
    throw;
  }
  reentered_ = false;
  first_ = true;
  detail::access::stand(*this, this);
}

void lease::release() {
  must(grant_, "release()");
  engine::release(detail::access::take_grant(*this));
}

}  // namespace dlock
