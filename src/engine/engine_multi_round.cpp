// SPDX-License-Identifier: GPL-2.0-or-later
// One round of an acquire of several keys: all are taken, or what was taken is given back.
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "engine/grouped.hpp"
#include "engine/several.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

multi_step engine::several::round() {
  if (const auto busy = line_up(); busy != none) return machine_.refused(busy, {});
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (!leases_[i]) parts_.emplace_back(i, *this);
  }
  if (parts_.empty()) return multi_step::granted;  // other threads of this owner got them meanwhile
  leave_alone();
  if (fault why; !pin_all(why)) return machine_.troubled(parts_.front().key, why, false);
  if (home_.looks_first(options_, once_)) {
    if (const auto end = look_around()) return *end;
  }
  take_all();
  for (auto& each : parts_) {
    if (each.next == step::resolve || each.next == step::give_back) settle(each);
  }
  for (const auto& each : parts_) {
    if (each.next == step::failed) return ended(each);
  }
  for (auto& each : parts_) {
    settle(each);
    if (each.next != step::granted) return ended(each);
  }
  const auto at = now();
  auto until = instant::max();
  for (const auto& each : parts_) {
    until = std::min(until, each.a.how.kept ? at + each.a.by->deadline.left(at) : each.a.trusted_until);
  }
  return machine_.taken(at, until);
}

/// Those that this process has had again and again.
void engine::several::leave_alone() {
  microseconds moment{0};
  for (const auto& each : parts_) {
    moment = std::max(moment, home_.leave_alone(each.a.key, options_, once_, begun_));
  }
  if (moment > 0us) home_.wait_out(moment, parts_.front().a.key, options_, begun_);
}

/// All under one session, so that they end together: the options are the same.
bool engine::several::pin_all(fault& why) {
  const part* first[2] = {nullptr, nullptr};
  for (auto& each : parts_) {
    const part*& same = first[each.a.how.kept ? 1 : 0];
    if (same == nullptr) {
      if (!home_.pinned(each.a, why)) return false;
      same = &each;
    } else if (home_.keeper_.pin_again(same->a.by)) {
      each.a.by = same->a.by;
    } else {
      why = {.transient = true, .text = "the session ended"};
      return false;
    }
  }
  return true;
}

request engine::several::ask(verb action, const lock_key& key, const attempt* by) const noexcept {
  request made{.action = action, .resource = key.view(), .row = key.row()};
  if (by == nullptr) return made;
  made.session = by->by->id;
  made.nonce = by->nonce;
  if (action == verb::take) {
    made.kind = by->how.kind;
    made.ttl = by->how.own_ttl();
  }
  return made;
}

/// The end of the round if one of them is busy.
std::optional<multi_step> engine::several::look_around() {
  fault why;
  const auto on = home_.shared_.pool.get(limit(), statement_patience, why);
  if (!on) return machine_.troubled(parts_.front().key, why, false);
  std::vector<request> asks;
  for (const auto& each : parts_) asks.push_back(ask(verb::look, each.a.key, nullptr));
  std::vector<reply> answers(asks.size());
  home_.statements_ += execute_grouped(*home_.shared_.where, *on, asks, answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& answer = answers[i];
    if (answer.result == outcome::yes && multi_machine::holds(answer.holder) && answer.holder.left > 0us) {
      return machine_.refused(parts_[i].key, answer.holder);
    }
  }
  return std::nullopt;
}

