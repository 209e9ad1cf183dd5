// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/stopped_process.hpp"

namespace dlock::test {

/// A port for a server that a test starts, none that this process has been given before. It is below those that the
/// system gives to connections, one of which a client might have taken before the server does, and those of
/// scripts/lab_server.sh. Processes begin at different ones.
inline std::uint16_t free_port() {
  static std::atomic<unsigned> given{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto port = static_cast<std::uint16_t>(10'000 + (static_cast<unsigned>(::getpid()) * 61 + given++) % 11'000);
    const int at = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;  // as servers do: connections of a former one are no hindrance
    ::setsockopt(at, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = ::bind(at, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(at);
    if (bound) return port;
  }
  throw std::runtime_error("no free port");
}

/// A program that a test starts, and may stop and kill. It ends with this object, and with the test's process, however
/// that ends.
class server_process {
 public:
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;

  /// -1: it does not run.
  pid_t pid() const noexcept { return pid_; }
  /// SIGSTOP; returns when it stands still.
  void stop() const { stop_process(pid_); }
  void go_on() const { ::kill(pid_, SIGCONT); }
  /// SIGKILL, if it runs; returns when it has ended.
  void kill() { end_by(SIGKILL); }
  /// SIGTERM; returns when it has ended.
  void shut_down() { end_by(SIGTERM); }

 protected:
  server_process() = default;
  ~server_process() { kill(); }

  /// What it prints is added to the file `log`; where that is empty, it goes where the test's own output goes. `input`:
  /// a descriptor that is its standard input; negative: the test's own.
  void run(std::vector<std::string> command, const std::string& log = {}, int input = -1) {
    std::vector<char*> arguments;
    for (auto& each : command) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (input >= 0) ::dup2(input, 0);
    if (!log.empty()) {
      const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      ::dup2(to, 1);
      ::dup2(to, 2);
    }
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  /// False: it was not started, or has ended.
  bool runs() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ > 0;
  }

 private:
  void end_by(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  pid_t pid_ = -1;
};

}  // namespace dlock::test
