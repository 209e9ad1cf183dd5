// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/keeper.hpp"

#include <algorithm>

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
/// More attempts of one session without an outcome than this end the session (rule 6).
constexpr std::size_t most_ghosts = 32;
constexpr microseconds patience = 2s;  // of one statement
constexpr microseconds again = 100ms;  // once more, should an interruption have come too early

/// A statement that renews a session, and a connection that is made for it, get so long: a quarter of the session's own
/// life, so that there is time for others before its deadline.
microseconds limit_for(const session& one) { return std::clamp<microseconds>(one.ttl / 4, 100ms, 10s); }
}  // namespace

// ---- sessions -----------------------------------------------------------------------------------------------------

std::shared_ptr<session> keeper::pin(microseconds ttl, instant until, fault& why) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found = sessions_.find(ttl);
    if (found != sessions_.end()) {
      const auto one = found->second;
      if (one->deadline.left(shared_.now()) > 0us) {
        ++one->users;
        return one;
      }
      end(one, loss_reason::unreachable, lock);
      continue;
    }
    if (opening_.insert(ttl).second) break;
    if (shared_.now() >= until) {
      why = {.transient = true, .text = "a session is being opened by another thread"};
      return nullptr;
    }
    shared_.time.wait_until(opened_, lock, until);
  }
  lock.unlock();
  struct turn {  // however it goes, those who wait may go on
    keeper& of;
    microseconds ttl;
    ~turn() {
      const std::lock_guard again(of.mutex_);
      of.opening_.erase(ttl);
      of.shared_.time.notify(of.opened_);
    }
  } const mine{*this, ttl};
  const auto made = open(ttl, until, why);
  if (made == nullptr) return nullptr;
  lock.lock();
  ++made->users;
  answered_.try_emplace(ttl, true);
  sessions_[ttl] = made;
  shared_.time.notify(wake_);
  lock.unlock();
  attend_();
  shared_.tell({.what = event::kind::session_opened, .text = made->id.hex()});
  return made;
}

std::shared_ptr<session> keeper::open(microseconds ttl, instant until, fault& why) {
  const auto id = id128::random();
  shared_.pool.prepare_renewal();  // beside what follows: it must be there when a lease needs it
  instant sent{};
  const auto answer = shared_.pool.run(std::max(until, shared_.now() + patience), patience, [&](connection& on) {
    sent = shared_.now();
    return shared_.where->session(on, session_verb::open, shared_.record(id, ttl));
  });
  if (answer.result == outcome::yes) {
    return std::make_shared<session>(id, ttl, margin_for(ttl, shared_.options.margin), sent);
  }
  // Without an answer the row may exist; nobody uses that id again, clean-up finds it after its expiry.
  why = answer.why;
  if (answer.result == outcome::unknown) why.transient = true;
  if (why.text.empty()) why.text = "the store refused to open a session";
  return nullptr;
}

void keeper::unpin(session& of) noexcept {
  const std::lock_guard lock(mutex_);
  --of.users;
  of.used = shared_.now();
}

bool keeper::pin_again(const std::shared_ptr<session>& of) noexcept {
  const std::lock_guard lock(mutex_);
  if (of->over) return false;
  ++of->users;
  return true;
}

bool keeper::link(grant& one) noexcept {
  const std::lock_guard lock(mutex_);
  auto& by = *one.kept_by;
  if (by.over) return false;
  put(by.first, one);
  one.linked = true;
  return true;
}

void keeper::put(grant*& head, grant& one) noexcept {
  one.previous = nullptr;
  one.next = head;
  if (head != nullptr) head->previous = &one;
  head = &one;
}

void keeper::unlink(grant& one) noexcept {
  const std::lock_guard lock(mutex_);
  if (!one.linked) return;
  auto& by = *one.kept_by;
  if (one.previous != nullptr) one.previous->next = one.next;
  if (one.next != nullptr) one.next->previous = one.previous;
  grant*& head = by.over ? orphans_ : by.first;
  if (head == &one) head = one.next;
  one.previous = one.next = nullptr;
  one.linked = false;
  --by.users;
  by.used = shared_.now();
}