void engine::several::take_all() {
  std::vector<reply> answers;
  instant sent{};
  const auto end = home_.shared_.pool.run(limit(), statement_patience, [&](connection& on) {
    std::vector<request> asks;
    for (auto& each : parts_) {
      each.a.nonce = home_.shared_.nonces.fetch_add(1);
      asks.push_back(ask(verb::take, each.a.key, &each.a));
    }
    answers.assign(asks.size(), {});
    sent = now();
    for (auto& each : parts_) each.a.behind = attempt::left::sent;
    home_.statements_ += execute_grouped(*home_.shared_.where, on, asks, answers);
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].a.learn(answers[i].result);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (answers[i].result == outcome::unknown) parts_[i].a.lost = on.identity();
    }
    const bool none_sent = std::all_of(answers.begin(), answers.end(), connection_pool::is_gone);
    return none_sent ? answers.front() : reply{.result = outcome::yes};
  });
  if (answers.empty()) {
    for (auto& each : parts_) each.next = each.a.machine.not_sent(end.why, now());
    return;
  }
  const auto at = now();
  const lock_key* missing = nullptr;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    auto& a = parts_[i].a;
    if (answers[i].result == outcome::absent && a.key.row() != nullptr) missing = &a.key;
    a.sent = sent;
    a.trusted_until = a.how.trusted_until(*a.by, sent, at, home_.shared_.options.margin);
    if (answers[i].result == outcome::failed && answers[i].why.contended) {
      // Which of them it was, looks must tell.
      a.machine = acquire_machine({.deadline = deadline_, .once = true, .look_first = true});
      parts_[i].next = a.machine.begin();
    } else {
      parts_[i].next = a.machine.replied(answers[i], at, a.trusted_until);
    }
  }
  if (missing != nullptr) throw lock_refused(errc::no_such_row, fmt::format("row '{}'", printable(*missing)));
}

/// By the rules of one key, one attempt.
void engine::several::settle(part& of) {
  for (;;) {
    switch (of.next) {
      case step::granted:
      case step::busy:
      case step::failed: return;
      case step::resolve: of.next = home_.resolve(of.a); break;
      case step::give_back: of.next = home_.give_back(of.a); break;
      default: of.next = home_.send(of.a, of.next);
    }
  }
}

multi_step engine::several::ended(const part& at) {
  const auto& m = at.a.machine;
  return at.next == step::busy ? machine_.refused(at.key, m.holder())
                               : machine_.troubled(at.key, m.why(), m.outcome_unknown());
}

bool engine::several::become_leases() {
  while (!parts_.empty()) {
    auto& one = parts_.front();
    bool has_turn = true;
    lease mine;
    {
      const struct kept_turn {  // also if an exception ends this
        several& all;
        const part& of;
        const bool& has_turn;
        ~kept_turn() { all.turns_[of.key] = has_turn; }
      } done{*this, one, has_turn};
      mine = home_.hand_over(one.a, has_turn);
    }
    if (!mine) {
      drop_new();
      return false;
    }
    leases_[one.key] = std::move(mine);
    parts_.pop_front();
  }
  return true;
}

void engine::several::give_back() noexcept {
  try {
    for (auto& each : parts_) {
      if (each.next == step::resolve) settle(each);
    }
    cancel_taken();
  } catch (const std::exception&) {  // no memory: it needs none to do the rest later
  }
  for (auto& each : parts_) {
    home_.cancel_later(each.a);
    if (each.a.by != nullptr) home_.keeper_.unpin(*each.a.by);
  }
  parts_.clear();
}

void engine::several::cancel_taken() {
  std::vector<attempt*> taken;
  std::vector<request> asks;
  for (auto& each : parts_) {
    if (each.a.behind != attempt::left::answered) continue;
    taken.push_back(&each.a);
    asks.push_back(ask(verb::cancel, each.a.key, &each.a));
  }
  if (asks.empty()) return;
  std::vector<reply> answers(asks.size());
  {
    fault why;
    const auto on = home_.shared_.pool.get(now() + statement_patience / 2, statement_patience / 2, why);
    if (on) home_.statements_ += execute_grouped(*home_.shared_.where, *on, asks, answers);
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (answers[i].result == outcome::yes || answers[i].result == outcome::no)
      taken[i]->behind = attempt::left::nothing;
  }
}

}  // namespace dlock::detail
