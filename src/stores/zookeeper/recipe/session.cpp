// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/session.hpp"

#include <algorithm>

namespace dlock::stores::zookeeper {

void zookeeper_session::watch_own_node(const std::string& path) {
  own_node_ = std::make_shared<node_watch>(*handle_, path, [to = listeners_] { to->renew_now(); });
  own_node_->begin();
}

void zookeeper_session::hold(std::string_view key, const std::string& path, held_node node) {
  const auto gone = [to = listeners_, key = std::string(key), session = data_.session,
                     name = node.member ? node.nonce : node.fence] { to->lock_deleted(key, session, name); };
  const auto watch = std::make_shared<node_watch>(*handle_, path + "/" + node.name, gone);
  node.watch = watch;
  {
    const base::lock_guard lock(mutex_);
    held_.emplace(key, std::move(node));
  }
  watch->begin();
}

void zookeeper_session::drop(std::string_view key, const std::string& name) {
  const base::lock_guard lock(mutex_);
  const auto [first, last] = held_.equal_range(key);
  const auto at = std::find_if(first, last, [&](const auto& each) { return each.second.name == name; });
  if (at != last) held_.erase(at);
}

void zookeeper_session::watch(std::string_view key, std::shared_ptr<queue_node> node) {
  const base::lock_guard lock(mutex_);
  queue_nodes_.insert_or_assign(std::string(key), std::move(node));
}

void zookeeper_session::unwatch(std::string_view key, const queue_node& node) noexcept {
  const base::lock_guard lock(mutex_);
  const auto at = queue_nodes_.find(key);
  if (at != queue_nodes_.end() && at->second.get() == &node) queue_nodes_.erase(at);  // the caller owns it too
}

std::shared_ptr<queue_node> zookeeper_session::node_of(std::string_view key) const {
  const base::lock_guard lock(mutex_);
  const auto at = queue_nodes_.find(key);
  return at == queue_nodes_.end() ? nullptr : at->second;
}

bool zookeeper_session::renewed(instant sent, instant answered, microseconds ttl) {
  using std::chrono::milliseconds;
  // Another server may have agreed to less than the first.
  const microseconds timeout = std::min(milliseconds{data_.timeout_ms}, handle_->timeout());
  // A server reports its sessions to the leader twice in a tick. So when a renewal is answered, the leader has
  // certainly heard of a renewal that was answered half a tick before this one was sent. From then on the session lives
  // for its timeout, which is at least two ticks. If the timeout leaves room for more than the time between two
  // renewals, a larger margin is used.
  const auto margin = timeout - ttl;
  const auto half_a_tick = margin >= ttl * 3 / 4 ? margin / 2 : ttl / 4;
  const base::lock_guard lock(mutex_);
  for (; !renewals_.empty() && renewals_.front().answered + half_a_tick <= sent; renewals_.pop_front()) {
    known_ = std::max(known_, renewals_.front().sent);
  }
  renewals_.push_back({sent, answered});
  // The fiftieth is for a slightly late renewal.
  return known_ + timeout + ttl / 50 >= sent + ttl;
}

void zookeeper_session::leave_queues() noexcept {
  if (!handle_->ours()) return;  // in a child of fork() no thread waits
  std::map<std::string, std::shared_ptr<queue_node>, std::less<>> ended;
  {
    const base::lock_guard lock(mutex_);
    ended.swap(queue_nodes_);
  }
  for (const auto& [key, node] : ended) node->end();
}

bool zookeeper_session::end() noexcept {
  if (!handle_->ours()) return false;  // it is not certain that any lock is free
  leave_queues();
  return handle_->close();
}

// ---- sessions that could not be ended ------------------------------------------------------------------------------

session_closer::~session_closer() {
  if (!thread_.started()) return;  // no session was added either
  thread_.end();
  if (thread_.in_child()) return;
  std::vector<waiting_room::guest> rest;  // ends without the lock
  const base::lock_guard lock(room_->mutex);
  rest.swap(room_->guests);
}

void session_closer::add(std::shared_ptr<zookeeper_session> session) {
  auto& handle = session->handle();
  std::shared_ptr<zookeeper_session> oldest;  // ends without the lock
  {
    const base::lock_guard lock(room_->mutex);
    if (!thread_.started()) {
      thread_.start([room = room_](const std::stop_token& stop) { room->run(stop); },
                    [room = room_] {
                      const base::lock_guard at_end(room->mutex);
                      room->changed.notify_all();
                    });
    }
    room_->guests.push_back({.session = session});
    if (room_->guests.size() > most) {
      oldest = std::move(room_->guests.front().session);
      room_->guests.erase(room_->guests.begin());
    }
  }
  probe(room_, handle);
}

/// Asks for an answer, because a connection that looks alive may be broken. Threads of the library call this, which
/// must not destroy a handle and therefore own no session.
void session_closer::probe(const std::weak_ptr<waiting_room>& room, zookeeper_handle& handle) {
  handle.when_connected([room, &handle](const answer&) {
    handle.read("/", [room, &handle](const answer& read) {
      if (read.lost() && !handle.over()) return probe(room, handle);
      if (const auto alive = room.lock()) alive->reached(handle);
    });
  });
}

void session_closer::waiting_room::reached(const zookeeper_handle& handle) {
  const base::lock_guard lock(mutex);
  for (auto& each : guests) {
    if (&each.session->handle() == &handle) each.reached = true;
  }
  changed.notify_all();
}

void session_closer::waiting_room::run(const std::stop_token& stop) {
  base::unique_lock lock(mutex);
  for (;;) {
    const auto found = std::find_if(guests.begin(), guests.end(), [](const guest& each) { return each.reached; });
    if (found != guests.end()) {
      auto session = std::move(found->session);
      guests.erase(found);
      lock.unlock();
      session->end();
      session.reset();
      lock.lock();
    } else if (stop.stop_requested()) {
      return;
    } else {
      changed.wait(lock.native());
    }
  }
}

}  // namespace dlock::stores::zookeeper
