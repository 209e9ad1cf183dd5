// SPDX-License-Identifier: BSL-1.0
#include "engine/background/row_renewer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlock::engine {

namespace {
/// Between tries of a renewal that was not answered, as a part of the ttl; the regular ones come each third.
constexpr int soon = 12;
}  // namespace

row_renewer::row_renewer(service_context& shared, statement_executor& statements, held_locks& grants, notifier& news,
                         hooks callbacks)
    : shared_(shared), statements_(statements), grants_(grants), news_(news), hooks_(std::move(callbacks)) {}

void row_renewer::make_room(grant& grant) { grant.renewal = std::make_unique<renewal_state>(grant); }

void row_renewer::add(const std::shared_ptr<grant>& grant, instant now) noexcept {
  const auto when = now + grant->ttl / 3;
  {
    const base::lock_guard lock(mutex_);
    // It may have been lost already, and then it has been removed.
    if (grant->state.load() != grant_state::held || !due_.set(*grant->renewal, when)) return;
  }
  hooks_.sooner(when);
}

void row_renewer::remove(grant& grant) noexcept {
  if (grant.renewal == nullptr) return;
  const base::lock_guard lock(mutex_);
  due_.remove(*grant.renewal);
}

// ---- what is sent ---------------------------------------------------------------------------------------------------

instant row_renewer::tick(instant now) noexcept {
  const base::lock_guard lock(mutex_);
  send_due(now);
  return next_time();
}

instant row_renewer::next_time() const noexcept {
  // What is still in the registry when it was stopped is never sent: its time must not keep the caller busy.
  return stop_ ? instant::max() : due_.first();
}

bool row_renewer::wanted(const std::shared_ptr<grant>& about, instant now) noexcept {
  // Rule 5: a late one is not even asked for; the deadline timer reports it.
  if (about->state.load() != grant_state::held || about->own_end.remaining(now).count() == 0) return false;
  if (!grants_.pinned_by_transaction(*about)) return true;
  // Its own transaction has the row locked: the statement could only wait.
  due_.set(*about->renewal, now + about->ttl / soon);
  return false;
}

void row_renewer::send_due(instant now) noexcept {
  std::array<statement*, batch::most> out{};
  std::size_t count = 0;
  while (!stop_ && due_.first() <= now) {
    auto about = due_.take_first().of.alive();
    if (about == nullptr) continue;
    const bool goes = wanted(about, now);
    if (goes) out[count++] = &prepare(about, now);
    if (goes && count < out.size()) continue;
    mutex_.unlock();
    if (count == out.size()) statements_.submit({out.data(), std::exchange(count, 0)});
    about.reset();  // its end may be the end of more, and takes the lock
    mutex_.lock();
  }
  if (count == 0) return;
  mutex_.unlock();
  statements_.submit({out.data(), count});
  mutex_.lock();
}

statement& row_renewer::prepare(const std::shared_ptr<grant>& about, instant now) noexcept {
  auto& state = *about->renewal;
  auto& send = state.send;
  send.what = statement::kind::keyed;
  send.priority = priority::extends;
  send.ask = about->ask(verb::extend);
  send.ask.ttl = about->ttl;
  const auto limit = std::min(about->ttl / 4, about->own_end.remaining(now));
  send.in_background(*this, &state, now + limit, about->ttl / 6);
  state.under_way = about;
  return send;
}

// ---- what is answered -----------------------------------------------------------------------------------------------

void row_renewer::post_late(grant& about) noexcept {
  news_.post({.what = event::kind::renewal_late, .key = about.key.view(), .text = about.renewal->send.answer.why.text});
}

instant row_renewer::judge(grant& about, instant now) noexcept {
  auto& state = *about.renewal;
  const auto& sent = state.send;
  const auto& answer = sent.answer;
  const bool met_before = std::exchange(state.met_row_lock, answer.result == outcome::failed && answer.why.contended);
  if (answer.result == outcome::yes) {
    // Rule 4: from the sending. Told that it passed, it can't be moved.
    if (!about.own_end.extend(sent.sent_at + about.ttl - margin_for(about.ttl, shared_.options.margin)))
      return instant::max();
    return sent.sent_at + about.ttl / 3;
  }
  if (answer.result == outcome::no) {
    // Late, it may just have run out; the timer reports that.
    if (about.own_end.remaining(now).count() > 0) hooks_.lost(about.shared_from_this(), loss_reason::taken_over, now);
    return instant::max();
  }
  // A row that is locked once is most often free when it is tried again.
  if (met_before || !state.met_row_lock) post_late(about);
  return now + about.ttl / soon;
}

void row_renewer::answered(statement& statement) noexcept {
  const auto about = std::move(static_cast<renewal_state*>(statement.about)->under_way);
  const auto now = statement.answered_at;
  const auto again = about->state.load() == grant_state::held ? judge(*about, now) : instant::max();
  auto next = instant::max();
  {
    const base::lock_guard lock(mutex_);
    // Once its end has begun it is removed, now or before.
    if (again != instant::max() && about->state.load() == grant_state::held) due_.set(*about->renewal, again);
    next = next_time();
  }
  if (next != instant::max()) hooks_.sooner(next);
}

void row_renewer::stop() noexcept {
  const base::lock_guard lock(mutex_);
  stop_ = true;
}

}  // namespace dlock::engine
