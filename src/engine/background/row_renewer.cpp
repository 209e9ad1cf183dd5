// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/background/row_renewer.hpp"

#include <algorithm>
#include <utility>

namespace dlock::engine {

namespace {
/// Between tries of a renewal that was not answered, as a part of the ttl; the regular ones come each third.
constexpr int soon = 12;
}  // namespace

struct row_renewer::renewal {
  std::weak_ptr<grant> held{};
  statement send{};
  std::shared_ptr<grant> under_way{};                                  // until it is answered
  std::shared_ptr<renewal> itself{};                                   // likewise
  std::multimap<instant, std::shared_ptr<renewal>>::node_type room{};  // while it is not in due_
};

row_renewer::row_renewer(service_context& shared, statement_executor& statements, grant_table& grants, notifier& news,
                         hooks told)
    : shared_(shared),
      statements_(statements),
      grants_(grants),
      news_(news),
      hooks_(std::move(told)),
      // Each may wait for a stranger's transaction. Some connections must be left for everything else.
      most_at_once_(std::max<std::size_t>(1, shared.options.connections / 2)) {}

std::shared_ptr<row_renewer::renewal> row_renewer::make_room() {
  auto entry = std::make_shared<renewal>();
  std::multimap<instant, std::shared_ptr<renewal>> place;
  place.emplace(instant{}, nullptr);
  entry->room = place.extract(place.begin());
  return entry;
}

void row_renewer::put(std::shared_ptr<renewal> entry, instant when) noexcept {
  auto room = std::move(entry->room);
  room.key() = when;
  room.mapped() = std::move(entry);
  due_.insert(std::move(room));
}

void row_renewer::add(const std::shared_ptr<grant>& grant, std::shared_ptr<renewal> room, instant now) noexcept {
  room->held = grant;
  {
    const base::lock_guard lock(mutex_);
    put(std::move(room), now + grant->ttl / 3);
  }
  hooks_.sooner(now + grant->ttl / 3);
}

instant row_renewer::tick(instant now) noexcept {
  std::shared_ptr<grant> about;  // ends without the lock
  base::unique_lock lock(mutex_);
  while (!stop_ && under_way_ < most_at_once_ && !due_.empty() && due_.begin()->first <= now) {
    auto node = due_.extract(due_.begin());
    auto entry = std::move(node.mapped());
    entry->room = std::move(node);
    if (about != nullptr) {
      lock.unlock();
      about.reset();
      lock.lock();
    }
    about = entry->held.lock();
    // Rule 5: not even asked for when it is late; the timer tells that.
    if (about == nullptr || about->state.load() != grant_state::held || about->own_end.left(now).count() == 0) continue;
    if (grants_.pinned_by_transaction(*about)) {
      // Its own transaction has the row locked: the statement could only wait.
      put(std::move(entry), now + about->ttl / soon);
      continue;
    }
    ++under_way_;
    auto& send = entry->send;
    send.what = statement::kind::keyed;
    send.stands_in = line::extends;
    send.ask = about->ask(verb::extend);
    send.ask.ttl = about->ttl;
    send.until = now + std::min(about->ttl / 6, about->own_end.left(now));
    send.patience = about->ttl / 6;
    send.counts = false;
    send.owner = this;
    send.about = entry.get();
    entry->under_way = std::move(about);
    entry->itself = entry;
    lock.unlock();
    statements_.submit(send);
    lock.lock();
  }
  // What is still in the books when it was stopped is never sent: its time must not keep the caller busy for ever.
  return stop_ || due_.empty() || under_way_ >= most_at_once_ ? instant::max() : due_.begin()->first;
}

instant row_renewer::judge(renewal& entry, grant& about, instant now) noexcept {
  const auto& answer = entry.send.answer;
  if (answer.result == outcome::yes) {
    // Rule 4: from the sending. Told that it passed, it can't be moved.
    if (!about.own_end.extend(entry.send.sent_at + about.ttl - margin_for(about.ttl, shared_.options.margin)))
      return instant::max();
    return entry.send.sent_at + about.ttl / 3;
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
  auto entry = std::move(static_cast<renewal*>(statement.about)->itself);
  const auto about = std::move(entry->under_way);
  const auto now = statement.answered_at;
  auto next = about->state.load() == grant_state::held ? judge(*entry, *about, now) : instant::max();
  {
    const base::lock_guard lock(mutex_);
    --under_way_;
    if (next != instant::max()) put(std::move(entry), next);
    if (stop_) {
      next = instant::max();
    } else if (!due_.empty()) {
      next = std::min(next, due_.begin()->first);
    }
  }
  if (next != instant::max()) hooks_.sooner(next);
}

void row_renewer::stop() noexcept {
  const base::lock_guard lock(mutex_);
  stop_ = true;
}

}  // namespace dlock::engine
