// SPDX-License-Identifier: BSL-1.0
#include "engine/statements/batch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/statements/statement_queue.hpp"

namespace dlock::engine {

namespace {
/// The least time for a statement, however late its connection came.
constexpr microseconds shortest = std::chrono::milliseconds{10};
/// A release with less time left does not share a statement with others that have more, because at its limit the
/// statement is interrupted for all.
constexpr microseconds enough_time = std::chrono::milliseconds{100};
}  // namespace

batch::batch() {
  // Reserved here, so that nothing can fail between a statement and its answer.
  asks_.reserve(most);
  answers_.reserve(most);
}

bool batch::serves_both(const statement& first, const statement& other) noexcept {
  if (first.what != statement::kind::keyed || other.what != statement::kind::keyed) return false;
  if (first.alone || other.alone) return false;
  const request& a = first.ask;
  const request& b = other.ask;
  if (a.units != 0 || b.units != 0 || a.action == verb::close || a.action == verb::open) return false;
  const bool same_table = a.row == nullptr ? b.row == nullptr : b.row != nullptr && a.row->table == b.row->table;
  // A take-over is about one holder. A take sent after a poll may meet a locked row, and would then fail the whole
  // batch. A poll locks no row.
  if (a.action != b.action || !same_table || a.in_order || b.in_order) return false;
  if (a.action != verb::insert && (a.polled || b.polled)) return false;
  if (a.action == verb::take_over) return false;
  if (a.action == verb::poll) return true;
  return a.session == b.session && a.kind == b.kind && a.ttl == b.ttl && a.min_hold == b.min_hold;
}

bool batch::may_share(const statement& first, const statement& other, instant now) noexcept {
  const auto in_a_hurry = [now](const statement& each) {
    return each.timeout == microseconds{0} && each.queue_deadline < now + enough_time;
  };
  return in_a_hurry(first) == in_a_hurry(other) && serves_both(first, other);
}

void batch::gather(statement& first, statement_queue& from, bool together, instant now) {
  from.extract([&](const statement& member) { return &member == &first; }, [](const statement&) { return false; });
  members_[size_++] = &first;
  if (!together || from.empty() || first.what != statement::kind::keyed) return;
  const auto joins = [&](const statement& member) {
    return may_share(first, member, now) &&
           std::none_of(members_.begin(), members_.begin() + size_, [&](const auto* joined) {
             return joined->ask.resource == member.ask.resource;  // a store never gets one key twice in a batch
           });
  };
  from.extract(joins, [&](statement& member) {
    members_[size_++] = &member;
    return size_ < most;
  });
  std::sort(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(size_),
            [](const auto* left, const auto* right) { return left->ask.resource < right->ask.resource; });
}

instant batch::limit(instant now) const noexcept {
  auto first = instant::max();
  for (const auto* member : members()) {
    const bool own = member->timeout > microseconds{0};
    first = std::min(first, own ? now + member->timeout : std::max(member->queue_deadline, now + shortest));
  }
  return first;
}

void batch::execute_alone(store& where, connection& on, statement& member) noexcept {
  switch (member.what) {
    case statement::kind::keyed: where.execute(on, {&member.ask, 1}, {&member.answer, 1}); return;
    case statement::kind::session: member.answer = where.session(on, member.session_action, member.record); return;
    case statement::kind::terminate:
      if (!member.lost->gone.load() && where.terminate(on, member.lost->where)) member.lost->gone.store(true);
      member.answer.result = member.lost->gone.load() ? outcome::yes : outcome::no;
      return;
    case statement::kind::call: member.answer = member.call(member.about, on); return;
  }
}

void batch::execute_together(store& where, connection& on) noexcept {
  asks_.clear();
  answers_.clear();
  for (const auto* member : members()) asks_.push_back(member->ask);
  answers_.resize(size_);
  where.execute(on, asks_, answers_);
  for (std::size_t i = 0; i < size_; ++i) members_[i]->answer = std::move(answers_[i]);
}

void batch::execute(store& where, connection& on, instant sent, const time_source& time,
                    const std::shared_ptr<doubt>& of_connection) noexcept {
  for (auto* member : members()) {
    // As `answer = {}`, but without a second reply that is moved.
    std::destroy_at(&member->answer);
    std::construct_at(&member->answer);
    member->sent = true;
    member->sent_at = sent;
  }
  if (size_ == 1) {
    execute_alone(where, on, *members_[0]);
  } else {
    execute_together(where, on);
  }
  const auto answered = time.now();
  for (auto* member : members()) {
    member->answered_at = answered;
    if (member->answer.result == outcome::unknown) member->in_doubt = of_connection;
  }
}

}  // namespace dlock::engine
