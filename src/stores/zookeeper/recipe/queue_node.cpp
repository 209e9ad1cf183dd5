// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/queue_node.hpp"

#include <utility>

#include "stores/zookeeper/recipe/names.hpp"

namespace dlock::stores::zookeeper {

namespace {

bool is_gone(const answer& removed) { return removed.code == ZOK || removed.code == ZNONODE; }

}  // namespace

void orphan_nodes::remove_with_retry(zookeeper_handle& handle, const std::string& path, const std::string& name) {
  handle.remove(path + "/" + name, [this, &handle, path, name](const answer& response) {
    if (is_gone(response) || handle.over()) return;
    if (!response.lost()) return add(path, name);  // refused by a busy server, or by one that the session has left
    // Waits until it is connected, because until then each attempt is refused at once.
    handle.when_connected([this, &handle, path, name](const answer& connected) {
      if (connected.code == ZOK) remove_with_retry(handle, path, name);
    });
  });
}

void orphan_nodes::add(std::string path, std::string prefix) {
  const base::lock_guard lock(mutex_);
  attempts_.push_back({std::move(path), std::move(prefix)});
}

void orphan_nodes::search(zookeeper_handle& handle) {
  std::vector<attempt> all;
  {
    const base::lock_guard lock(mutex_);
    all = attempts_;
  }
  for (const auto& each : all) {
    handle.list(each.path, [this, each, &handle](const answer& response) { searched(handle, each, response); });
  }
}

void orphan_nodes::searched(zookeeper_handle& handle, const attempt& of, const answer& response) {
  if (response.code != ZOK && response.code != ZNONODE) return;  // the search read nothing
  bool found = false;
  for (const auto& name : response.names) {
    if (!name.starts_with(of.prefix)) continue;
    found = true;
    // If this is refused or not answered, the next search finds the node again.
    handle.remove(of.path + "/" + name, [this, of](const answer& removed) {
      if (is_gone(removed)) count_search(of);
    });
  }
  if (!found) count_search(of);
}

void orphan_nodes::count_search(const attempt& of) {
  const base::lock_guard lock(mutex_);
  std::erase_if(attempts_, [&](attempt& each) { return each.prefix == of.prefix && --each.searches == 0; });
}

void listener_guard::tell(bool works) noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (closed_) return;
    ++telling_;
  }
  listener_.may_be_free(works);
  const base::lock_guard lock(mutex_);
  --telling_;
  done_.notify_all();
}

void listener_guard::tell_end() noexcept {
  {
    base::unique_lock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    ++telling_;  // leave() waits for it from here on
    while (telling_ > 1) done_.wait(lock.native());
  }
  listener_.may_be_free(false);
  const base::lock_guard lock(mutex_);
  --telling_;
  done_.notify_all();
}

void listener_guard::leave() noexcept {
  base::unique_lock lock(mutex_);
  closed_ = true;
  while (telling_ > 0) done_.wait(lock.native());
}

// ---- a place in the queue -------------------------------------------------------------------------------------------

bool queue_node::set_state(state to) {
  const base::lock_guard lock(mutex_);
  if (state_ != state::beginning && state_ != state::waiting) return false;
  state_ = to;
  return true;
}

/// Ends the wait. A node that stayed would block the key for all others.
void queue_node::give_up() {
  std::string name, lock_name;
  {
    const base::lock_guard lock(mutex_);
    if (state_ != state::beginning && state_ != state::waiting) return;
    state_ = state::broken;
    name = std::exchange(node_.name, {});
    lock_name = std::exchange(lock_, {});
  }
  remove(name, lock_name);
  listener_.tell_end();
}

/// Deletes its nodes, of which any may be missing.
void queue_node::remove(const std::string& node, const std::string& lock) {
  if (!node.empty()) orphans_.remove_with_retry(handle_, folder(), node);
  if (!lock.empty()) orphans_.remove_with_retry(handle_, terms_.lock, lock);
}

/// Continues as soon as it is connected, or never if the session is over.
template <class Next>
void queue_node::when_back(Next next) {
  handle_.when_connected([self = shared_from_this(), next](const answer& connected) {
    if (connected.code == ZOK) return next(*self);
    self->give_up();
  });
}

void queue_node::begin() {
  // The servers delete this folder when nobody waits. Nobody needs the answer, because the next request shows it.
  if (!terms_.lock.empty()) handle_.create(terms_.lock, "", ZOO_CONTAINER, [](const answer&) {});
  create();
}

void queue_node::create() {
  std::string path;
  {
    // Each attempt has another name, so that a late one is not taken for the next.
    const base::lock_guard lock(mutex_);
    const auto id = id128::random().hex();
    prefix_ =
        has_lock_ ? node_prefix(terms_.names, id, terms_.mode.units != 0) : node_prefix(node_names::curator, id, false);
    path = folder() + "/" + prefix_;
  }
  handle_.create(path, terms_.data, ZOO_EPHEMERAL_SEQUENTIAL,
                 [self = shared_from_this()](const answer& response) { self->created(response); });
}

void queue_node::created(const answer& response) {
  if (response.lost()) return find();
  if (response.code != ZOK)
    return give_up();  // the key's node was deleted after its last holder, or the session is over
  bool left = false;
  {
    const base::lock_guard lock(mutex_);
    left = state_ == state::left;
    if (!left) node_ = {response.text.substr(folder().size() + 1), response.created};
  }
  if (left) return orphans_.remove_with_retry(handle_, folder(), response.text.substr(folder().size() + 1));
  list();
}

/// Also after the waiter has left, to delete the node.
void queue_node::find() {
  when_back([](queue_node& self) {
    // Another server may not have received it yet.
    self.handle_.sync_and_list(self.folder(),
                               [self = self.shared_from_this()](const answer& response) { self->found(response); });
  });
}

