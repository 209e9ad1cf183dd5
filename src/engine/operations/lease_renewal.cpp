// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/lease_renewal.hpp"

#include <algorithm>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;

task<void> renew_lease(flow& f, engine_services& services, notifier& news, grant& renewed) {
  const auto held = [&renewed] { return renewed.state.load() == grant_state::held; };
  const auto ttl = renewed.ttl;
  auto& own_end = renewed.deadline->own_end;
  bool met_row_lock = false;  // the last renewal did
  statement renewal;
  for (auto due = renewed.granted_at + ttl / renewals_in_ttl;;) {
    while (held() && f.now() < due) co_await f.wait(due);  // the end of the grant wakes this
    // Rule 5: a late renewal is not sent. The tick reports the loss.
    const auto remaining = own_end.remaining(f.now());
    if (!held() || remaining == 0us) co_return;
    due = f.now() + ttl / renewal_tries_in_ttl;
    // A transaction of this process has the row locked, so the statement could only wait.
    if (services.table.pinned_by_transaction(renewed)) continue;

    renewal.priority = priority::extends;
    renewal.ask = renewed.ask(verb::extend);
    renewal.ask.ttl = ttl;
    renewal.counts = false;
    renewal.queue_deadline = f.now() + std::min(ttl / 4, remaining);
    renewal.timeout = ttl / 6;
    co_await f.send(renewal);

    const auto& answer = renewal.answer;
    due = f.now() + ttl / renewal_tries_in_ttl;
    const bool met_before = std::exchange(met_row_lock, answer.result == outcome::failed && answer.why.contended);
    if (!held()) co_return;
    if (answer.result == outcome::yes) {
      // Rule 4: the time counts from the sending. A deadline that a caller has seen pass can't be moved.
      const auto margin = margin_for(ttl, services.shared.options.margin);
      if (!own_end.extend(renewal.sent_at + ttl - margin)) co_return;
      due = renewal.sent_at + ttl / renewals_in_ttl;
    } else if (answer.result == outcome::no) {
      // If it has just expired, the tick reports that.
      if (own_end.remaining(f.now()) == 0us) co_return;
      services.grants.lost(renewed.shared_from_this(), loss_reason::taken_over, f.now());
      co_return;
    } else if (met_before || !met_row_lock) {  // a locked row is usually free at the next try
      news.post({.what = event::kind::renewal_late, .key = renewed.key.view(), .text = answer.why.text});
    }
  }
}

}  // namespace dlock::engine
