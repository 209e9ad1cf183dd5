// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/statements/connection_slots.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;
using enum connection_slot::state;

namespace {
/// Between attempts to connect while there are connections that work: the server may have no more to give.
constexpr auto between_attempts = 200ms;
}  // namespace

connection_slots::connection_slots(std::size_t connections) {
  for (std::size_t i = 0; i <= connections; ++i) slots_.push_back(std::make_unique<connection_slot>(i));
  idle_.reserve(connections);
}

std::size_t connection_slots::count(connection_slot::state is) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end() - 1, [is](const auto& one) { return one->is == is; }));
}

// ---- what is there --------------------------------------------------------------------------------------------------

std::size_t connection_slots::busy_since(instant when) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      slots_.begin(), slots_.end() - 1, [when](const auto& one) { return one->is == busy && one->since >= when; }));
}

bool connection_slots::takes_allowed() const noexcept {
  // Takes may stand behind row locks of strangers. Releases must not stand behind takes.
  const auto all = slots_.size() - 1;
  return all == 1 || takes_ + 1 < all;
}

connection_slot* connection_slots::idle_for(line which) noexcept {
  if (which == line::renewals && renewals().is == idle) return &renewals();
  if (which == line::takes && !takes_allowed()) return nullptr;
  if (idle_.empty() && last_.full) give_up_renewals();
  return idle_.empty() ? nullptr : idle_.back();
}

/// Where the server has one connection to give and that is the one for renewals, it serves all.
void connection_slots::give_up_renewals() noexcept {
  auto& from = renewals();
  auto& to = *slots_.front();
  if (from.is != idle || to.is != closed || any_open() || count(connecting) > 0) return;
  to.on = std::move(from.on);
  to.about = std::move(from.about);
  to.attempt = from.attempt;
  to.is = std::exchange(from.is, closed);
  idle_.push_back(&to);
}

void connection_slots::begin(connection_slot& one, line which) noexcept {
  if (general(one)) idle_.erase(std::find(idle_.begin(), idle_.end(), &one));
  one.is = busy;
  one.serves = which;
  if (which == line::takes) ++takes_;
}

void connection_slots::end(connection_slot& one, closing& out) noexcept {
  if (one.serves == line::takes) --takes_;
  one.limit = instant::max();
  // The others most likely lead to where nothing answers as well. Whoever came next would find that out one by one.
  if (std::exchange(one.hung, false)) distrust(out);
  if (std::exchange(one.leave, false) || !one.on->usable()) {
    drop(one, out);
  } else {
    one.is = idle;
    if (general(one)) idle_.push_back(&one);
  }
}

// ---- what is made ---------------------------------------------------------------------------------------------------

instant connection_slots::put_off() const noexcept { return hope_for(line::takes) ? next_attempt_ : instant::min(); }

connection_slot* connection_slots::to_connect(line which, std::size_t waiting, instant now) noexcept {
  if (which == line::renewals) {
    // Renewals may use any connection at need, but theirs is made anew in any case.
    const bool later = renewals_failed_ && now < put_off();
    if (renewals().is == closed && !later) return &renewals();
    if (renewals().is != busy) return nullptr;
    // That of another session's may hang.
  }
  if (last_.full && idle_for(which) != nullptr) return nullptr;
  if (which == line::takes && !takes_allowed()) return nullptr;
  if (idle_.size() + count(connecting) >= waiting || now < put_off()) return nullptr;
  const auto found = std::find_if(slots_.begin(), slots_.end() - 1, [](const auto& one) { return one->is == closed; });
  return found == slots_.end() - 1 ? nullptr : found->get();
}

void connection_slots::begin_connecting(connection_slot& one, instant limit) noexcept {
  one.is = connecting;
  one.limit = limit;
  one.attempt = ++attempts_;
}

bool connection_slots::arrived(connection_slot& one, std::unique_ptr<connection> made, std::shared_ptr<doubt> about,
                               closing& out) noexcept {
  one.on = std::move(made);
  one.about = std::move(about);
  if (to_ == nullptr) to_ = one.about;
  if (elsewhere(one)) {
    if (one.attempt < since_) {
      drop(one, out);
      return false;
    }
    to_ = one.about;
    since_ = one.attempt;
    close_idle([this](const connection_slot& each) { return elsewhere(each); }, out);
    for (const auto& each : slots_) {
      if (each->is == busy && elsewhere(*each)) each->leave = true;
    }
  }
  if (!general(one)) renewals_failed_ = false;
  return true;
}

void connection_slots::opened(connection_slot& one, closing& out) noexcept {
  one.limit = instant::max();
  if (elsewhere(one)) {  // while it was told of, another one has arrived
    drop(one, out);
    return;
  }
  one.is = idle;
  if (general(one)) idle_.push_back(&one);
}

void connection_slots::failed(connection_slot& one, const fault& why, instant now) noexcept {
  one.is = closed;
  one.limit = instant::max();
  if (!general(one)) renewals_failed_ = true;
  ++failures_;
  next_attempt_ = now + between_attempts;
  try {
    last_ = why;
  } catch (const std::bad_alloc&) {
    last_ = passing_fault("", why.connection);
    last_.full = why.full;
  }
}

bool connection_slots::hope_for(line which) const noexcept {
  if (any_open() || count(connecting) > 0) return true;
  const auto& of_renewals = *slots_.back();
  if (which == line::renewals) return of_renewals.is != closed || !renewals_failed_;
  // A server with no more connections to give may well serve by those that it gave.
  return last_.full && of_renewals.is != closed;
}

bool connection_slots::connecting_for(line which) const noexcept {
  return count(connecting) > 0 || (which == line::renewals && slots_.back()->is == connecting);
}

// ---- what is of no more use -----------------------------------------------------------------------------------------

/// Without memory it is closed at once.
void connection_slots::drop(connection_slot& one, closing& out) noexcept {
  one.is = closed;
  one.about.reset();
  try {
    out.push_back(std::move(one.on));
  } catch (const std::bad_alloc&) {
    one.on.reset();
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
