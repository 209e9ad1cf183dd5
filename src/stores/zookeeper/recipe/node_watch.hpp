// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// Calls a function once when a node of ours is gone that we did not delete. The servers send that event without being asked again.
/// Thread-safe. Nothing of it runs once the handle is closed.
class node_watch final : public node_listener, public std::enable_shared_from_this<node_watch> {
 public:
  node_watch(zookeeper_handle& handle, std::string path, std::function<void()> gone)
      : handle_(handle), path_(std::move(path)), gone_(std::move(gone)) {}

  /// Sends a request, and waits for no answer.
  void begin() { watch(); }
  /// Before our own request to delete the node is sent: from then on its end is no news.
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

}  // namespace dlock::stores::zookeeper
