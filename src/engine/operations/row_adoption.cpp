// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/row_adoption.hpp"

#include <fmt/format.h>

#include <utility>

#include "engine/operations/lock_errors.hpp"
#include "engine/operations/session_request.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

row_adoption::row_adoption(engine_services& services, const detail::lock_settings& terms, const keeping& kept,
                           std::shared_ptr<owner_state> who, instant begun)
    : services_(services),
      terms_(terms),
      owner_(std::move(who)),
      begun_(begun),
      keeping_(kept),
      nonce_(services.shared.next_nonce()),
      unseen_(services.shared),
      last_(begun) {}

row_adoption::~row_adoption() {
  for (auto& each : asked_) {
    if (each != nullptr) cancel(std::move(each), last_);
  }
}

task<void> row_adoption::pin_session(flow& f) {
  statement opens;
  fault why;
  pin_ = co_await request_session(f, services_, keeping_.session_ttl(), f.now() + statement_timeout, opens, why);
  if (pin_) co_return;
  if (why.text.empty()) why = passing_fault("the service ends while another thread opens the session", false);
  throw store_error(why.connection ? errc::store_unreachable : errc::store_failed,
                    fmt::format("rows to be claimed: {}", trouble(services_, why)), why.native, why.sqlstate,
                    why.transient);
}

void row_adoption::expect(const std::vector<lock_key>& keys) {
  asked_.clear();
  asked_.reserve(keys.size());
  for (const auto& key : keys) {
    auto grant = keeping_.make_grant(services_, key, owner_, terms_);
    grant->nonce = nonce_;
    services_.grants.make_room(*grant, terms_.max_hold.count() > 0);
    grant->turn =
        services_.queue.try_enter(grant->key);  // if another thread has the turn, it gets the row after this one
    grant->pin = pin_.share();
    asked_.push_back(std::move(grant));
  }
}

std::vector<std::shared_ptr<grant>> row_adoption::committed(const std::vector<std::uint64_t>& fences, instant sent,
                                                            instant now) {
  unsure_ = false;  // there was an answer
  last_ = now;
  std::vector<std::shared_ptr<grant>> grants(asked_.size());
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    auto& grant = asked_[i];
    const auto until = keeping_.trusted_until(*pin_.get(), sent, now, services_.shared.options.margin);
    grant->fence = fences[i];
    keeping_.granted(*grant, terms_, until, sent, now);
    const bool ours = grant->fence != 0 && now < until && services_.grants.admit(grant, now);
    if (ours) {
      services_.shared.notify({.what = event::kind::granted,
                               .key = grant->key.view(),
                               .fence = grant->fence_shown(),
                               .waited = now - begun_,
                               .attempts = 1});
      grants[i] = std::move(grant);
    } else {
      cancel(std::move(grant), now);
    }
  }
  asked_.clear();
  return grants;
}

void row_adoption::cancel(std::shared_ptr<grant> grant, instant now) noexcept {
  grant->turn.hand_on();
  // The connection of the application is unknown. If its commit may still come, the cancellation is repeated for a
  // while.
  const auto end = unsure_ ? now + 10min : instant::max();
  services_.background.cancel_later(std::move(grant), nullptr, end, now, unsure_);
}

}  // namespace dlock::engine
