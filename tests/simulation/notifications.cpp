// SPDX-License-Identifier: BSL-1.0
#include "simulation/notifications.hpp"

#include <utility>

#include "simulation/store.hpp"

namespace dlock::simulation {

namespace {
constexpr moment first_pause = 100 * millisecond;
constexpr moment longest_pause = 5 * second;
/// So often a client asks whether its connection still works, and so long it waits for the answer.
constexpr moment ask_every = 2 * second;
constexpr moment longest_answer = 4 * second;
}  // namespace

// ---- the connection -------------------------------------------------------------------------------------------------

subscriber::~subscriber() {
  if (connection_ == 0) return;
  by_.forget(connection_);
  if (!process_.dead()) by_.to().close(connection_);
}

std::uint64_t subscriber::connect() {
  const auto id = by_.hits(hazard::refusals, 50'000) ? 0 : by_.to().connect();
  if (id == 0) return 0;
  deaf_ = false;
  connection_ = id;
  by_.remember(id, *this);
  return id;
}

void subscriber::at_client(std::function<void()> what, moment delay) {
  auto& in = by_.in();
  next_in_ = std::max(in.now() + by_.travel(process_) + delay, next_in_ + 1);
  process_.post(next_in_ - in.now(), [self = weak_from_this(), what = std::move(what)] {
    if (const auto alive = self.lock()) what();
  });
}

void subscriber::at_server(std::function<void()> what) {
  auto& in = by_.in();
  next_out_ = std::max(in.now() + by_.travel(process_), next_out_ + 1);
  in.at(next_out_, std::move(what));
}

void subscriber::broke(bool seen) {
  deaf_ = true;
  auto& in = by_.in();
  const auto noticed = seen ? 0 : in.random.between(ask_every, ask_every + longest_answer);
  in.disturb(noticed + second);
  at_client(
      [this, id = connection_] {
        if (id != connection_) return;
        by_.forget(id);
        if (!process_.dead()) by_.to().close(id);
        connection_ = 0;
        broken();
      },
      noticed);
}

// ---- what is published ----------------------------------------------------------------------------------------------

std::size_t channel::watches() const noexcept {
  std::size_t all = 0;
  for (const auto& [key, each] : keys_) all += each.listeners.size();
  return all;
}

void channel::watch(const std::string& key, const id128& /*session*/, key_listener& listener) {
  auto& heard = keys_[key];
  heard.listeners.push_back(&listener);
  if (heard.works) {
    listener.may_be_free(true);
  } else if (connection_ == 0) {
    begin();
  } else if (heard.listeners.size() == 1) {
    subscribe(key);
  }
}

void channel::unwatch(const std::string& key, key_listener& listener) {
  const auto at = keys_.find(key);
  if (at == keys_.end() || std::erase(at->second.listeners, &listener) == 0 || !at->second.listeners.empty()) return;
  keys_.erase(at);
  if (connection_ == 0) return;
  at_server([&to = by_.to(), id = connection_, key] { to.unsubscribe(id, key); });
}

void channel::begin() {
  if (connection_ != 0 || connecting_) return;
  connecting_ = true;
  at_client(
      [this] {
        connecting_ = false;
        if (keys_.empty()) return;
        if (connect() == 0) {
          pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
          next_try_ = by_.in().now() + pause_;
          return begin();
        }
        for (const auto& [key, each] : keys_) subscribe(key);
      },
      by_.travel(process_) + std::max<moment>(0, next_try_ - by_.in().now()));
}

void channel::subscribe(const std::string& key) {
  at_server([this, self = weak_from_this(), &to = by_.to(), id = connection_, key] {
    const auto alive = self.lock();
    if (!to.alive(id) || alive == nullptr) return;
    to.subscribe(id, key);
    if (deaf_ || id != connection_) return;
    at_client([this, id, key] { hear(id, key); });
  });
}

void channel::published(const std::string& key) {
  auto& in = by_.in();
  if (deaf_) return;
  if (by_.hits(hazard::lost_notifications, 50'000)) return in.disturb(12 * second);
  auto delay = moment{0};
  if (by_.hits(hazard::late_notifications, 50'000)) delay = in.random.between(1, 2 * second);
  in.disturb(delay);
  at_client([this, id = connection_, key] { hear(id, key); }, delay);
  if (!by_.hits(hazard::repeated_notifications, 100'000)) return;
  at_client([this, id = connection_, key] { hear(id, key); }, in.random.between(0, second));
}

void channel::hear(std::uint64_t on, const std::string& key) {
  const auto at = keys_.find(key);
  if (on != connection_ || at == keys_.end()) return;
  ++by_.notifications;
  pause_ = 0;
  at->second.works = true;
  for (auto* const each : at->second.listeners) each->may_be_free(true);
}

void channel::broken() {
  pause_ = first_pause;
  next_try_ = by_.in().now() + pause_;
  for (auto& [key, each] : keys_) {
    if (!std::exchange(each.works, false)) continue;
    for (auto* const listener : each.listeners) listener->may_be_free(false);
  }
  begin();
}

// ---- positions in queues --------------------------------------------------------------------------------------------

queue_positions::~queue_positions() {
  for (const auto& each : watches_) leave(*each);
}

queue_positions::one_watch* queue_positions::find(std::uint64_t position) noexcept {
  const auto found = std::find_if(watches_.begin(), watches_.end(),
                                  [&](const auto& each) { return position != 0 && each->position == position; });
  return found == watches_.end() ? nullptr : found->get();
}

void queue_positions::watch(const std::string& key, const id128& session, key_listener& listener) {
  watches_.push_back(std::make_unique<one_watch>());
  auto& one = *watches_.back();
  one.key = key;
  one.session = session;
  one.listener = &listener;
  if (session == id128{}) return watch_holder(one);
  one.position = by_.to().new_position();
  by_.remember_position(one.position, *this);
  at_server([this, self = weak_from_this(), &to = by_.to(), key, session, position = one.position] {
    const bool there = to.up() && to.enqueue(key, session, position);
    const auto alive = self.lock();
    if (alive == nullptr) return;
    const bool answered = there && !by_.hits(hazard::broken_channels, 20'000);
    at_client([this, position, answered] {
      auto* const found = find(position);
      if (found == nullptr || found->at != state::beginning) return;
      if (!answered) return give_up(*found);
      found->at = state::waiting;
      ++by_.notifications;
      found->listener->may_be_free(true);
    });
  });
}

void queue_positions::reached(std::uint64_t position, std::uint64_t fence) {
  auto& in = by_.in();
  auto delay = moment{0};
  if (by_.hits(hazard::late_notifications, 50'000)) delay = in.random.between(1, 2 * second);
  in.disturb(delay);
  at_client(
      [this, position, fence] {
        auto* const found = find(position);
        if (found == nullptr || found->at == state::given_away || found->at == state::broken) return;
        if (fence == 0) return give_up(*found);
        found->at = state::first;
        found->fence = fence;
        ++by_.notifications;
        found->listener->may_be_free(true);
      },
      delay);
}

std::optional<reply> queue_positions::take(const request& asked) {
  for (auto& each : watches_) {
    if (each->position == 0 || each->key != asked.resource || each->session != asked.session) continue;
    reply made;
    made.statements = 0;
    switch (each->at) {
      case state::beginning:
      case state::waiting: made.result = outcome::no; return made;
      case state::first:
        // Also where the session has ended since: the client can't know.
        each->at = state::given_away;
        by_.to().data.take_position(each->key, each->position, asked.nonce);
        made.result = outcome::yes;
        made.fence = each->fence;
        return made;
      case state::given_away:
      case state::broken: break;
    }
  }
  return std::nullopt;
}

void queue_positions::unwatch(const std::string& /*key*/, key_listener& listener) {
  const auto found =
      std::find_if(watches_.begin(), watches_.end(), [&](const auto& each) { return each->listener == &listener; });
  if (found == watches_.end()) return;
  const auto gone = std::move(*found);
  watches_.erase(found);
  leave(*gone);
}

void queue_positions::leave(const one_watch& one) {
  if (one.position != 0) by_.forget_position(one.position);
  if (one.position == 0 || one.at == state::given_away || one.at == state::broken) return;
  at_server([&to = by_.to(), key = one.key, position = one.position] { to.leave_queue(key, position); });
}

void queue_positions::give_up(one_watch& one) {
  leave(one);
  one.at = state::broken;
  by_.in().disturb(second);
  one.listener->may_be_free(false);
}

void queue_positions::watch_holder(one_watch& one) {
  if (connection_ == 0) connect();
  at_server([this, self = weak_from_this(), &to = by_.to(), id = connection_, key = one.key] {
    const auto alive = self.lock();
    if (alive == nullptr) return;
    if (to.alive(id)) to.subscribe(id, key);
    published(key);
  });
}

void queue_positions::published(const std::string& key) {
  if (deaf_ && connection_ != 0) return;
  const auto row = by_.to().data.locks().find(key);
  const bool held = connection_ != 0 && row != by_.to().data.locks().end() && row->second.held();
  at_client([this, key, held] {
    for (auto& each : watches_) {
      if (each->position != 0 || each->key != key || each->at == state::broken) continue;
      if (!held) each->at = state::broken;  // whoever takes it next, it is not watched
      ++by_.notifications;
      each->listener->may_be_free(held);
    }
  });
}

void queue_positions::broken() {
  for (auto& each : watches_) {
    if (each->position != 0 || each->at == state::broken) continue;
    each->at = state::broken;
    each->listener->may_be_free(false);
  }
}

}  // namespace dlock::simulation
