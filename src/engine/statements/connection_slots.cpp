// SPDX-License-Identifier: BSL-1.0
#include "engine/statements/connection_slots.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;
using enum connection_slot::state;

namespace {
/// The time between attempts to connect while there are working connections, because the server may allow no more.
constexpr auto between_attempts = 200ms;
/// A statement that takes longer probably waits for a locked row or table. dlock's own statements lock rows for less
/// time.
constexpr auto long_for_a_row = 250ms;
/// How long after that other rows may be locked as well.
constexpr auto suspicion = 5s;
/// About how long a store waits for a row. It must not be interrupted meanwhile, which would cost the connection.
constexpr auto longest_row_wait = 1500ms;
}  // namespace

connection_slots::connection_slots(std::size_t connections) {
  for (std::size_t i = 0; i <= connections; ++i) slots_.push_back(std::make_unique<connection_slot>(i));
  idle_.reserve(connections);
}

void connection_slots::set(connection_slot& slot, connection_slot::state to) noexcept {
  const auto from = std::exchange(slot.is, to);
  if (!general(slot)) return;
  connecting_ += to == connecting ? 1 : 0;
  connecting_ -= from == connecting ? 1 : 0;
  busy_ += to == busy ? 1 : 0;
  busy_ -= from == busy ? 1 : 0;
}

// ---- what is there --------------------------------------------------------------------------------------------------

std::size_t connection_slots::usable(const concurrency_limit& limit, const time_source& time) const noexcept {
  const auto idle = idle_.size();
  if (idle == 0 || !limit.holds_back()) return idle;
  const auto most = limit.now();
  const auto busy = busy_since(time.now() - concurrency_limit::longest_hold);
  return busy >= most ? 0 : std::min(idle, most - busy);
}

/// The number of connections that have become busy after that.
std::size_t connection_slots::busy_since(instant when) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      slots_.begin(), slots_.end() - 1, [when](const auto& slot) { return slot->is == busy && slot->since > when; }));
}

/// How many there are, or can be made as far as we know.
std::size_t connection_slots::obtainable() const noexcept { return last_.full ? open() : slots_.size() - 1; }

connection_slot* connection_slots::idle_for(priority which) noexcept {
  if (which == priority::renewals && renewals().is == idle) return &renewals();
  if (idle_.empty() && last_.full) give_up_renewals();
  return idle_.empty() ? nullptr : idle_.back();
}

/// If the server allows only one connection, that for renewals serves all priorities.
void connection_slots::give_up_renewals() noexcept {
  auto& from = renewals();
  auto& to = *slots_.front();
  if (from.is != idle || to.is != closed || open() > 0 || connecting_ > 0) return;
  to.on = std::move(from.on);
  to.about = std::move(from.about);
  to.attempt = from.attempt;
  set(to, idle);
  set(from, closed);
  idle_.push_back(&to);
}

void connection_slots::begin(connection_slot& slot) noexcept {
  if (general(slot)) idle_.erase(std::find(idle_.begin(), idle_.end(), &slot));
  set(slot, busy);
}

void connection_slots::end(connection_slot& slot, closing& out) noexcept {
  slot.limit = instant::max();
  // The others most likely lead to the same dead server, which their next users would notice one by one.
  if (std::exchange(slot.hung, false)) distrust(out);
  if (std::exchange(slot.leave, false) || !slot.on->usable()) {
    drop(slot, out);
  } else {
    set(slot, idle);
    if (general(slot)) idle_.push_back(&slot);
  }
}

// ---- row locks ------------------------------------------------------------------------------------------------------

template <class Wanted>
std::size_t connection_slots::count_busy(Wanted wanted) const noexcept {
  return static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end() - 1, [&](const auto& slot) {
    if (slot->is != busy || slot->work.members().empty()) return false;
    const auto& first = *slot->work.members().front();
    return first.what == statement::kind::keyed && wanted(*slot, first);
  }));
}

void connection_slots::executed(const statement& asked) noexcept {
  const bool keyed = asked.what == statement::kind::keyed;
  if (keyed && asked.answered_at - asked.sent_at >= long_for_a_row) suspects_until_ = asked.answered_at + suspicion;
}

bool connection_slots::suspects(instant now) const noexcept {
  if (now < suspects_until_) return true;
  const auto takes_long = [&](const auto& slot, const auto&) { return slot.since <= now - long_for_a_row; };
  return busy_ > 1 && count_busy(takes_long) > 0;
}

row_wait connection_slots::first_wait(instant now) const noexcept {
  const auto all = obtainable();
  const bool last = all > 1 && busy_ >= all;
  return last || suspects(now) ? row_wait::never : row_wait::avoid;
}

bool connection_slots::may_wait(const statement& asked, std::size_t queued) const noexcept {
  const auto limit = asked.timeout > microseconds{0} ? asked.answered_at + asked.timeout : asked.queue_deadline;
  // The last connection is left to others, which may already wait for the rest.
  if (limit - asked.answered_at < longest_row_wait || busy_ >= obtainable()) return false;
  // A renewal that has to wait is more urgent than a release.
  const auto half = obtainable() / 2;
  const auto most = asked.priority == priority::extends ? half : (half + 1) / 2;
  const auto waiting =
      count_busy([](const auto&, const auto& first) { return first.ask.if_locked == row_wait::accept; });
  return waiting + queued < most;
}

