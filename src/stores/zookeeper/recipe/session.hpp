// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/key_listeners.hpp"
#include "stores/zookeeper/client/handle.hpp"
#include "stores/zookeeper/recipe/names.hpp"
#include "stores/zookeeper/recipe/queue_node.hpp"

namespace dlock::stores::zookeeper {

/// Calls a function once when another program has deleted a node of ours. The servers send that event without a
/// request. Thread-safe. Nothing of it runs once the handle is closed.
class node_watch final : public node_listener, public std::enable_shared_from_this<node_watch> {
 public:
  node_watch(zookeeper_handle& handle, std::string path, std::function<void()> gone)
      : handle_(handle), path_(std::move(path)), gone_(std::move(gone)) {}

  /// Sends a request without waiting for the answer.
  void begin() { watch(); }
  /// Must be called before our own request to delete the node, whose end is not reported then.
  void end() noexcept { ended_ = true; }

 private:
  void changed() override { watch(); }
  void watch() {
    if (ended_) return;
    handle_.read_and_watch(path_, shared_from_this(), [self = shared_from_this()](const answer& read) {
      if (read.code == ZNONODE && !self->ended_.exchange(true)) self->gone_();
      if (!read.lost()) return;
      self->handle_.when_connected([self](const answer& connected) {
        if (connected.code == ZOK) self->watch();
      });
    });
  }

  zookeeper_handle& handle_;
  const std::string path_;
  const std::function<void()> gone_;
  std::atomic<bool> ended_{false};
};

/// A node that holds a key, and its attempt.
struct held_node : lock_node {
  std::uint64_t nonce = 0;
  bool member = false;                  ///< of a key that is shared
  std::shared_ptr<node_watch> watch{};  ///< reports when another program deletes it
};

/// A session of ours, at the servers and here. Thread-safe.
class zookeeper_session {
 public:
  zookeeper_session(std::shared_ptr<zookeeper_handle> handle, node_data data, instant opened,
                    std::shared_ptr<store_listeners> listeners = std::make_shared<store_listeners>())
      : handle_(std::move(handle)),
        data_(std::move(data)),
        text_(data_.text()),
        listeners_(std::move(listeners)),
        known_(opened) {}
  ~zookeeper_session() { end(); }
  zookeeper_session(const zookeeper_session&) = delete;
  zookeeper_session& operator=(const zookeeper_session&) = delete;

  zookeeper_handle& handle() const noexcept { return *handle_; }
  const std::shared_ptr<zookeeper_handle>& shared_handle() const noexcept { return handle_; }
  const node_data& data() const noexcept { return data_; }
  const std::string& text() const noexcept { return text_; }

  /// Watches its own node; the deletion of that ends the session.
  void watch_own_node(const std::string& path);
  /// `path` is the path of the key's node. The listeners learn when another program deletes the node that is held. A
  /// key that is shared may have several.
  void hold(std::string_view key, const std::string& path, held_node node);
  /// The held node for which `is_it` returns true.
  template <class Predicate>
  std::optional<held_node> held(std::string_view key, Predicate&& is_it) const {
    const base::lock_guard lock(mutex_);
    const auto [first, last] = held_.equal_range(key);
    const auto at = std::find_if(first, last, [&](const auto& each) { return is_it(each.second); });
    return at == last ? std::nullopt : std::optional(at->second);
  }
  /// Forgets it.
  void drop(std::string_view key, const std::string& name);

  void watch(std::string_view key, std::shared_ptr<queue_node> node);
  /// Forgets it, if it is still that one.
  void unwatch(std::string_view key, const queue_node& node) noexcept;
  std::shared_ptr<queue_node> node_of(std::string_view key) const;

  orphan_nodes& orphans() noexcept { return orphans_; }

  /// A renewal that was sent at `sent` was answered before `answered`. Returns whether the session lives for `ttl` from
  /// `sent` on.
  bool renewed(instant sent, instant answered, microseconds ttl);
  /// Notifies the nodes in queues, and deletes them.
  void leave_queues() noexcept;
  /// The same, and ends the session at the servers. Returns false if that is not certain.
  bool end() noexcept;

 private:
  const std::shared_ptr<zookeeper_handle> handle_;
  const node_data data_;
  const std::string text_;
  const std::shared_ptr<store_listeners> listeners_;
  std::shared_ptr<node_watch> own_node_{};
  mutable base::mutex mutex_{};
  std::multimap<std::string, held_node, std::less<>> held_ DLOCK_GUARDED_BY(mutex_){};
  std::map<std::string, std::shared_ptr<queue_node>, std::less<>> queue_nodes_ DLOCK_GUARDED_BY(mutex_){};
  orphan_nodes orphans_{};
  instant known_ DLOCK_GUARDED_BY(mutex_);  // the leader has heard from it since then
  struct renewal_times {
    instant sent;
    instant answered;
  };
  std::deque<renewal_times> renewals_ DLOCK_GUARDED_BY(mutex_){};  // the leader may not have heard of these yet
};

/// Sessions that are not used any more and could not be ended, because no server could be reached. The servers would
/// keep their nodes for a timeout after they are back, so each session stays until it is connected again, and then
/// ends. Thread-safe.
class session_closer {
 public:
  session_closer() = default;
  /// Drops the remaining sessions without the servers.
  ~session_closer();
  session_closer(const session_closer&) = delete;
  session_closer& operator=(const session_closer&) = delete;

  /// Precondition: the session has left its queues.
  void add(std::shared_ptr<zookeeper_session> session);

 private:
  /// More can only come from many outages in a row; then the oldest one is given up.
  static constexpr std::size_t most = 16;
  struct waiting_room {
    base::mutex mutex{};
    std::condition_variable changed{};
    struct guest {
      std::shared_ptr<zookeeper_session> session{};
      bool reached = false;  // a server has answered, or the servers have ended it
    };
    std::vector<guest> guests DLOCK_GUARDED_BY(mutex){};
    void run(const std::stop_token& stop);
    void reached(const zookeeper_handle& handle);
  };
  static void probe(const std::weak_ptr<waiting_room>& room, zookeeper_handle& handle);

  /// Shared with the thread. A child of fork() has no such thread, and the sessions belong to its parent, so they stay.
  const std::shared_ptr<waiting_room> room_ = std::make_shared<waiting_room>();
  base::background_thread thread_{};
};

}  // namespace dlock::stores::zookeeper
