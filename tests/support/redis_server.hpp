// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/scratch_folder.hpp"

namespace dlock::test {

/// A Redis server for one test, which may stop, kill and restart it. It ends with the test's process, however that
/// ends. Throws std::runtime_error where something does not work.
class redis_server {
 public:
  /// `options`: more of the server's, e.g. {"--appendonly", "no"}. Without them what was told done is on the disk. With
  /// "--tls-cert-file" its port speaks TLS. {"--sentinel", name, port}: it is a sentinel of that primary, and nothing
  /// else.
  explicit redis_server(std::vector<std::string> options = {});
  ~redis_server();
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;

  /// By its socket, which a restart does not change. `parameters`: "&name=value", more of the URL's.
  std::string url(const std::string& parameters = {}) const;
  /// By TCP. `user`: what stands before the host, with its '@'.
  std::string tcp_url(const std::string& parameters = {}, const std::string& user = {}) const;
  const std::string& socket() const noexcept { return socket_; }
  std::uint16_t port() const noexcept { return port_; }

  /// SIGSTOP, SIGCONT.
  void stop() const;
  void go_on() const;
  void kill();
  /// SIGTERM; returns when it has ended.
  void shut_down();
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
  pid_t pid_ = -1;
};

}  // namespace dlock::test
