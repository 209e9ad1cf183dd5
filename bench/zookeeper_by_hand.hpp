// SPDX-License-Identifier: BSL-1.0
#pragma once

#ifndef THREADED
#define THREADED  // the library's calls that wait
#endif
#include <zookeeper/zookeeper.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace dlock::bench {

inline void check_zookeeper(int code) {
  if (code != ZOK) throw std::runtime_error(::zerror(code));
}

/// A connection of ZooKeeper's C client, which threads may share.
class zookeeper_session {
 public:
  explicit zookeeper_session(const std::string& address) {
    ::zoo_set_debug_level(static_cast<ZooLogLevel>(0));
    handle_ = ::zookeeper_init(address.c_str(), on_event, 30'000, nullptr, this, 0);
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds{10}, [&] { return connected_; }))
      throw std::runtime_error("no connection");
  }
  ~zookeeper_session() { ::zookeeper_close(handle_); }
  zookeeper_session(const zookeeper_session&) = delete;
  zookeeper_session& operator=(const zookeeper_session&) = delete;

  zhandle_t* handle() const noexcept { return handle_; }

 private:
  static void on_event(zhandle_t*, int, int state, const char*, void* about) {
    auto& mine = *static_cast<zookeeper_session*>(about);
    const std::lock_guard lock(mine.mutex_);
    mine.connected_ = state == ZOO_CONNECTED_STATE;
    mine.changed_.notify_all();
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool connected_ = false;
  zhandle_t* handle_ = nullptr;
};

/// The recipe: create a node, get the children, watch the one before, delete.
class zookeeper_recipe {
 public:
  /// `path`: the parent of the contenders' nodes, which is made.
  zookeeper_recipe(const zookeeper_session& at, std::string path) : handle_(at.handle()), path_(std::move(path)) {
    const int made =
        ::zoo_create(handle_, path_.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0);
    if (made != ZNODEEXISTS) check_zookeeper(made);
  }
  zookeeper_recipe(const zookeeper_recipe&) = delete;
  zookeeper_recipe& operator=(const zookeeper_recipe&) = delete;

  void acquire() {
    char made[256];
    check_zookeeper(::zoo_create(handle_, (path_ + "/lock-").c_str(), "raw", 3, &ZOO_OPEN_ACL_UNSAFE,
                                 ZOO_EPHEMERAL_SEQUENTIAL, made, sizeof made));
    mine_ = std::string(made).substr(path_.size() + 1);
    for (;;) {
      const auto before = one_before();
      if (before.empty()) return;
      {
        const std::lock_guard lock(mutex_);
        gone_ = false;
      }
      char data[256];
      int size = sizeof data;
      if (::zoo_wget(handle_, (path_ + "/" + before).c_str(), on_change, this, data, &size, nullptr) != ZOK) continue;
      waits_ = true;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return gone_; });
      waits_ = false;
    }
  }
  void release() { check_zookeeper(::zoo_delete(handle_, (path_ + "/" + mine_).c_str(), -1)); }
  bool waits() const { return waits_; }

 private:
  static void on_change(zhandle_t*, int, int, const char*, void* about) {
    auto& mine = *static_cast<zookeeper_recipe*>(about);
    const std::lock_guard lock(mine.mutex_);
    mine.gone_ = true;
    mine.changed_.notify_all();
  }
  std::string one_before() {
    String_vector children{};
    check_zookeeper(::zoo_get_children(handle_, path_.c_str(), 0, &children));
    std::string found;
    for (int i = 0; i != children.count; ++i) {
      if (children.data[i] < mine_ && children.data[i] > found) found = children.data[i];
    }
    ::deallocate_String_vector(&children);
    return found;
  }

  zhandle_t* const handle_;
  const std::string path_;
  std::string mine_{};
  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool gone_ = false;
  std::atomic<bool> waits_{false};
};

}  // namespace dlock::bench