void keeper::end(const std::shared_ptr<session>& one, loss_reason reason, std::unique_lock<std::mutex>& lock) {
  if (one->over) return;
  one->over = true;
  one->why.store(reason, std::memory_order_release);
  one->deadline.end();
  if (const auto at = sessions_.find(one->ttl); at != sessions_.end() && at->second == one) sessions_.erase(at);
  std::vector<std::shared_ptr<grant>> held;
  for (grant* each = one->first; each != nullptr;) {
    grant* const next = each->next;
    if (!each->kept) {
      put(orphans_, *each);  // it lives on: nothing of it depends on the session
    } else {
      if (auto alive = each->weak_from_this().lock()) held.push_back(std::move(alive));
      each->previous = each->next = nullptr;
      each->linked = false;
    }
    each = next;
  }
  one->first = nullptr;
  lock.unlock();
  tell_(one, std::move(held), reason);
  lock.lock();
}

void keeper::retire(const std::shared_ptr<session>& one, loss_reason reason) {
  std::unique_lock lock(mutex_);
  end(one, reason, lock);
}

void keeper::retire_all(loss_reason reason) {
  for (const auto& one : live()) retire(one, reason);
}

std::vector<std::shared_ptr<session>> keeper::live() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<session>> all;
  for (const auto& [ttl, one] : sessions_) all.push_back(one);
  return all;
}

void keeper::for_each_grant(const std::function<void(const grant&)>& use) {
  const std::lock_guard lock(mutex_);
  for (const auto& [ttl, one] : sessions_) {
    for (const grant* each = one->first; each != nullptr; each = each->next) use(*each);
  }
  for (const grant* each = orphans_; each != nullptr; each = each->next) use(*each);
}

void keeper::haunted(const std::shared_ptr<session>& by) {
  std::unique_lock lock(mutex_);
  if (++by->ghosts > most_ghosts) end(by, loss_reason::abandoned, lock);
}

void keeper::settled(session& by) noexcept {
  const std::lock_guard lock(mutex_);
  --by.ghosts;
}

void keeper::greeted(const connection_identity& server) {
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = !server_.empty() && server_ != server.server;
    server_ = server.server;
  }
  if (!changed) return;
  retire_all(loss_reason::server_changed);
  std::vector<std::shared_ptr<grant>> others;
  {
    const std::lock_guard lock(mutex_);
    for (grant* each = orphans_; each != nullptr; each = each->next) {
      if (auto alive = each->weak_from_this().lock()) others.push_back(std::move(alive));
    }
  }
  tell_(nullptr, std::move(others), loss_reason::server_changed);
}

// ---- the threads --------------------------------------------------------------------------------------------------

bool keeper::idle(const session& one, instant now) const noexcept {
  return one.users == 0 && one.ghosts == 0 && now - one.used > std::max<microseconds>(2 * one.ttl, 60s);
}

/// Of those that are due the one whose deadline is the next; if there is none, when there is one.
std::shared_ptr<session> keeper::next_due(instant now, instant& due) {
  std::shared_ptr<session> first;
  for (const auto& [ttl, one] : sessions_) {
    due = std::min(due, one->machine.due());
    if (one->machine.due() > now) continue;
    if (first == nullptr || one->machine.deadline() < first->machine.deadline()) first = one;
  }
  return first;
}

/// When the renewal that is under way has to make room. That is when it has taken as long as its session allows, or when
/// another one has waited as long as that one allows: it goes first then, for the statement may hang. But not if sessions
/// of that other one's ttl got no answer in time the last time: the network is too slow for them, and they would take its
/// time away from those that can wait longer, again and again.
instant keeper::interrupt_at() const {
  if (renewing_ == nullptr) return instant::max();
  if (renewing_for_ == nullptr) return renewing_limit_;
  auto at = renewing_limit_;
  for (const auto& [ttl, one] : sessions_) {
    const auto patience_ends = one->machine.due() + limit_for(*one);
    if (one.get() != renewing_for_ && answered_.at(ttl) && patience_ends < one->machine.deadline()) {
      at = std::min(at, patience_ends);
    }
  }
  return at;
}

