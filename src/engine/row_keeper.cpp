// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/row_keeper.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
/// Between tries of a renewal that was not answered, as a part of the ttl; the regular ones come each third.
constexpr int soon = 12;
}  // namespace

void row_keeper::add(const std::shared_ptr<grant>& one) {
  const std::lock_guard lock(mutex_);
  due_.emplace(shared_.now() + one->ttl / 3, one);
  shared_.time.notify(wake_);
}

void row_keeper::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  if (sending_ != nullptr) sending_->interrupt();  // nothing is held any more
  shared_.time.notify(wake_);
}

void row_keeper::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const auto first = due_.begin();
    if (first == due_.end() || first->first > shared_.now()) {
      shared_.time.wait_until(wake_, lock, first == due_.end() ? shared_.now() + 1h : first->first);
      continue;
    }
    const auto one = first->second.lock();
    due_.erase(first);
    if (one == nullptr || one->state.load() != grant_state::held) continue;
    lock.unlock();
    const auto next = renew(one);
    lock.lock();
    if (next != instant::max()) due_.emplace(next, one);
  }
}

bool row_keeper::sending(connection* on) noexcept {
  const std::lock_guard lock(mutex_);
  sending_ = stop_ ? nullptr : on;
  return !stop_;
}

instant row_keeper::renew(const std::shared_ptr<grant>& one) {
  const auto again = [&] { return shared_.now() + one->ttl / soon; };
  {
    // Its own transaction has the row locked: the statement could only wait.
    const std::lock_guard lock(one->who->mutex);
    if (one->transactions > 0) return again();
  }
  const auto limit = one->ttl / 6;
  auto ask = one->ask(verb::extend);
  ask.ttl = one->ttl;
  reply answer;
  auto sent = shared_.now();
  {
    const auto on = shared_.pool.get(sent + limit, limit, answer.why);
    sent = shared_.now();  // rule 4: before the request leaves
    // Rule 5: not even asked for when it is late; the alarm tells.
    if (one->own_end.left(sent) == 0us) return instant::max();
    if (on) {
      if (!sending(&*on)) return instant::max();
      shared_.where->execute(*on, {&ask, 1}, {&answer, 1});
      sending(nullptr);
    }
  }
  if (answer.result == outcome::yes) {
    if (!one->own_end.extend(sent + one->ttl - one->margin)) return instant::max();
    return sent + one->ttl / 3;
  }
  if (answer.result == outcome::no) {
    // Late, it may just have run out; the alarm tells that.
    if (one->own_end.left(shared_.now()) > 0us) taken_over_(one);
    return instant::max();
  }
  const auto next = again();
  news_.post({.what = event::kind::renewal_late, .key = std::string(one->key.view()), .text = answer.why.text});
  return next;
}

}  // namespace dlock::detail
