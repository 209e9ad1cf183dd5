// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// A node that holds a key, or waits.
struct lock_node {
  std::string name{};
  std::uint64_t fence = 0;  ///< the transaction that made it
};

/// Nodes that nothing else would delete while the session lives, so the next renewals look for them: nodes of attempts
/// that were given up before they were found, because a server that got the request on an earlier connection may still
/// make them, and nodes that could not be deleted. Thread-safe. Must not be destroyed before the handle is closed.
class orphan_nodes {
 public:
  void add(std::string path, std::string prefix);
  /// Deletes the nodes that it finds.
  void search(zookeeper_handle& handle);
  /// Deletes a node of ours without a waiting call. Retries after each lost connection, and at the next renewals, until
  /// it is deleted or the session is over.
  void remove_with_retry(zookeeper_handle& handle, const std::string& path, const std::string& name);

 private:
  struct attempt {
    std::string path{};
    std::string prefix{};
    int searches = 2;  // the remaining searches
  };
  void searched(zookeeper_handle& handle, const attempt& of, const answer& response);
  void count_search(const attempt& of);

  base::mutex mutex_{};
  std::vector<attempt> attempts_ DLOCK_GUARDED_BY(mutex_){};
};

/// Notifies a listener; another thread may wait until it is not used any more. Thread-safe.
class listener_guard {
 public:
  explicit listener_guard(key_listener& listener) : listener_(listener) {}
  void tell(bool works) noexcept;
  /// Reports that the watch has stopped working, after all other notifications.
  void tell_end() noexcept;
  /// Returns when the listener is not being notified, and never will be.
  void leave() noexcept;

 private:
  key_listener& listener_;
  base::mutex mutex_{};
  std::condition_variable done_{};
  int telling_ DLOCK_GUARDED_BY(mutex_) = 0;
  bool closed_ DLOCK_GUARDED_BY(mutex_) = false;  // it was closed, or notified for the last time
};

/// The place of a session in the queue of a key, from watch() to unwatch(): a node, and a watch on the node before it,
/// so that one waiter is woken at a time. A thread of the client library reports events.
///
///   create -> list -> first: the key is free for us, so the listener is notified
///                  -> behind another: watches that one; when it is gone: list again
///   the answer to create was lost: finds the node by its name, or creates another one
///   anything else: deletes the node, and the listener learns that the watch has stopped working
///
/// For a permit all this happens in the folder of a lock. The first node there makes a node among those of the holders:
///
///   create -> list -> among the first: deletes the node of the lock, and the listener is notified
///                  -> behind as many as there are permits: watches the folder; when it has changed: list again
///
/// Thread-safe. Nothing of it runs once the handle is closed.
class queue_node final : public node_listener, public std::enable_shared_from_this<queue_node> {
 public:
  struct terms {
    std::string path{};  ///< of the key's folder
    node_names names{};
    std::string data{};
    key_mode mode{};
    std::string lock{};  ///< of a permit: the folder of the lock
  };
  queue_node(zookeeper_handle& handle, orphan_nodes& orphans, terms given, key_listener& listener)
      : handle_(handle),
        orphans_(orphans),
        terms_(std::move(given)),
        listener_(listener),
        has_lock_(terms_.lock.empty()) {}

  void begin();
  /// Ends the wait; the listener isn't called any more. Deletes the node, unless take() has given it away. May be
  /// called again, and after the handle was closed.
  void leave() noexcept;
  /// The same for a session that ends; the listener is notified.
  void end() noexcept;
  /// Returns yes if the node is the first of the queue, which then belongs to the caller; no if it is not the first
  /// yet; failed if there is no place in the queue.
  outcome take(lock_node& into);
  const key_mode& mode() const noexcept { return terms_.mode; }
  /// The node's name; empty if it is unknown yet, or the node was given away.
  std::string name();

 private:
  enum class state { beginning, waiting, first, given_away, broken, left };
  void changed() override { list(); }
  void create();
  void created(const answer& response);
  void find();
  void found(const answer& response);
  void read(const std::string& found_name);
  void list();
  void listed(const answer& response, bool has_lock, bool synced);
  void watch(const std::string& other);
  void watched(const answer& response);
  void waits();
  void got_lock();
  void is_first();
  /// Returns false if it was left, or is over.
  bool set_state(state to);
  void give_up();
  std::string prefix();
  /// The folder in which it has its node.
  const std::string& folder() const noexcept { return has_lock_ ? terms_.path : terms_.lock; }
  bool counts() const noexcept { return has_lock_ && !terms_.lock.empty(); }
  void remove(const std::string& node, const std::string& lock);
  template <class Next>
  void when_back(Next next);

  zookeeper_handle& handle_;
  orphan_nodes& orphans_;
  const terms terms_;
  listener_guard listener_;
  std::atomic<bool> has_lock_;  // it needs none, or its node there was the first
  base::mutex mutex_{};
  state state_ DLOCK_GUARDED_BY(mutex_) = state::beginning;
  std::string prefix_ DLOCK_GUARDED_BY(mutex_){};  // of the node's name
  lock_node node_ DLOCK_GUARDED_BY(mutex_){};
  std::string lock_ DLOCK_GUARDED_BY(mutex_){};  // the name of its node in the folder of the lock
};

/// For a caller that only wants notifications, without a place in a queue: a watch on the holder's node. Otherwise as
/// queue_node.
class holder_watch final : public node_listener, public std::enable_shared_from_this<holder_watch> {
 public:
  holder_watch(zookeeper_handle& handle, std::string path, node_names names, key_listener& listener)
      : handle_(handle), path_(std::move(path)), names_(names), listener_(listener) {}

  void begin() { list(); }
  void leave() noexcept { listener_.leave(); }

 private:
  void changed() override { list(); }
  void list();
  void listed(const answer& response);

  zookeeper_handle& handle_;
  const std::string path_;
  const node_names names_;
  listener_guard listener_;
};

}  // namespace dlock::stores::zookeeper