void queue_node::found(const answer& response) {
  if (response.lost()) return find();
  std::string ours;
  for (const auto& each : response.names) {
    if (!each.starts_with(prefix())) continue;
    if (ours.empty()) {
      ours = each;
    } else {
      orphans_.remove_with_retry(handle_, folder(), each);
    }
  }
  if (!ours.empty()) return read(ours);
  orphans_.add(folder(), prefix());
  if (response.code != ZOK) return give_up();
  if (set_state(state::beginning)) create();
}

/// Reads the number of its transaction, because the answer with it was lost.
void queue_node::read(const std::string& found_name) {
  const auto path = folder() + "/" + found_name;
  handle_.read(path, [self = shared_from_this(), path, found_name](answer response) {
    if (response.code != ZOK && !response.lost())
      self->orphans_.remove_with_retry(self->handle_, self->folder(), found_name);
    response.text = path;
    self->created(response);
  });
}

void queue_node::list() {
  {
    const base::lock_guard lock(mutex_);
    if (state_ != state::beginning && state_ != state::waiting) return;
    if (node_.name.empty()) return;  // it lists as soon as its node is made
  }
  const auto listed = [self = shared_from_this(), has_lock = has_lock_.load()](const answer& response) {
    self->listed(response, has_lock, false);
  };
  if (counts()) return handle_.list_and_watch(folder(), shared_from_this(), listed);
  handle_.list(folder(), listed);
}

/// `has_lock`: when it asked.
void queue_node::listed(const answer& response, bool has_lock, bool synced) {
  if (has_lock != has_lock_) return;
  if (response.lost()) return when_back([](queue_node& self) { self.list(); });
  const lock_queue queue(has_lock ? terms_.names : node_names::curator, response.names);
  if (response.code != ZOK || !queue.foreign().empty())
    return give_up();  // an attempt to take the key reports the problem
  const auto other = queue.before(name(), counts() ? terms_.mode.permits : 0);
  if (!other) {
    // The answer is from another server, which has not received the node yet, or another program has deleted the node.
    if (synced) return give_up();
    return handle_.sync_and_list(
        folder(), [self = shared_from_this(), has_lock](const answer& again) { self->listed(again, has_lock, true); });
  }
  if (!other->empty()) return counts() ? waits() : watch(*other);
  if (has_lock) return is_first();
  got_lock();
}

void queue_node::watch(const std::string& other) {
  handle_.read_and_watch(folder() + "/" + other, shared_from_this(),
                         [self = shared_from_this()](const answer& response) { self->watched(response); });
}

void queue_node::watched(const answer& response) {
  if (response.code == ZNONODE || response.lost()) return list();  // deleted meanwhile, or unknown
  if (response.code != ZOK) return give_up();                      // for example a node that we must not read
  waits();
}

void queue_node::waits() {
  bool begins = false;
  {
    const base::lock_guard lock(mutex_);
    begins = state_ == state::beginning;
    if (begins) state_ = state::waiting;
  }
  if (begins) listener_.tell(true);
}

void queue_node::got_lock() {
  {
    const base::lock_guard lock(mutex_);
    if (has_lock_ || (state_ != state::beginning && state_ != state::waiting)) return;
    lock_ = std::exchange(node_, {}).name;
    has_lock_ = true;
  }
  create();
}

void queue_node::is_first() {
  if (!set_state(state::first)) return;
  std::string lock_name;
  {
    const base::lock_guard lock(mutex_);
    lock_name = std::exchange(lock_, {});
  }
  remove({}, lock_name);
  listener_.tell(true);
}

outcome queue_node::take(lock_node& into) {
  const base::lock_guard lock(mutex_);
  if (state_ == state::beginning || state_ == state::waiting) return outcome::no;
  if (state_ != state::first) return outcome::failed;
  state_ = state::given_away;
  into = std::exchange(node_, {});
  return outcome::yes;
}

std::string queue_node::prefix() {
  const base::lock_guard lock(mutex_);
  return prefix_;
}

std::string queue_node::name() {
  const base::lock_guard lock(mutex_);
  return node_.name;
}

void queue_node::leave() noexcept {
  std::string name, lock_name;
  {
    const base::lock_guard lock(mutex_);
    name = std::exchange(node_.name, {});
    lock_name = std::exchange(lock_, {});
    state_ = state::left;
  }
  listener_.leave();
  try {
    remove(name, lock_name);
  } catch (const std::exception&) {
    // If memory runs out, the node ends with its session.
  }
}

void queue_node::end() noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (state_ == state::left) return;
    if (state_ != state::given_away) state_ = state::broken;
  }
  listener_.tell_end();
  leave();
}

// ---- without a place ------------------------------------------------------------------------------------------------

void holder_watch::list() {
  handle_.list(path_, [self = shared_from_this()](const answer& response) { self->listed(response); });
}

void holder_watch::listed(const answer& response) {
  if (response.lost()) {
    handle_.when_connected([self = shared_from_this()](const answer& connected) {
      if (connected.code == ZOK) return self->list();
      self->listener_.tell_end();
    });
    return;
  }
  const auto holder = lock_queue(names_, response.names).blocker({});
  if (response.code != ZOK || holder.empty()) return listener_.tell_end();  // the next holder is not watched
  handle_.read_and_watch(path_ + "/" + holder, shared_from_this(), [self = shared_from_this()](const answer& watched) {
    if (watched.code == ZOK) return self->listener_.tell(true);
    if (watched.code == ZNONODE || watched.lost()) return self->list();
    self->listener_.tell_end();
  });
}

}  // namespace dlock::stores::zookeeper
