// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// A node that was granted, or that waits.
struct lock_node {
  std::string name{};
  std::uint64_t fence = 0;  ///< the transaction that made it
};

/// Nodes that nothing else would delete while the session lives, so they are looked for at the next renewals: those of
/// attempts that were given up before they were found, because a server that had the request from a connection before
/// may still make them, and those that could not be deleted. Thread-safe. Not to be destroyed before the handle is
/// closed.
class orphan_nodes {
 public:
  void add(std::string path, std::string prefix);
  /// Deletes those that are found.
  void search(zookeeper_handle& handle);
  /// Deletes a node of ours for which no call waits: again after each lost connection, and at the next renewals, until
  /// it is gone or the session is over.
  void remove_with_retry(zookeeper_handle& handle, const std::string& path, const std::string& name);

 private:
  struct attempt {
    std::string path{};
    std::string prefix{};
    int searches = 2;  // that are left
  };
  void searched(zookeeper_handle& handle, const attempt& of, const answer& response);
  void count_search(const attempt& of);

  base::mutex mutex_{};
  std::vector<attempt> attempts_ DLOCK_GUARDED_BY(mutex_){};
};

/// Notifies a listener, while others may wait for it to leave. Thread-safe.
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
  bool closed_ DLOCK_GUARDED_BY(mutex_) = false;  // or notified for the last time
};

/// The place of a session in the queue of a key, from watch() to unwatch(): a node, and a watch on the one before it,
/// so that of all waiters one is woken. A thread of the client library reports what happens.
///
///   create -> list -> first: the lock can be had, the listener is notified
///                  -> behind another: watch that one; when it is gone: list again
///   the answer to create was lost: find the node by its name, else create another one
///   anything else: the node is deleted, and the listener learns that the watch has stopped working
///
/// Thread-safe. Nothing of it runs once the handle is closed.
class queue_node final : public node_listener, public std::enable_shared_from_this<queue_node> {
 public:
  struct terms {
    std::string path{};  ///< of the key's node
    node_names names{};
    std::string data{};
  };
  queue_node(zookeeper_handle& handle, orphan_nodes& orphans, terms given, key_listener& listener)
      : handle_(handle), orphans_(orphans), terms_(std::move(given)), listener_(listener) {}

  void begin() { create(); }
  /// Ends it: the listener isn't called any more. The node is deleted, unless take() has given it away. May be called
  /// again, also when the handle has been closed meanwhile.
  void leave() noexcept;
  /// The same for a session that ends: the listener learns it.
  void end() noexcept;
  /// yes: the node is the first of the queue, and the caller's from then on. no: it is not the first yet. failed: there
  /// is no place in the queue.
  outcome take(lock_node& into);
  /// Of the node; empty: not known yet, or given away.
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
  void listed(const answer& response, bool synced);
  void watch(const std::string& other);
  void watched(const answer& response);
  /// False: it is left, or over.
  bool set_state(state to);
  void give_up();
  std::string prefix();
  template <class Next>
  void when_back(Next next);

  zookeeper_handle& handle_;
  orphan_nodes& orphans_;
  const terms terms_;
  listener_guard listener_;
  base::mutex mutex_{};
  state state_ DLOCK_GUARDED_BY(mutex_) = state::beginning;
  std::string prefix_ DLOCK_GUARDED_BY(mutex_){};  // of the name of the node
  lock_node node_ DLOCK_GUARDED_BY(mutex_){};
};

/// For a caller that only wants to be notified, and stands in no queue: a watch on the holder's node. Otherwise as
/// queue_node.
class holder_watch final : public node_listener, public std::enable_shared_from_this<holder_watch> {
 public:
  holder_watch(zookeeper_handle& handle, std::string path, key_listener& listener)
      : handle_(handle), path_(std::move(path)), listener_(listener) {}

  void begin() { list(); }
  void leave() noexcept { listener_.leave(); }

 private:
  void changed() override { list(); }
  void list();
  void listed(const answer& response);

  zookeeper_handle& handle_;
  const std::string path_;
  listener_guard listener_;
};

}  // namespace dlock::stores::zookeeper