bool connection_slots::holds_back(const statement& asked, const time_source& time) const noexcept {
  const bool inserts = asked.ask.action == verb::insert;
  if (asked.what != statement::kind::keyed || (asked.ask.row == nullptr && !inserts)) return false;
  // Statements that may_wait() allowed to wait for a row are no sign of a locked table, because the server said that it
  // is the row.
  std::size_t for_rows = 0;
  const auto alike = count_busy([&](const auto&, const auto& first) {
    if (inserts) return first.ask.action == verb::insert;
    if (first.ask.row == nullptr || first.ask.row->table != asked.ask.row->table) return false;
    if (first.ask.if_locked != row_wait::accept) return true;
    ++for_rows;
    return false;
  });
  if (alike == 0) return false;
  const auto all = std::max<std::size_t>(obtainable(), 2);
  return alike + for_rows >= all - 1 || (alike >= all / 2 && suspects(time.now()));
}

// ---- what is made ---------------------------------------------------------------------------------------------------

instant connection_slots::put_off() const noexcept {
  return hope_for(priority::takes) ? next_attempt_ : instant::min();
}

connection_slot* connection_slots::to_connect(priority which, std::size_t waiting, instant now) noexcept {
  if (which == priority::renewals) {
    // Renewals may use any connection at need, but theirs is made again in any case.
    const bool later = renewals_failed_ && now < put_off();
    if (renewals().is == closed && !later) return &renewals();
    if (renewals().is != busy) return nullptr;
    // The connection of another session may hang.
  }
  const bool idle_one = idle_for(which) != nullptr;
  if (last_.full && idle_one) return nullptr;
  const auto had = (idle_one ? idle_.size() : 0) + connecting_;
  if (had >= waiting || now < put_off()) return nullptr;
  const auto found =
      std::find_if(slots_.begin(), slots_.end() - 1, [](const auto& slot) { return slot->is == closed; });
  return found == slots_.end() - 1 ? nullptr : found->get();
}

void connection_slots::begin_connecting(connection_slot& slot, instant limit) noexcept {
  set(slot, connecting);
  slot.limit = limit;
  slot.attempt = ++attempts_;
}

bool connection_slots::arrived(connection_slot& slot, std::unique_ptr<connection> fresh, std::shared_ptr<doubt> about,
                               closing& out) noexcept {
  last_.full = false;
  slot.on = std::move(fresh);
  slot.about = std::move(about);
  if (to_ == nullptr) to_ = slot.about;
  if (elsewhere(slot)) {
    if (slot.attempt < since_) {
      drop(slot, out);
      return false;
    }
    to_ = slot.about;
    since_ = slot.attempt;
    close_idle([this](const connection_slot& each) { return elsewhere(each); }, out);
    for (const auto& each : slots_) {
      if (each->is == busy && elsewhere(*each)) each->leave = true;
    }
  }
  if (!general(slot)) renewals_failed_ = false;
  return true;
}

void connection_slots::opened(connection_slot& slot, closing& out) noexcept {
  slot.limit = instant::max();
  if (elsewhere(slot)) {  // another connection has arrived while this one's listeners were notified
    drop(slot, out);
    return;
  }
  set(slot, idle);
  if (general(slot)) idle_.push_back(&slot);
}

void connection_slots::failed(connection_slot& slot, const fault& why, instant now) noexcept {
  set(slot, closed);
  slot.limit = instant::max();
  if (!general(slot)) renewals_failed_ = true;
  ++failures_;
  next_attempt_ = now + between_attempts;
  try {
    last_ = why;
  } catch (const std::bad_alloc&) {
    last_ = passing_fault("", why.connection);
    last_.full = why.full;
  }
}

bool connection_slots::hope_for(priority which) const noexcept {
  if (open() > 0 || connecting_ > 0) return true;
  const auto& of_renewals = *slots_.back();
  if (which == priority::renewals) return of_renewals.is != closed || !renewals_failed_;
  // A server that allows no more connections may still serve those that it has.
  return last_.full && of_renewals.is != closed;
}

bool connection_slots::connecting_for(priority which) const noexcept {
  return connecting_ > 0 || (which == priority::renewals && slots_.back()->is == connecting);
}

// ---- what is of no more use -----------------------------------------------------------------------------------------

/// If memory runs out, it is closed at once.
void connection_slots::drop(connection_slot& slot, closing& out) noexcept {
  set(slot, closed);
  slot.about.reset();
  try {
    out.push_back(std::move(slot.on));
  } catch (const std::bad_alloc&) {
    slot.on.reset();
  }
}

template <class Wanted>
void connection_slots::close_idle(Wanted wanted, closing& out) noexcept {
  for (const auto& each : slots_) {
    if (each->is == idle && wanted(*each)) drop(*each, out);
  }
  idle_.erase(std::remove_if(idle_.begin(), idle_.end(), [](const auto* each) { return each->is != idle; }),
              idle_.end());
}

void connection_slots::close_dead(closing& out) noexcept {
  close_idle([](const connection_slot& each) { return !each.on->alive(); }, out);
}

void connection_slots::distrust(closing& out) noexcept {
  close_idle([this](const connection_slot& each) { return general(each); }, out);
}

}  // namespace dlock::engine
