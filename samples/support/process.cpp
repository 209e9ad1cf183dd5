// SPDX-License-Identifier: BSL-1.0
#include "process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "command_line.hpp"

extern char** environ;

namespace support {
namespace {

[[noreturn]] void fail(int code, const char* doing) { throw std::system_error(code, std::generic_category(), doing); }

/// This program again. Returns 0, or why it can't be started.
int spawn(pid_t& pid, std::vector<std::string>& arguments, const posix_spawn_file_actions_t* files) {
  for (const auto& each : arguments) {
    const auto begin = each.find("://");
    if (begin != std::string::npos && each.find('@', begin) != std::string::npos) {
      throw std::invalid_argument("a URL with a user on a command line, where everybody can read its password");
    }
  }
  std::string name = "worker";
  std::vector<char*> pointers{name.data()};
  for (auto& each : arguments) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return ::posix_spawn(&pid, "/proc/self/exe", files, nullptr, pointers.data(), environ);
}

int wait_for(pid_t pid, int options) {
  int status = 0;
  while (::waitpid(pid, &status, options) < 0) {
    if (errno != EINTR) fail(errno, "waiting for a process");
  }
  return status;
}

void send(pid_t pid, int signal) {
  if (pid != 0 && ::kill(pid, signal) != 0) fail(errno, "sending a signal");
}

}  // namespace

process::process(std::vector<std::string> arguments) {
  const int code = spawn(pid_, arguments, nullptr);
  if (code != 0) fail(code, "starting a process");
}

process::process(std::vector<std::string> arguments, const std::string& log) : log_(log) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail(errno, "making a socket");
  socket_ = ends[0];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  const int code = spawn(pid_, arguments, &files);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (code == 0) return;
  ::close(socket_);
  fail(code, "starting a process");
}

process::process(process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), socket_(std::exchange(other.socket_, -1)), log_(std::move(other.log_)) {}

process::~process() {
  if (socket_ >= 0) ::close(socket_);
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string process::last_words() const {
  std::ifstream in(log_);
  std::string last = "nothing in its log";
  for (std::string line; std::getline(in, line);) last = line;
  return last;
}

void process::stop() {
  send(pid_, SIGSTOP);
  wait_until_stopped();
}

void process::wait_until_stopped() {
  const int status = wait_for(pid_, WUNTRACED);
  if (WIFSTOPPED(status)) return;
  pid_ = 0;
  throw std::runtime_error("a process ended that was expected to stop");
}

bool process::has_stopped() {
  siginfo_t news{};  // about a stop alone: an end is left to wait()
  return ::waitid(P_PID, static_cast<id_t>(pid_), &news, WSTOPPED | WNOHANG) == 0 && news.si_pid == pid_;
}

void process::go_on() { send(pid_, SIGCONT); }

void process::kill() {
  send(pid_, SIGKILL);
  wait();
}

int process::wait() {
  if (pid_ == 0) return 0;
  const int status = wait_for(std::exchange(pid_, 0), 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void pass_on(const char* name, const std::string& value) {
  if (::setenv(name, value.c_str(), 1) != 0) fail(errno, "setting a variable of the environment");
}

void follow_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void begin_process(const std::string& url, bool worker) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  pass_on(url_variable, url);
  if (worker) follow_parent();
}

int run_process(command_line& options, int argc, char** argv, const std::string& url, const int& number,
                const std::function<bool()>& parent, const std::function<void()>& worker) {
  return options.run(argc, argv, [&] {
    begin_process(url, number != 0);
    if (number == 0) return parent() ? 0 : 1;
    worker();
    return 0;
  });
}

void stop_here() { ::kill(::getpid(), SIGSTOP); }

}  // namespace support
