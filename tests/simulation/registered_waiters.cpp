// SPDX-License-Identifier: BSL-1.0
#include "simulation/registered_waiters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulation/store.hpp"

namespace dlock::simulation {

namespace cycles = stores::sql;

namespace {

// As src/stores/mysql/lease_table/parked_waiters.cpp has them.
constexpr moment slice = 10 * second;
constexpr moment first_look = 25 * millisecond;
constexpr moment last_look = 4 * second;
constexpr moment retry = 500 * millisecond;
constexpr moment longest_turn = std::chrono::microseconds{stores::waiter_turns::longest}.count();
constexpr moment second_look = std::chrono::microseconds{stores::waiter_turns::second_look}.count();

}  // namespace

// ---- what the store calls -------------------------------------------------------------------------------------------

std::size_t registered_waiters::watches() const noexcept {
  std::size_t all = 0;
  for (const auto& [key, each] : keys_) all += each.listeners.size();
  return all;
}

bool registered_waiters::wanted() const noexcept {
  return std::any_of(keys_.begin(), keys_.end(), [](const auto& each) { return !each.second.listeners.empty(); });
}

void registered_waiters::watch(const std::string& key, const id128& session, key_listener& listener) {
  auto& about = keys_[key];
  about.listeners.push_back(&listener);
  if (about.listeners.size() == 1) {
    about.session = session;
    about.begun = process_.now();
    about.stale = about.registered && about.taken;
    about.taken = false;
  }
  about.works = false;
  look_at_ = 0;
  go_on();
}

void registered_waiters::unwatch(const std::string& key, key_listener& listener) {
  const auto at = keys_.find(key);
  if (at == keys_.end()) return;
  std::erase(at->second.listeners, &listener);
  if (at->second.listeners.empty()) go_on();
}

void registered_waiters::changed(const std::string& key) {
  if (keys_.contains(key)) go_on();
}

void registered_waiters::done(std::span<const request> requests, std::span<const reply> replies) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto at = keys_.find(requests[i].resource);
    if (replies[i].result != outcome::yes || at == keys_.end()) continue;
    switch (requests[i].action) {
      case verb::take:
      case verb::insert:
      case verb::take_over: at->second.taken = true; break;
      case verb::release:
      case verb::cancel:
        process_.post(1, [this, self = weak_from_this(), key = at->first] {
          if (const auto alive = self.lock()) hear_own(key);
        });
        break;
      default: break;
    }
  }
}

void registered_waiters::tell(watched_key& about, bool works) {
  about.works = works;
  ++by_.notifications;
  for (auto* const each : about.listeners) each->may_be_free(works);
}

void registered_waiters::hear_own(const std::string& key) {
  const auto at = keys_.find(key);
  if (at != keys_.end() && at->second.works) tell(at->second, true);
}

// ---- one thing after the other --------------------------------------------------------------------------------------

template <class At, class Then>
void registered_waiters::round_trip(At at, Then then) {
  busy_ = true;
  at_server(
      [this, self = weak_from_this(), &to = by_.to(), id = connection_, at = std::move(at), then = std::move(then)] {
        if (!to.alive(id)) return;
        auto answer = at(to);
        const auto alive = self.lock();
        if (alive == nullptr || deaf_ || id != connection_) return;
        at_client([this, id, then, answer = std::move(answer)] {
          if (id != connection_) return;
          busy_ = false;
          then(answer);
          go_on();
        });
      });
}

void registered_waiters::begin() {
  if (connecting_) return;
  connecting_ = true;
  at_client(
      [this] {
        connecting_ = false;
        if (!wanted()) return;
        if (connect() == 0) {
          next_try_ = by_.in().now() + retry;
          return begin();
        }
        by_.to().waiters.joined(connection_);
        if (auto* const sees = by_.to().data.observer) sees->joined(process_, connection_);
        go_on();
      },
      2 * by_.travel(process_) + std::max<moment>(0, next_try_ - by_.in().now()));
}

