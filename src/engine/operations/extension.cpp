// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/extension.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
constexpr microseconds timeout = 5s;
}  // namespace

void extension::must_not_wait_for_itself() const {
  const auto& key = grant_->key;
  if (services_.table.verified_here(*grant_)) {
    throw std::logic_error(fmt::format(
        "dlock: key '{}': renew() inside the transaction of this thread that verified the lease and has its "
        "row locked: renew first, or after it has ended",
        printable(key)));
  }
  if (fault why; !services_.may_wait(why)) throw_waits_for_itself(key, std::string(doing_) + ": ", why);
}

action extension::start(instant now) {
  ensure_held(*grant_, now);
  must_not_wait_for_itself();
  statement_.priority = priority::extends;
  statement_.ask = grant_->ask(verb::extend);
  statement_.ask.ttl = ttl_;
  statement_.queue_deadline = until_ = now + timeout;
  statement_.timeout = timeout;
  return action::send(sent_);
}

action extension::resume(instant now) {
  if (std::exchange(pauses_, false)) return action::send(sent_);
  const auto result = statement_.sent ? statement_.answer.result : outcome::failed;
  // Somebody has the row locked, and there was no connection to wait for it.
  const bool locked = statement_.sent && result == outcome::failed && statement_.answer.why.contended;
  const auto pause = pause_.next();
  if (locked && now + pause < until_ && grant_->remaining(now) > pause) {
    pauses_ = true;
    return action::wait(now + pause);
  }
  if (result == outcome::failed || result == outcome::unknown) throw_store_error(services_, doing_, statement_);
  if (result != outcome::yes) services_.grants.lost(grant_, grant_lifecycle::not_ours(*grant_, now), now);
  ensure_held(*grant_, now);  // rule 4: a reply that came after the deadline revives nothing
  // Rule 8: from its sending, however long the statement waited.
  grant_->own_end.extend(statement_.sent_at + ttl_ - margin_for(ttl_, services_.shared.options.margin));
  ensure_held(*grant_, now);  // it may have been over meanwhile
  services_.grants.watch(grant_, now);
  return {};
}

}  // namespace dlock::engine
