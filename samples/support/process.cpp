// SPDX-License-Identifier: GPL-2.0-or-later
#include "process.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

extern char** environ;

namespace support {
namespace {

[[noreturn]] void fail(int code, const char* doing) { throw std::system_error(code, std::generic_category(), doing); }

int wait_for(pid_t pid, int how) {
  int status = 0;
  while (::waitpid(pid, &status, how) < 0) {
    if (errno != EINTR) fail(errno, "waiting for a process");
  }
  return status;
}

void send(pid_t pid, int signal) {
  if (pid != 0 && ::kill(pid, signal) != 0) fail(errno, "sending a signal");
}

}  // namespace

process::process(std::vector<std::string> arguments) {
  std::string name = "worker";
  std::vector<char*> pointers{name.data()};
  for (auto& each : arguments) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  const int code = ::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ);
  if (code != 0) fail(code, "starting a process");
}

process::process(process&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}

process::~process() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void process::wait_until_stopped() {
  const int status = wait_for(pid_, WUNTRACED);
  if (WIFSTOPPED(status)) return;
  pid_ = 0;
  throw std::runtime_error("a process ended that was expected to stop");
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

void print_by_lines() { std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); }

void follow_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void stop_here() { ::kill(::getpid(), SIGSTOP); }

}  // namespace support