void registered_waiters::go_on() {
  if (busy_ || process_.buried()) return;
  if (connection_ == 0) {
    if (wanted()) begin();
    return;
  }
  if (std::exchange(killed_, false)) return look(look_at::all_keys, true);
  if (leave_old() || enter_new() || enter_held() || keys_.empty()) return;
  if (!sleeps_) return park();
  if (by_.in().now() >= look_at_) return look(look_at::all_keys, false);
  if (by_.in().now() >= second_look_at_) return look(look_at::second_keys, false);
}

/// The rows of keys that nobody watches any more, and those that are stale. Until then a release may have taken this
/// process for the next one; then it wakes the one behind.
bool registered_waiters::leave_old() {
  std::vector<std::string> left, free_ones, held_too;
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& [key, about] = *at;
    const bool old = about.listeners.empty();
    if (!old && !std::exchange(about.stale, false)) {
      ++at;
      continue;
    }
    if (std::exchange(about.registered, false)) {
      left.push_back(key);
      (old && about.was_rung && !about.taken ? held_too : free_ones).push_back(key);
    }
    at = old ? keys_.erase(at) : std::next(at);
  }
  if (left.empty()) return false;
  const auto wake = [own = connection_](server& to, const std::string& key) {
    if (const auto next = to.waiters.first(key, own)) to.waiters.ring(next);
  };
  round_trip(
      [left, free_ones, held_too, own = connection_, wake](server& to) {
        for (const auto& key : left) to.waiters.leave(key, own);
        for (const auto& key : held_too) wake(to, key);
        for (const auto& key : free_ones) {
          const auto row = to.data.locks().find(key);
          if (row != to.data.locks().end() && !row->second.of_table && !row->second.held()) wake(to, key);
        }
        return 0;
      },
      [](int) {});
  return true;
}

/// A wait has its place from its beginning on, also if another process passed it over.
bool registered_waiters::enter_new() {
  struct new_row {
    std::string key;
    id128 session;
    moment waited;
  };
  std::vector<new_row> all;
  for (auto& [key, about] : keys_) {
    if (about.registered || about.listeners.empty()) continue;
    about.registered = true;
    about.was_rung = false;
    about.fence = 0;
    about.held = {};
    all.push_back({key, about.session, (process_.now() - about.begun).count()});
  }
  if (all.empty()) return false;
  look_at_ = 0;
  look_after_ = first_look;
  round_trip(
      [all, own = connection_, keeps_place = by_.how().passes_over()](server& to) {
        for (const auto& each : all) {
          const auto begun = keeps_place ? std::optional(to.clock() - each.waited) : std::nullopt;
          to.waiters.enter(each.key, own, each.session, begun);
        }
        return 0;
      },
      [](int) {});
  return true;
}

bool registered_waiters::enter_held() {
  for (auto& [key, about] : keys_) {
    if (!about.registered || about.listeners.empty()) continue;
    auto held = held_by_waiters(about);
    if (held == about.held) continue;
    const auto text = cycles::write_held(held, process_.now());
    about.held = std::move(held);
    look_at_ = 0;
    look_after_ = first_look;
    round_trip(
        [key = key, text, own = connection_](server& to) {
          if (auto* const row = to.waiters.find(key, own))
            row->held = text.empty() ? text : std::to_string(to.clock()) + text;
          return 0;
        },
        [](int) {});
    return true;
  }
  return false;
}

/// Releases the wake id, which the next sleep takes again.
void registered_waiters::park() {
  if (std::exchange(has_wake_id_, false)) {
    return round_trip(
        [own = connection_](server& to) {
          to.waiters.hang_up(own);
          return 0;
        },
        [](int) {});
  }
  const auto sleep = ++sleeps_begun_;
  has_wake_id_ = true;
  round_trip(
      [this, self = weak_from_this(), sleep, own = connection_](server& to) {
        to.waiters.park(own, sleep);
        by_.in().after(slice, [this, self, &to, own, sleep] {
          const auto alive = self.lock();
          if (to.waiters.end_sleep(own, sleep) && alive != nullptr && own == connection_) sleep_ends(false);
        });
        return 0;
      },
      [this, sleep](int) {
        if (sleep == sleep_over_) return;  // a process that stood still may hear of the end first
        sleeps_ = new_sleep_ = true;
        look_at_ = 0;
      });
}