/// Who waits for a connection is not interrupted, so he makes room at once.
microseconds keeper::limit_to_connect(const session& one) const {
  auto limit = limit_for(one);
  for (const auto& [ttl, other] : sessions_) {
    if (answered_.at(ttl)) limit = std::min(limit, limit_for(*other));
  }
  return limit;
}

void keeper::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    instant due = shared_.now() + 1h;
    const auto one = next_due(shared_.now(), due);
    if (one == nullptr) {
      shared_.time.wait_until(wake_, lock, due);
    } else if (idle(*one, shared_.now())) {
      end(one, loss_reason::none, lock);
    } else {
      renew(one, lock);
    }
  }
}

void keeper::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  if (renewing_ != nullptr) renewing_->interrupt();
  shared_.time.notify(wake_);
}

/// True: the connection was gone before anything was sent, so another one may do it.
bool keeper::send_renewal(session& one, instant until, instant& sent, reply& answer) {
  const auto on = shared_.pool.get_for_renewal(until, limit_for(one), answer.why);
  sent = shared_.now();  // rule 4: before the request leaves
  {
    const std::lock_guard lock(mutex_);
    answered_.at(one.ttl) = static_cast<bool>(on);  // for now
    // Rule 5: not even asked for when it is late.
    if (!on || stop_ || one.over || one.deadline.left(sent) == 0us) return false;
    renewing_ = &*on;
    renewing_for_ = &one;
    renewing_limit_ = sent + limit_for(one);
  }
  attend_();
  answer = shared_.where->session(*on, session_verb::renew, shared_.record(one.id, one.ttl));
  const std::lock_guard lock(mutex_);
  renewing_ = nullptr;
  answered_.at(one.ttl) = answer.result != outcome::unknown;
  return connection_pool::is_gone(answer) && shared_.now() < until;
}

void keeper::renew(const std::shared_ptr<session>& one, std::unique_lock<std::mutex>& lock) {
  const auto limit = limit_to_connect(*one);
  lock.unlock();
  instant sent{};
  const auto until = shared_.now() + limit;
  reply answer;
  if (send_renewal(*one, until, sent, answer)) send_renewal(*one, until, sent, answer = {});
  lock.lock();
  if (stop_ || one->over) return;
  if (one->deadline.left(sent) == 0us) return end(one, loss_reason::unreachable, lock);
  auto verdict = one->machine.renewed(answer.result, sent, shared_.now());
  if (verdict == session_machine::verdict::live && !one->deadline.extend(one->machine.deadline())) {
    verdict = session_machine::verdict::over;  // somebody was told meanwhile that the deadline had passed
  }
  if (verdict == session_machine::verdict::over) {
    end(one, answer.result == outcome::no ? loss_reason::renewal_refused : loss_reason::unreachable, lock);
  } else if (verdict == session_machine::verdict::late) {
    news_.post({.what = event::kind::renewal_late, .text = answer.why.text});
  }
}

instant keeper::tick(instant now) {
  std::unique_lock lock(mutex_);
  if (now >= interrupt_at()) {
    renewing_->interrupt();
    renewing_for_ = nullptr;
    renewing_limit_ = now + again;
  }
  std::vector<std::shared_ptr<session>> over;
  instant next = interrupt_at();
  for (const auto& [ttl, one] : sessions_) {
    const auto left = one->deadline.left(now);
    if (left == 0us) {
      over.push_back(one);
    } else {
      // Also often: a machine that was asleep finds its deadlines passed earlier than its timers say.
      next = std::min(next, now + std::min(left, std::clamp<microseconds>(ttl / 10, 100ms, 1s)));
    }
  }
  for (const auto& one : over) end(one, loss_reason::unreachable, lock);
  return next;
}

}  // namespace dlock::detail
