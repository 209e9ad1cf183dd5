// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/zookeeper/recipe/session.hpp"

#include <algorithm>
#include <utility>

namespace dlock::stores::zookeeper {

void zookeeper_session::hold(std::string_view key, held_node node) {
  const base::lock_guard lock(mutex_);
  held_.insert_or_assign(std::string(key), std::move(node));
}

std::optional<held_node> zookeeper_session::held(std::string_view key) const {
  const base::lock_guard lock(mutex_);
  const auto at = held_.find(key);
  return at == held_.end() ? std::nullopt : std::optional(at->second);
}

void zookeeper_session::drop(std::string_view key, const std::string& name) {
  const base::lock_guard lock(mutex_);
  const auto at = held_.find(key);
  if (at != held_.end() && at->second.name == name) held_.erase(at);
}

void zookeeper_session::watch(std::string_view key, std::shared_ptr<queue_place> place) {
  const base::lock_guard lock(mutex_);
  places_.insert_or_assign(std::string(key), std::move(place));
}

void zookeeper_session::unwatch(std::string_view key) noexcept {
  std::shared_ptr<queue_place> left;
  {
    const base::lock_guard lock(mutex_);
    const auto at = places_.find(key);
    if (at == places_.end()) return;
    left = std::move(at->second);
    places_.erase(at);
  }
  left->leave();
}

std::shared_ptr<queue_place> zookeeper_session::place(std::string_view key) const {
  const base::lock_guard lock(mutex_);
  const auto at = places_.find(key);
  return at == places_.end() ? nullptr : at->second;
}

void zookeeper_session::doubt(std::string path, std::string prefix) {
  const base::lock_guard lock(mutex_);
  doubted_.push_back({std::move(path), std::move(prefix)});
}

void zookeeper_session::look_for_doubted() {
  std::vector<doubted> all;
  {
    const base::lock_guard lock(mutex_);
    for (auto& each : doubted_) --each.looks;
    all = doubted_;
    std::erase_if(doubted_, [](const doubted& each) { return each.looks == 0; });
  }
  for (const auto& each : all) {
    handle_->list(each.path, [each, &handle = *handle_](const answer& told) {
      for (const auto& name : told.names) {
        if (name.starts_with(each.prefix)) remove_surely(handle, each.path + "/" + name);
      }
    });
  }
}

bool zookeeper_session::renewed(instant sent, microseconds ttl) {
  const base::lock_guard lock(mutex_);
  // The server that answers tells the leader of its sessions twice in a tick. So what is certain is that the leader has heard of
  // what was sent before, from where the session lives for its timeout. The fiftieth is for a renewal that is a little late.
  const auto until = known_ + std::chrono::milliseconds{data_.timeout_ms};
  known_ = std::max(known_, sent);
  return until + ttl / 50 >= sent + ttl;
}

bool zookeeper_session::end() noexcept {
  std::map<std::string, std::shared_ptr<queue_place>, std::less<>> left;
  {
    const base::lock_guard lock(mutex_);
    left.swap(places_);
  }
  for (const auto& [key, place] : left) place->leave();
  return handle_->close();
}

}  // namespace dlock::stores::zookeeper