void registered_waiters::woken() {
  if (by_.hits(hazard::lost_notifications, 30'000)) {
    by_.in().disturb(12 * second);
    return sleep_ends(false);
  }
  sleep_ends(true);
}

void registered_waiters::sleep_ends(bool rung) {
  auto& in = by_.in();
  if (deaf_) return;
  auto delay = moment{0};
  if (by_.hits(hazard::late_notifications, 50'000)) delay = in.random.between(1, 2 * second);
  in.disturb(delay);
  at_client(
      [this, id = connection_, rung, sleep = sleeps_begun_] {
        if (id != connection_ || sleep != sleeps_begun_) return;
        sleep_over_ = sleep;
        sleeps_ = false;
        if (rung) {
          killed_ = true;
          for (auto& [key, about] : keys_) about.was_rung = true;
          if (keys_.size() == 1) {
            killed_ = false;
            if (keys_.begin()->second.works) tell(keys_.begin()->second, true);
          }
        }
        go_on();
      },
      delay);
}

void registered_waiters::look(look_at which, bool rung) {
  second_look_at_ = never;
  if (which == look_at::all_keys) {
    look_at_ = by_.in().now() + look_after_;
    look_after_ = std::min(4 * look_after_, last_look);
    look_later();
  }
  std::vector<std::string> keys;
  for (const auto& [key, about] : keys_) {
    const bool asked = which == look_at::all_keys || about.second;
    if (about.registered && !about.listeners.empty() && asked) keys.push_back(key);
  }
  if (keys.empty()) return go_on();
  round_trip(
      [keys, own = connection_](server& to) {
        std::vector<looked_at> all;
        for (const auto& key : keys) {
          looked_at seen{.key = key,
                         .free = true,
                         .registered = to.waiters.find(key, own) != nullptr,
                         .first = !to.waiters.first_of_others(key, own, true),
                         .ahead = to.waiters.ahead(key, own)};
          const auto row = to.data.locks().find(key);
          if (row != to.data.locks().end() && !row->second.of_table) {
            seen.known = true;
            seen.free = !row->second.held();
            seen.dead = row->second.held() && to.data.over(row->second, to.clock());
            seen.fence = row->second.fence;
          }
          all.push_back(std::move(seen));
        }
        return all;
      },
      [this, which, rung](const std::vector<looked_at>& all) { found(all, which, rung); });
}

void registered_waiters::found(const std::vector<looked_at>& all, look_at which, bool rung) {
  const bool new_sleep = which == look_at::all_keys && sleeps_ && std::exchange(new_sleep_, false);
  const bool passes_over = by_.how().passes_over();
  std::vector<free_key> behind;
  for (const auto& each : all) {
    const auto at = keys_.find(each.key);
    if (at == keys_.end() || at->second.listeners.empty()) continue;
    auto& about = at->second;
    if (!each.registered) about.registered = false;
    if (passes_over) {
      about.second = each.registered && each.ahead == 1;
      if (about.second) second_look_at_ = by_.in().now() + second_look;
      if (!each.registered || about.stale) continue;
    }
    // A ring for this key may have come before the sleep that it was to end.
    const bool other = new_sleep && about.works && about.fence != 0 && about.fence != each.fence;
    about.fence = each.fence;
    if (passes_over && each.free && each.known && !rung && about.works && !each.first) {
      behind.push_back({each.key, each.fence});
      continue;
    }
    if (each.free || each.dead || other || (sleeps_ && !about.works)) tell(about, true);
  }
  if (!behind.empty()) look_at_ = std::min(look_at_, by_.in().now() + longest_turn);
  if (passes_over) look_later();
  let_first(std::move(behind), which);
}

/// Leaves free keys to processes that have waited longer, but not for ever.
void registered_waiters::let_first(std::vector<free_key> keys, look_at which) {
  if (keys.empty()) {
    if (which == look_at::all_keys) look_for_cycles();
    return;
  }
  const auto key = keys.front().key;
  round_trip([key, own = connection_](server& to) { return to.waiters.first_of_others(key, own, true); },
             [this, keys = std::move(keys), which](const std::optional<waiter_table::row>& first) {
               let_first(keys, which, first);
             });
}

void registered_waiters::let_first(std::vector<free_key> keys, look_at which,
                                   const std::optional<waiter_table::row>& first) {
  const auto [key, fence] = keys.front();
  if (first && turns_->is_over(key, fence, *first, process_.now())) {
    return round_trip(
        [key = key, fence = fence, first](server& to) {
          to.pass_over(key, *first, fence);
          return 0;
        },
        [this, keys, which](int) { let_first(keys, which); });
  }
  keys.erase(keys.begin());
  if (!first) {
    const auto at = keys_.find(key);
    if (at != keys_.end() && at->second.works) tell(at->second, true);
    return let_first(std::move(keys), which);
  }
  round_trip(
      [first](server& to) {
        to.waiters.ring(first->wake_id);
        return 0;
      },
      [this, keys, which](int) { let_first(keys, which); });
}

void registered_waiters::look_for_cycles() {
  const auto nested = [](const auto& each) { return !each.second.held.locks.empty(); };
  if (std::none_of(keys_.begin(), keys_.end(), nested)) return;
  round_trip(
      [mine = wake_id(), &process = process_](server& to) {
        cycles_seen all;
        for (const auto& [key, rows] : to.waiters.all()) {
          for (const auto& row : rows) {
            cycles::nested_waiter waiter{
                .process = std::to_string(row.wake_id), .who = "another process", .waits_for = key};
            if (row.held.empty() || !to.waiters.holds(row.wake_id) || !cycles::read_held(row.held, waiter)) continue;
            all.waiters.push_back(std::move(waiter));
          }
        }
        for (const auto& [key, row] : to.data.locks()) {
          if (row.session && !to.data.over(row, to.clock())) all.grants[key] = {row.session, row.fence};
        }
        // Here, because a cycle may dissolve while the answer travels.
        if (to.data.observer && !cycles::find_cycles(all.waiters, all.grants, mine).to_break.empty())
          to.data.observer->cycle_told(process);
        return all;
      },
      [this](const cycles_seen& all) { found(all); });
}

void registered_waiters::found(const cycles_seen& all) {
  const auto found = cycles::find_cycles(all.waiters, all.grants, wake_id());
  for (const auto& cycle : found.to_break) {
    const auto at = keys_.find(cycle.waits_for);
    if (at == keys_.end() || at->second.listeners.empty()) continue;
    at->second.listeners.front()->closes_cycle(cycle.held, cycle.others);
  }
  if (!found.to_ask.empty()) {
    look_at_ = std::min(look_at_, by_.in().now() + first_look);
    look_later();
  }
  std::vector<std::pair<std::string, std::string>> confirmed;
  for (const auto& [key, since] : found.to_confirm) {
    const auto at = keys_.find(key);
    if (at == keys_.end() || at->second.listeners.empty()) continue;
    if (held_by_waiters(at->second) == at->second.held) confirmed.emplace_back(key, std::to_string(since) + "+");
  }
  if (confirmed.empty() && found.to_ask.empty()) return;
  round_trip(
      [confirmed, asked = found.to_ask, own = connection_](server& to) {
        for (const auto& [key, since] : confirmed) {
          auto* const row = to.waiters.find(key, own);
          if (row == nullptr || row->held.empty()) continue;
          row->held = since + std::to_string(to.clock()) + row->held.substr(row->held.find_first_of("= "));
        }
        for (const auto& each : asked) to.waiters.ring(std::stoull(each));
        return 0;
      },
      [](int) {});
}

void registered_waiters::look_later() {
  const auto next = std::min(look_at_, second_look_at_);
  process_.post(std::max<moment>(0, next - by_.in().now()) + 1, [self = weak_from_this(), this] {
    if (const auto alive = self.lock()) go_on();
  });
}

held_meanwhile registered_waiters::held_by_waiters(const watched_key& about) const {
  held_meanwhile all;
  about.listeners.front()->list_held(all);
  return all.locks.empty() ? held_meanwhile{} : all;
}

void registered_waiters::broken() {
  busy_ = sleeps_ = killed_ = has_wake_id_ = false;
  next_try_ = by_.in().now() + retry;
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& about = at->second;
    about.registered = false;
    if (about.works) tell(about, false);
    at = about.listeners.empty() ? keys_.erase(at) : std::next(at);
  }
  go_on();
}

}  // namespace dlock::simulation
