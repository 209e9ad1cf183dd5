// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace dlock::test {

/// A MariaDB server for one test, which may stop, kill and restart it. Its data stay in the build folder, its tables
/// do not. Throws std::runtime_error where something does not work.
class own_server {
 public:
  own_server() : own_server("server", "--skip-networking") {}
  /// Another one of that name, with other options.
  own_server(std::string name, std::string options);
  ~own_server();
  own_server(const own_server&) = delete;
  own_server& operator=(const own_server&) = delete;

  /// By its socket, which a restart does not change.
  std::string url() const;
  /// The same as root.
  std::string root_url() const { return "mysql://root@/locks?socket=" + socket_; }
  std::uint16_t port() const noexcept { return port_; }

  /// SIGSTOP; returns when it stands still.
  void stop() const;
  void go_on() const;
  /// Shut down in an orderly way, or by SIGKILL, and started again.
  void restart(bool orderly);

 private:
  void start();
  std::string script(const std::string& verb) const;

  const std::string name_;
  const std::string options_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  std::string socket_{};
};

}  // namespace dlock::test
