// SPDX-License-Identifier: BSL-1.0
#include "process/taker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "dlock/store_interface/clock.hpp"
#include "support/calls.hpp"

namespace dlock::test {

namespace {

struct pipe_ends {
  int read = -1;
  int write = -1;
};

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category(), "pipe2");
  return {ends[0], ends[1]};
}

std::vector<std::string> split(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool begins_with(const std::string& line, const std::string& word) {
  return line.compare(0, word.size(), word) == 0 && (line.size() == word.size() || line[word.size()] == ' ');
}

}  // namespace

taker::taker(const std::string& url, std::vector<std::string> more) {
  // A write to one that was killed is an error to be seen, not the end of the tests.
  static const auto ignored = std::signal(SIGPIPE, SIG_IGN);
  static_cast<void>(ignored);
  std::vector<std::string> arguments{DLOCK_TEST_LOCK_TAKER, "--url", url};
  std::move(more.begin(), more.end(), std::back_inserter(arguments));
  std::vector<char*> argv;
  for (auto& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);

  const auto input = make_pipe();
  const auto output = make_pipe();
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input.read, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output.write, STDOUT_FILENO);
  const int failed = ::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(input.read);
  ::close(output.write);
  to_ = input.write;
  from_ = output.read;
  if (failed != 0) {
    pid_ = -1;
    close_pipes();
    throw std::system_error(failed, std::system_category(), DLOCK_TEST_LOCK_TAKER);
  }
  try {
    expect("ready");
  } catch (...) {
    kill();
    close_pipes();
    throw;
  }
}

taker::~taker() {
  if (pid_ > 0) kill();
  close_pipes();
}

taker::taker(taker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      rest_(std::move(other.rest_)),
      lines_(std::move(other.lines_)),
      history_(std::move(other.history_)) {}

taker& taker::operator=(taker&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(to_, other.to_);
  std::swap(from_, other.from_);
  rest_.swap(other.rest_);
  lines_.swap(other.lines_);
  history_.swap(other.history_);
  return *this;
}

void taker::close_pipes() noexcept {
  if (to_ >= 0) ::close(std::exchange(to_, -1));
  if (from_ >= 0) ::close(std::exchange(from_, -1));
}

void taker::fail(const std::string& why) const {
  throw std::runtime_error(fmt::format("lock_taker {}; it said: {}", why, fmt::join(history_, " | ")));
}

void taker::say(const std::string& command) const {
  const auto line = command + "\n";
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fail("is gone and cannot be told to " + command);
  }
}

bool taker::read_more(std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
  pollfd input{.fd = from_, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, static_cast<int>(std::max(left, milliseconds{0}).count())) <= 0) return false;
  char buffer[4096];
  const auto size = ::read(from_, buffer, sizeof buffer);
  if (size <= 0) return false;
  rest_.append(buffer, static_cast<std::size_t>(size));
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
    lines_.push_back(rest_.substr(0, end));
    history_.push_back(lines_.back());
    rest_.erase(0, end + 1);
  }
  return true;
}

std::vector<std::string> taker::expect_one_of(const std::vector<std::string>& first, milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  do {
    const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const auto& line) {
      return std::any_of(first.begin(), first.end(), [&](const auto& word) { return begins_with(line, word); });
    });
    if (found != lines_.end()) {
      const auto words = split(*found);
      lines_.erase(found);
      return words;
    }
  } while (read_more(until));
  fail(fmt::format("did not say '{}'", fmt::join(first, "' or '")));
}

bool taker::said(const std::string& first) {
  while (read_more(std::chrono::steady_clock::now())) continue;
  return std::any_of(lines_.begin(), lines_.end(), [&](const auto& line) { return begins_with(line, first); });
}

taker::grant taker::expect_held() {
  const auto words = expect_one_of({"held", "busy", "error"});
  if (words.front() != "held") fail("did not get the key");
  return {std::stoull(words.at(1)), words.at(2), std::stoll(words.at(3))};
}

taker::grant taker::take(milliseconds wait) {
  say(fmt::format("take {}", wait.count()));
  return expect_held();
}

void taker::stop() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_) fail("cannot be waited for");
  if (!WIFSTOPPED(status)) {
    pid_ = -1;
    fail("ended instead of stopping");
  }
}

void taker::go_on() { ::kill(pid_, SIGCONT); }

void taker::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

int taker::end(milliseconds limit) {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, limit)) {
    kill();
    fail(fmt::format("did not end within {} ms", limit.count()));
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::int64_t boot_time() { return boot_clock::now().time_since_epoch().count(); }

}  // namespace dlock::test
