// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store/clock.hpp"
#include "dlock/store/store.hpp"
#include "stores/zookeeper/recipe/names.hpp"
#include "stores/zookeeper/recipe/place.hpp"

namespace dlock::stores::zookeeper {

/// A node that is held, and for which attempt.
struct held_node : lock_node {
  std::uint64_t nonce = 0;
};

/// A session of ours, at the servers and here: what its nodes are called. Thread-safe.
class zookeeper_session {
 public:
  zookeeper_session(std::shared_ptr<zookeeper_handle> handle, node_data data, instant opened)
      : handle_(std::move(handle)), data_(std::move(data)), text_(data_.text()), known_(opened) {}
  ~zookeeper_session() { end(); }
  zookeeper_session(const zookeeper_session&) = delete;
  zookeeper_session& operator=(const zookeeper_session&) = delete;

  zookeeper_handle& handle() const noexcept { return *handle_; }
  const std::shared_ptr<zookeeper_handle>& shared_handle() const noexcept { return handle_; }
  const node_data& data() const noexcept { return data_; }
  const std::string& text() const noexcept { return text_; }

  void hold(std::string_view key, held_node node);
  std::optional<held_node> held(std::string_view key) const;
  /// Forgets it, if it is still that one.
  void drop(std::string_view key, const std::string& name);

  void watch(std::string_view key, std::shared_ptr<queue_place> place);
  void unwatch(std::string_view key) noexcept;
  std::shared_ptr<queue_place> place(std::string_view key) const;

  /// An attempt was cancelled and there was no node of it. A server that had its request from a connection before may still make
  /// one: it is looked for at the next renewals, because nobody else would delete it while the session lives.
  void doubt(std::string path, std::string prefix);
  void look_for_doubted();

  /// A renewal that was sent at `sent` has been answered. Whether the session lives for `ttl` from then on.
  bool renewed(instant sent, microseconds ttl);
  /// Places in queues are left, and the session ends at the servers. False: not certain.
  bool end() noexcept;

 private:
  const std::shared_ptr<zookeeper_handle> handle_;
  const node_data data_;
  const std::string text_;
  mutable base::mutex mutex_{};
  std::map<std::string, held_node, std::less<>> held_ DLOCK_GUARDED_BY(mutex_){};
  std::map<std::string, std::shared_ptr<queue_place>, std::less<>> places_ DLOCK_GUARDED_BY(mutex_){};
  struct doubted {
    std::string path{};
    std::string prefix{};
    int looks = 2;  // that are left
  };
  std::vector<doubted> doubted_ DLOCK_GUARDED_BY(mutex_){};
  instant known_ DLOCK_GUARDED_BY(mutex_);  // the leader has heard from it since
};

}  // namespace dlock::stores::zookeeper
