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
    : shared_(shared),
      statements_(statements),
      grants_(grants),
      news_(news),
      hooks_(std::move(callbacks)),
      passes_over_(statements.where().caps().extends_unlocked),
      // Some connections must be left for everything else.
      most_waits_(std::max<std::size_t>(1, shared.options.connections / 2)) {}

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
  blocked_.remove(*grant.renewal);
}

// ---- what is sent ---------------------------------------------------------------------------------------------------

instant row_renewer::tick(instant now) noexcept {
  const base::lock_guard lock(mutex_);
  send_due(now);
  send_blocked(now);
  return next_time(now);
}

instant row_renewer::next_time(instant now) const noexcept {
  // What is still in the books when it was stopped is never sent: its time must not keep the caller busy.
  if (stop_) return instant::max();
  if (!blocked_.empty() && waits_ < most_waits_) return now;
  return due_.first();
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
    const bool queued = about->renewal->blocked.set();
    blocked_.remove(*about->renewal);
    const bool goes = wanted(about, now);
    if (goes && passes_over_) {
      out[count++] = &prepare(about, false, now);
    } else if (goes) {
      block(about, now);
    }
    if (goes && passes_over_ && !queued && count < out.size()) continue;
    mutex_.unlock();
    if (goes && queued) post_late(*about);
    if (count == out.size()) statements_.submit({out.data(), std::exchange(count, 0)});
    about.reset();  // its end may be the end of more, and takes the lock
    mutex_.lock();
  }
  if (count == 0) return;
  mutex_.unlock();
  statements_.submit({out.data(), count});
  mutex_.lock();
}

void row_renewer::send_blocked(instant now) noexcept {
  while (!stop_ && waits_ < most_waits_ && !blocked_.empty()) {
    auto about = blocked_.take_first().of.alive();
    if (about == nullptr) continue;
    due_.remove(*about->renewal);
    statement* const send = wanted(about, now) ? &prepare(about, true, now) : nullptr;
    if (send != nullptr) ++waits_;
    mutex_.unlock();
    if (send != nullptr) statements_.submit(*send);
    about.reset();
    mutex_.lock();
  }
}

void row_renewer::block(const std::shared_ptr<grant>& about, instant now) noexcept {
  blocked_.set(*about->renewal, now + about->own_end.remaining(now));
}

statement& row_renewer::prepare(const std::shared_ptr<grant>& about, bool waits, instant now) noexcept {
  auto& state = *about->renewal;
  auto& send = state.send;
  send.what = statement::kind::keyed;
  send.priority = priority::extends;
  send.ask = about->ask(verb::extend);
  send.ask.ttl = about->ttl;
  send.ask.no_wait = !waits;
  // Longer than those that wait keep a connection.
  const auto limit = std::min(waits ? about->ttl / 6 : about->ttl / 4, about->own_end.remaining(now));
  send.in_background(*this, &state, now + limit, about->ttl / 6);
  state.under_way = about;
  return send;
}

// ---- what is answered -----------------------------------------------------------------------------------------------

void row_renewer::post_late(grant& about) noexcept {
  news_.post({.what = event::kind::renewal_late, .key = about.key.view(), .text = about.renewal->send.answer.why.text});
}

instant row_renewer::judge(grant& about, instant now) noexcept {
  const auto& sent = about.renewal->send;
  const auto& answer = sent.answer;
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
  post_late(about);
  return now + about.ttl / soon;
}

void row_renewer::answered(statement& statement) noexcept {
  const auto about = std::move(static_cast<renewal_state*>(statement.about)->under_way);
  const auto now = statement.answered_at;
  const bool waited = !statement.ask.no_wait;
  const bool locked = !waited && statement.answer.result == outcome::failed && statement.answer.why.contended;
  auto again = instant::max();
  if (about->state.load() == grant_state::held) again = locked ? now + about->ttl / soon : judge(*about, now);
  auto next = instant::max();
  {
    const base::lock_guard lock(mutex_);
    if (waited) --waits_;
    // Once its end has begun it is removed, now or before.
    if (again != instant::max() && about->state.load() == grant_state::held) {
      due_.set(*about->renewal, again);
      if (locked) block(about, now);
    }
    next = next_time(now);
  }
  if (next != instant::max()) hooks_.sooner(next);
}

void row_renewer::stop() noexcept {
  const base::lock_guard lock(mutex_);
  stop_ = true;
}

}  // namespace dlock::engine
