// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/scratch_folder.hpp"
#include "support/server_process.hpp"

namespace dlock::test {

/// A ZooKeeper server for one test, which may restart it. A tick is 100 ms. Throws std::runtime_error where something
/// does not work.
class zookeeper_server : public server_process {
 public:
  /// `settings`: more lines of its configuration, e.g. {"maxSessionTimeout=2000"}.
  explicit zookeeper_server(std::vector<std::string> settings = {});
  /// One of an ensemble, which answers once most of them run. `number` counts from 1.
  zookeeper_server(int number, std::vector<std::string> settings);

  /// `parameters`: "name=value&name=value".
  std::string url(const std::string& parameters = {}) const;
  /// "127.0.0.1:port"
  std::string address() const;
  std::uint16_t port() const noexcept { return port_; }

  /// Begins to run it; wait() returns when it answers.
  void start();
  void wait();
  /// The whole of what it answers to one of its words of four letters, however busy the machine is. Throws
  /// std::runtime_error where it does not come.
  std::string ask(const std::string& word) const;
  /// "leader", "follower" or "standalone"; empty: none of them yet.
  std::string role() const;

 private:
  void configure() const;
  /// Waits until it serves; false: it has ended, or does not in a minute.
  bool comes_up();
  /// Of one attempt, which ends soon: a server that is just starting never answers. Empty: no answer, or not all of it.
  std::string try_ask(const std::string& word) const;

  scratch_folder folder_{};
  std::vector<std::string> settings_;
  int number_ = 0;  // of an ensemble; 0: it is alone
  std::uint16_t port_ = 0;
};

/// Several, of which each knows the others.
class zookeeper_ensemble {
 public:
  explicit zookeeper_ensemble(int size);
  std::string url(const std::string& parameters = {}) const;
  zookeeper_server& operator[](std::size_t which) { return *servers_[which]; }
  std::size_t size() const { return servers_.size(); }
  /// Waits for it.
  std::size_t leader() const;

 private:
  void begin(int size);

  std::vector<std::unique_ptr<zookeeper_server>> servers_{};
};

}  // namespace dlock::test
