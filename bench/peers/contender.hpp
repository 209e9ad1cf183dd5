// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dlock/dlock.hpp"

namespace dlock::bench {

/// A key's lock as one thread of a client uses it.
class key_lock {
 public:
  key_lock() = default;
  virtual ~key_lock() = default;
  key_lock(const key_lock&) = delete;
  key_lock& operator=(const key_lock&) = delete;

  /// Waits for a busy key as this kind of client does. Throws if the lock was not granted.
  virtual void lock() = 0;
  virtual void unlock() = 0;
};

/// A process that uses the locks; its threads share what the function has open.
using client_process = std::function<std::unique_ptr<key_lock>(const std::string& key)>;

/// Something that gives locks: dlock on one of its stores, or a peer.
struct contender {
  std::string server{};
  std::string name{};
  std::string connections{};  ///< that a process has open
  std::function<client_process()> start{};
  pid_t server_pid = 0;  ///< 0: there is no server
  bool dlock = false;
  std::string beside{};   ///< a peer: the name of the dlock on the same server to compare it with
  std::string missing{};  ///< why it can't be measured
};

class dlock_lock final : public key_lock {
 public:
  dlock_lock(std::shared_ptr<lock_service> locks, const std::string& key) : locks_(std::move(locks)), key_(key) {}
  void lock() override { held_ = locks_->acquire(key_, options_); }
  void unlock() override { held_.release(); }

 private:
  const std::shared_ptr<lock_service> locks_;
  const lock_key key_;
  const lock_options options_{.wait = std::chrono::seconds{60}};
  lease held_{};
};

inline contender by_dlock(std::string server, std::string name, std::string connections, pid_t server_pid,
                          const std::string& url) {
  const auto start = [url] {
    return client_process([locks = std::make_shared<lock_service>(url)](const std::string& key) {
      return std::make_unique<dlock_lock>(locks, key);
    });
  };
  return {.server = std::move(server),
          .name = std::move(name),
          .connections = std::move(connections),
          .start = start,
          .server_pid = server_pid,
          .dlock = true};
}

inline contender not_built(std::string server, std::string name, std::string why) {
  return {.server = std::move(server), .name = std::move(name), .missing = std::move(why)};
}

/// Those of one server, which they start and keep as long as one of them lives. Throw std::runtime_error where it does
/// not start.
std::vector<contender> on_mysql();
std::vector<contender> on_redis(bool synced);
std::vector<contender> on_zookeeper();
std::vector<contender> on_etcd();

}  // namespace dlock::bench
