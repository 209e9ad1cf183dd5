// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/zookeeper/recipe/place.hpp"

#include <algorithm>
#include <utility>

#include "stores/zookeeper/recipe/names.hpp"

namespace dlock::stores::zookeeper {

void remove_surely(zookeeper_handle& handle, const std::string& path) {
  handle.remove(path, [&handle, path](const answer& told) {
    // Not before it is connected again: until then each attempt is refused at once.
    if (!told.lost()) return;
    handle.when_connected([&handle, path](const answer& connected) {
      if (connected.code == ZOK) remove_surely(handle, path);
    });
  });
}

namespace {

/// As soon as it is connected; nothing once it is over.
template <class Self, class Next>
void when_back(zookeeper_handle& handle, std::shared_ptr<Self> self, Next next) {
  handle.when_connected([self = std::move(self), next](const answer& connected) {
    if (connected.code == ZOK) next(*self);
  });
}

}  // namespace

void told_listener::tell(bool works) noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (left_) return;
    ++telling_;
  }
  listener_.may_be_free(works);
  const base::lock_guard lock(mutex_);
  --telling_;
  done_.notify_all();
}

void told_listener::leave() noexcept {
  base::unique_lock lock(mutex_);
  left_ = true;
  while (telling_ > 0) done_.wait(lock.native());
}

// ---- a place in the queue -------------------------------------------------------------------------------------------

bool queue_place::turn(state to) {
  const base::lock_guard lock(mutex_);
  if (state_ != state::beginning && state_ != state::waiting) return false;
  state_ = to;
  return true;
}

void queue_place::give_up() {
  if (turn(state::broken)) listener_.tell(false);
}

void queue_place::create() {
  handle_.create(terms_.path + "/" + terms_.prefix, terms_.data, ZOO_EPHEMERAL_SEQUENTIAL,
                 [self = shared_from_this()](const answer& told) { self->created(told); });
}

void queue_place::created(const answer& told) {
  if (told.lost()) return find();
  if (told.code != ZOK) return give_up();  // the key's node has gone with its last holder, or the session is over
  bool left = false;
  {
    const base::lock_guard lock(mutex_);
    left = state_ == state::left;
    if (!left) node_ = {told.text.substr(terms_.path.size() + 1), told.created};
  }
  if (left) return remove_surely(handle_, told.text);
  list();
}

void queue_place::find() {
  when_back(handle_, shared_from_this(), [](queue_place& self) {
    self.handle_.list(self.terms_.path, [self = self.shared_from_this()](const answer& told) { self->found(told); });
  });
}

void queue_place::found(const answer& told) {
  if (told.lost()) return find();
  if (told.code != ZOK) return give_up();
  const auto ours = std::find_if(told.names.begin(), told.names.end(),
                                 [this](const std::string& each) { return each.starts_with(terms_.prefix); });
  if (ours == told.names.end()) {
    if (turn(state::beginning)) create();
    return;
  }
  // The number of its transaction was in the answer that got lost.
  handle_.read(terms_.path + "/" + *ours, [self = shared_from_this(), name = *ours](answer read) {
    read.text = self->terms_.path + "/" + name;
    self->created(read);
  });
}

void queue_place::list() {
  {
    const base::lock_guard lock(mutex_);
    if (state_ != state::beginning && state_ != state::waiting) return;
  }
  handle_.list(terms_.path, [self = shared_from_this()](const answer& told) { self->listed(told); });
}

void queue_place::listed(const answer& told) {
  if (told.lost()) return when_back(handle_, shared_from_this(), [](queue_place& self) { self.list(); });
  const auto mine = name();
  // Somebody has deleted it, who had no business with it.
  const bool there = std::find(told.names.begin(), told.names.end(), mine) != told.names.end();
  if (told.code != ZOK || !there) return give_up();
  const auto other = before(told.names, mine);
  if (!other.empty()) return watch(other);
  if (turn(state::first)) listener_.tell(true);
}

void queue_place::watch(const std::string& other) {
  handle_.read_and_watch(terms_.path + "/" + other, shared_from_this(),
                         [self = shared_from_this()](const answer& told) { self->watched(told); });
}

void queue_place::watched(const answer& told) {
  if (told.code != ZOK) return list();  // gone meanwhile, or not known
  bool begins = false;
  {
    const base::lock_guard lock(mutex_);
    begins = state_ == state::beginning;
    if (begins) state_ = state::waiting;
  }
  if (begins) listener_.tell(true);
}

outcome queue_place::take(lock_node& into) {
  const base::lock_guard lock(mutex_);
  if (state_ == state::beginning || state_ == state::waiting) return outcome::no;
  if (state_ != state::first) return outcome::failed;
  state_ = state::given_away;
  into = std::exchange(node_, {});
  return outcome::yes;
}

std::string queue_place::name() {
  const base::lock_guard lock(mutex_);
  return node_.name;
}

void queue_place::leave() noexcept {
  std::string name;
  {
    const base::lock_guard lock(mutex_);
    name = std::exchange(node_.name, {});
    state_ = state::left;
  }
  listener_.leave();
  try {
    if (!name.empty()) remove_surely(handle_, terms_.path + "/" + name);
  } catch (const std::exception&) {
    // Without memory it goes with its session.
  }
}

// ---- without a place ------------------------------------------------------------------------------------------------

void holder_watch::list() {
  handle_.list(path_, [self = shared_from_this()](const answer& told) { self->listed(told); });
}

void holder_watch::listed(const answer& told) {
  if (told.lost()) return when_back(handle_, shared_from_this(), [](holder_watch& self) { self.list(); });
  const auto holder = first_of(told.names);
  if (told.code != ZOK || holder.empty()) return listener_.tell(false);  // whoever takes it next, it is not watched
  handle_.read_and_watch(path_ + "/" + holder, shared_from_this(), [self = shared_from_this()](const answer& watched) {
    if (watched.code == ZOK) return self->listener_.tell(true);
    if (watched.code == ZNONODE || watched.lost()) return self->list();
    self->listener_.tell(false);
  });
}

}  // namespace dlock::stores::zookeeper
