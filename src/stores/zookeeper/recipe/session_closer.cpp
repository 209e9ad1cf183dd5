// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/session_closer.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace dlock::stores::zookeeper {

session_closer::~session_closer() {
  if (::getpid() != process_) {
    // A child of fork() has no such thread, and the sessions are its parent's.
    static_cast<void>(new (std::nothrow) std::thread(std::move(thread_)));
    static_cast<void>(new (std::nothrow) std::shared_ptr<waiting_room>(std::move(room_)));
    return;
  }
  {
    const base::lock_guard lock(room_->mutex);
    room_->stop = true;
    room_->changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::vector<waiting_room::guest> rest;  // ends without the lock
  const base::lock_guard lock(room_->mutex);
  rest.swap(room_->guests);
}

void session_closer::add(std::shared_ptr<zookeeper_session> session) {
  auto& handle = session->handle();
  std::shared_ptr<zookeeper_session> oldest;  // ends without the lock
  {
    const base::lock_guard lock(room_->mutex);
    room_->guests.push_back({.session = session});
    if (room_->guests.size() > most) {
      oldest = std::move(room_->guests.front().session);
      room_->guests.erase(room_->guests.begin());
    }
  }
  {
    const base::lock_guard lock(starting_);
    if (!thread_.joinable()) thread_ = std::thread([room = room_] { room->run(); });
  }
  probe(room_, handle);
}

/// A connection that looks alive may be silent, so an answer is asked for. By threads of the library's, which must not
/// end a handle and therefore own no session.
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

void session_closer::waiting_room::run() {
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
    } else if (stop) {
      return;
    } else {
      changed.wait(lock.native());
    }
  }
}

}  // namespace dlock::stores::zookeeper
