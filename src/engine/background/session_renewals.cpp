// SPDX-License-Identifier: BSL-1.0
// How sessions are kept alive.
#include <algorithm>
#include <utility>

#include "engine/background/session_keeper.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
/// Of one renewal: a quarter of the ttl, so that there is time for others before the deadline.
microseconds timeout_for(microseconds ttl) noexcept { return std::clamp<microseconds>(ttl / 4, 100ms, 10s); }
}  // namespace

bool session_keeper::idle(session& session, instant now) noexcept {
  if (session.users > 0 || session.in_doubt > 0) return false;
  if (session.idle_since == instant{}) session.idle_since = now;
  return now - session.idle_since > std::max<microseconds>(2 * session.ttl, 60s);
}

void session_keeper::renew_all(instant now) noexcept {
  const base::lock_guard lock(mutex_);
  for (const auto& [ttl, each] : sessions_) {
    each->session->machine.hurry(now);
    // Its answer may be older than what the store has seen.
    each->session->hurried = each->under_way != nullptr;
  }
}

instant session_keeper::tick(instant now) noexcept {
  base::unique_lock lock(mutex_);
  while (auto found = stop_ ? nullptr : next_due(now)) {
    const auto& session = found->session;
    const bool late = session->deadline.remaining(now) == 0us;
    if (late || idle(*session, now)) {
      end(session, late ? loss_reason::unreachable : loss_reason::none, now);
      continue;
    }
    found->under_way = found;
    lock.unlock();
    renew(found, now);
    lock.lock();
  }
  auto next = instant::max();
  for (const auto& [ttl, each] : sessions_) {
    // Also often: a machine that was asleep finds its deadlines passed earlier than its timers say.
    const auto often = std::clamp<microseconds>(ttl / 10, 100ms, 1s);
    next = std::min(next, now + std::min(each->session->deadline.remaining(now), often));
    if (each->under_way == nullptr) next = std::min(next, each->session->machine.due());
  }
  return next;
}

/// One that is late, or else the one that has been due for longest.
std::shared_ptr<session_keeper::renewal> session_keeper::next_due(instant now) noexcept {
  std::shared_ptr<renewal> found;
  for (const auto& [ttl, each] : sessions_) {
    auto& session = *each->session;
    if (session.deadline.remaining(now) == 0us) return each;
    const bool due = each->under_way == nullptr && session.machine.due() <= now;
    if (due && (found == nullptr || session.machine.due() < found->session->machine.due())) found = each;
  }
  return found;
}

void session_keeper::renew(const std::shared_ptr<renewal>& due, instant now) noexcept {
  const auto timeout = timeout_for(due->session->ttl);
  auto& send = due->send;
  send.what = statement::kind::session;
  send.priority = priority::renewals;
  send.session_action = session_verb::renew;
  send.record = shared_.record(due->session->id, due->session->ttl);
  send.queue_deadline = now + std::min(timeout, due->session->deadline.remaining(now));
  send.timeout = timeout;
  send.counts = false;
  send.owner = this;
  send.about = due.get();
  statements_.submit(send);
}

void session_keeper::answered(statement& statement) noexcept {
  base::unique_lock lock(mutex_);
  // From here on it may be sent again, as soon as the lock is open.
  const auto renewed = std::move(static_cast<renewal*>(statement.about)->under_way);
  const auto& session = renewed->session;
  const auto now = statement.answered_at;
  const auto result = statement.answer.result;
  const auto why = std::move(statement.answer.why);
  if (stop_ || session->over) return;
  auto verdict = session->machine.renewed(result, statement.sent ? statement.sent_at : now, now);
  if (verdict == session_machine::verdict::live && !session->deadline.extend(session->machine.deadline())) {
    verdict = session_machine::verdict::over;  // a caller has seen meanwhile that the deadline had passed
  }
  if (verdict == session_machine::verdict::over) {
    end(session, result == outcome::no ? loss_reason::renewal_refused : loss_reason::unreachable, now);
    return;
  }
  if (std::exchange(session->hurried, false)) session->machine.hurry(now);
  const auto due = session->machine.due();
  lock.unlock();
  if (verdict == session_machine::verdict::late) {
    news_.post({.what = event::kind::renewal_late, .text = why.text});
  }
  hooks_.sooner(due);
}

}  // namespace dlock::engine
