// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/background/row_renewer.hpp"

#include <algorithm>
#include <utility>

#include "engine/renewal_place.hpp"

namespace dlock::engine {

namespace {
/// Between tries of a renewal that was not answered, as a part of the ttl; the regular ones come each third.
constexpr int soon = 12;
}  // namespace

row_renewer::row_renewer(service_context& shared, statement_executor& statements, grant_table& grants, notifier& news,
                         hooks told)
    : shared_(shared),
      statements_(statements),
      grants_(grants),
      news_(news),
      hooks_(std::move(told)),
      // Each may wait for a stranger's transaction. Some connections must be left for everything else.
      most_at_once_(std::max<std::size_t>(1, shared.options.connections / 2)) {}

void row_renewer::make_room(grant& grant) { grant.renewal = std::make_unique<renewal_place>(); }

void row_renewer::add(const std::shared_ptr<grant>& grant, instant now) noexcept {
  const auto when = now + grant->ttl / 3;
  {
    const base::lock_guard lock(mutex_);
    // It may have been lost already, and then it has been removed.
    if (grant->state.load() != grant_state::held || !grant->renewal->due.set_in(due_, grant, when)) return;
  }
  hooks_.sooner(when);
}

void row_renewer::remove(grant& grant) noexcept {
  if (grant.renewal == nullptr) return;
  const base::lock_guard lock(mutex_);
  grant.renewal->due.clear_in(due_);
}

instant row_renewer::tick(instant now) noexcept {
  std::shared_ptr<grant> about;  // ends without the lock
  base::unique_lock lock(mutex_);
  while (!stop_ && under_way_ < most_at_once_ && !due_.empty() && due_.begin()->first <= now) {
    if (about != nullptr) {
      lock.unlock();
      about.reset();
      lock.lock();
      continue;
    }
    about = deadline_place::take_first(due_, [](grant& first) -> deadline_place& { return first.renewal->due; });
    // Rule 5: not even asked for when it is late; the timer tells that.
    if (about == nullptr || about->state.load() != grant_state::held || about->own_end.left(now).count() == 0) continue;
    if (grants_.pinned_by_transaction(*about)) {
      // Its own transaction has the row locked: the statement could only wait.
      about->renewal->due.set_in(due_, about, now + about->ttl / soon);
      continue;
    }
    ++under_way_;
    lock.unlock();
    send(std::move(about), now);
    lock.lock();
  }
  // What is still in the books when it was stopped is never sent: its time must not keep the caller busy for ever.
  return stop_ || due_.empty() || under_way_ >= most_at_once_ ? instant::max() : due_.begin()->first;
}

void row_renewer::send(std::shared_ptr<grant> about, instant now) noexcept {
  auto& place = *about->renewal;
  auto& send = place.send;
  send.what = statement::kind::keyed;
  send.stands_in = line::extends;
  send.ask = about->ask(verb::extend);
  send.ask.ttl = about->ttl;
  send.until = now + std::min(about->ttl / 6, about->own_end.left(now));
  send.patience = about->ttl / 6;
  send.counts = false;
  send.owner = this;
  send.about = &place;
  place.under_way = std::move(about);
  statements_.submit(send);
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
    // Late, it may just have run out; the timer tells that.
    if (about.own_end.left(now).count() > 0) hooks_.lost(about.shared_from_this(), loss_reason::taken_over, now);
    return instant::max();
  }
  news_.post({.what = event::kind::renewal_late, .key = about.key.view(), .text = answer.why.text});
  return now + about.ttl / soon;
}

void row_renewer::answered(statement& statement) noexcept {
  const auto about = std::move(static_cast<renewal_place*>(statement.about)->under_way);
  const auto now = statement.answered_at;
  const auto again = about->state.load() == grant_state::held ? judge(*about, now) : instant::max();
  auto next = instant::max();
  {
    const base::lock_guard lock(mutex_);
    --under_way_;
    // Once its end has begun it is removed, now or before.
    if (again != instant::max() && about->state.load() == grant_state::held) {
      about->renewal->due.set_in(due_, about, again);
    }
    if (!stop_ && !due_.empty()) next = due_.begin()->first;
  }
  if (next != instant::max()) hooks_.sooner(next);
}

void row_renewer::stop() noexcept {
  const base::lock_guard lock(mutex_);
  stop_ = true;
}

}  // namespace dlock::engine
