// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/scratch_folder.hpp"
#include "support/server_process.hpp"

namespace dlock::test {

/// A Redis server for one test, which may restart it. Throws std::runtime_error where something does not work.
class redis_server : public server_process {
 public:
  /// `options`: more of the server's, e.g. {"--appendonly", "no"}. Without them what was told done is on the disk. With
  /// "--tls-cert-file" its port speaks TLS. {"--sentinel", name, port}: it is a sentinel of that primary, and nothing
  /// else.
  explicit redis_server(std::vector<std::string> options = {});

  /// By its socket, which a restart does not change. `parameters`: "&name=value", more of the URL's.
  std::string url(const std::string& parameters = {}) const;
  /// By TCP. `user`: what stands before the host, with its '@'.
  std::string tcp_url(const std::string& parameters = {}, const std::string& user = {}) const;
  const std::string& socket() const noexcept { return socket_; }
  std::uint16_t port() const noexcept { return port_; }

  void start();
  /// Deletes what it has stored, while it does not run.
  void forget() const;
  /// What the server answers to these words, as text.
  std::string ask(const std::vector<std::string>& words) const;

 private:
  std::vector<std::string> command() const;

  scratch_folder folder_{};
  const std::string socket_ = folder_ / "redis.sock";
  std::vector<std::string> options_;
  std::uint16_t port_ = 0;
};

/// Independent servers that write nothing to a disk.
class redis_masters {
 public:
  explicit redis_masters(std::size_t count = 5) : servers_(count) {}

  redis_server& operator[](std::size_t which) { return servers_[which]; }
  std::size_t size() const noexcept { return servers_.size(); }
  auto begin() noexcept { return servers_.begin(); }
  auto end() noexcept { return servers_.end(); }
  /// Those from `first` on; `parameters`: "&name=value".
  std::string url(const std::string& parameters = {}, std::size_t first = 0) const {
    std::string hosts;
    for (auto i = first; i < servers_.size(); ++i)
      hosts += fmt::format("{}127.0.0.1:{}", hosts.empty() ? "" : ",", servers_[i].port());
    return fmt::format("redlock://{}/0{}{}", hosts, parameters.empty() ? "" : "?",
                       parameters.substr(parameters.empty() ? 0 : 1));
  }

 private:
  struct without_disk : redis_server {
    without_disk() : redis_server({"--appendonly", "no"}) {}
  };
  std::vector<without_disk> servers_;
};

}  // namespace dlock::test
