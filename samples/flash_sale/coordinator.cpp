// SPDX-License-Identifier: GPL-2.0-or-later
#include "coordinator.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <system_error>

extern char** environ;

namespace flash_sale {
namespace {

/// Orders that a worker has at one time: it need not wait for the next one, and has some to leave when it dies.
constexpr std::size_t orders_at_once = 8;
/// No worker says anything for so long: something hangs.
constexpr std::chrono::seconds longest_silence{60};

[[noreturn]] void fail(int code, const char* doing) { throw std::system_error(code, std::generic_category(), doing); }

/// Starts this program again as `flash_sale worker`: its end of the socket as standard input, the rest to `log`.
pid_t spawn_worker(int socket, const std::string& log) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  std::string name = "flash_sale";
  std::string verb = "worker";
  char* const arguments[] = {name.data(), verb.data(), nullptr};
  pid_t pid = 0;
  const int code = posix_spawn(&pid, "/proc/self/exe", &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (code != 0) fail(code, "starting a worker process");
  return pid;
}

std::string last_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);) last = line;
  return last.empty() ? "nothing in its log" : last;
}

std::filesystem::path log_of(const sale_options& options, std::size_t number) {
  return options.folder / fmt::format("worker-{}.log", number);
}

}  // namespace

coordinator::coordinator(sale_options options, const std::vector<order>& orders)
    : options_(std::move(options)), orders_(orders), waiting_(orders.size()), progress_(options_.title, orders.size()) {
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  result_.waits_us.reserve(orders.size());
}

coordinator::~coordinator() {
  for (auto& w : workers_) {
    if (!w->alive) continue;
    ::kill(w->pid, SIGKILL);
    ::waitpid(w->pid, nullptr, 0);
  }
}

sale_result coordinator::run() {
  const auto begin = clock::now();
  last_message_ = begin;
  for (std::size_t i = 1; i <= options_.workers; ++i) start(i);
  while (done_ < orders_.size() && living() > 0 && clock::now() - last_message_ < longest_silence) {
    hand_out();
    wait_for_messages();
    progress_.update(done_, living());
  }
  result_.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begin);
  progress_.finish(done_, living());
  if (done_ < orders_.size()) {
    result_.problems.push_back(fmt::format("orders not answered: {} ({})", orders_.size() - done_,
                                           living() == 0 ? "no worker is left" : "the workers hang"));
  }
  end();
  return std::move(result_);
}

void coordinator::start(std::size_t number) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(errno, "socketpair");
  channel ours(ends[0]);
  const channel theirs(ends[1]);
  const pid_t pid = spawn_worker(theirs.descriptor(), log_of(options_, number).string());
  workers_.push_back(std::make_unique<worker_process>(worker_process{number, pid, std::move(ours)}));
  workers_.back()->link.send({"setup", std::to_string(number), options_.shop_url, options_.locks_url,
                              std::to_string(options_.think.count()), std::to_string(options_.ttl.count()),
                              std::to_string(options_.wait.count())});
}

/// One each in turn, so that orders that stand close together in the file are served at the same time.
void coordinator::hand_out() {
  for (std::size_t round = 0; round < orders_at_once; ++round) {
    for (auto& w : workers_) {
      if (waiting_.empty()) return;
      if (!w->alive || w->given.size() > round) continue;
      const auto index = waiting_.front();
      const auto& o = orders_[index];
      if (!w->link.send({"order", std::to_string(index), std::to_string(o.line), o.id, o.customer, o.sku,
                         std::to_string(o.quantity)})) {
        continue;  // it died; poll() will tell
      }
      w->given.push_back(index);
      waiting_.pop_front();
    }
  }
}

void coordinator::wait_for_messages() {
  std::vector<pollfd> sockets;
  for (const auto& w : workers_) sockets.push_back({w->alive ? w->link.descriptor() : -1, POLLIN, 0});
  if (::poll(sockets.data(), sockets.size(), 100) < 0 && errno != EINTR) fail(errno, "poll");
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if (sockets[i].revents != 0) take(*workers_[i]);
  }
}

void coordinator::take(worker_process& from) {
  const bool open = from.link.read(false);
  while (const auto m = from.link.next()) handle(from, *m);
  if (!open) {
    bury(from, false);
  } else if (options_.kill_one && result_.killed == 0 && living() > 1 && done_ >= orders_.size() * 2 / 5) {
    kill_if_inside(from);
  }
}

void coordinator::handle(worker_process& from, const message& m) {
  last_message_ = clock::now();
  const auto& what = m.at(0);
  if (what == "entered") {
    entered(from, m);
  } else if (what == "answered") {
    const auto& answer = m.at(2);
    auto& count = answer == to_string(outcome::sold)       ? result_.sold
                  : answer == to_string(outcome::sold_out) ? result_.sold_out
                                                           : result_.duplicates;
    ++count;
    finish(from, std::stoul(m.at(1)));
  } else if (what == "left") {
    from.inside.reset();
  } else if (what == "failed") {
    const auto index = std::stoul(m.at(1));
    result_.problems.push_back(
        fmt::format("order {} (line {}) failed: {}", orders_[index].id, orders_[index].line, m.at(2)));
    finish(from, index);
  } else if (what == "bye") {
    result_.leases_lost += std::stoul(m.at(1));
    result_.stale_writes += std::stoul(m.at(2));
    result_.tried_again += std::stoul(m.at(3));
    from.said_bye = true;
  }
}

void coordinator::entered(worker_process& from, const message& m) {
  const auto index = std::stoul(m.at(1));
  from.inside = index;
  if (options_.locks_url.empty()) return;
  result_.waits_us.push_back(static_cast<std::uint32_t>(std::stoul(m.at(2))));
  if (m.at(3) != "1") return;
  ++result_.take_overs;
  if (result_.killed > 0 && !result_.take_over_delay) {
    result_.take_over_delay = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - killed_at_);
    progress_.note(fmt::format("worker {} took over the lock stock:{} {} ms after the kill", from.number,
                               orders_[index].sku, grouped(result_.take_over_delay->count())));
  }
}

void coordinator::finish(worker_process& from, std::size_t index) {
  from.inside.reset();
  from.given.erase(std::remove(from.given.begin(), from.given.end(), index), from.given.end());
  ++done_;
}

/// A message that a worker is inside may be old when we read it. So: stop it, read all that it has said, and
/// only if it is inside still, as a stopped process stays, kill it. Otherwise it goes on, and the next chance is taken.
void coordinator::kill_if_inside(worker_process& victim) {
  if (!victim.inside) return;
  ::kill(victim.pid, SIGSTOP);
  siginfo_t now{};
  while (::waitid(P_PID, static_cast<id_t>(victim.pid), &now, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  victim.link.read(false);
  while (const auto m = victim.link.next()) handle(victim, *m);
  if (now.si_code != CLD_STOPPED) return;  // it died by itself; its socket will tell
  if (!victim.inside) {
    ::kill(victim.pid, SIGCONT);
    return;
  }
  ::kill(victim.pid, SIGKILL);
  killed_at_ = clock::now();
  ++result_.killed;
  const auto& o = orders_[*victim.inside];
  progress_.note(fmt::format(
      "worker {} (pid {}) was killed with -9 {} order {}; orders for the others to do: {}", victim.number, victim.pid,
      options_.locks_url.empty() ? "while it served" : fmt::format("holding the lock stock:{}, serving", o.sku), o.id,
      victim.given.size()));
  bury(victim, true);
}

void coordinator::bury(worker_process& dead, bool on_purpose) {
  int status = 0;
  while (::waitpid(dead.pid, &status, 0) < 0 && errno == EINTR) {
  }
  dead.alive = false;
  dead.inside.reset();
  if (on_purpose) result_.done_again += dead.given.size();
  waiting_.insert(waiting_.begin(), dead.given.begin(), dead.given.end());
  dead.given.clear();
  if (on_purpose || (dead.said_bye && WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  result_.problems.push_back(fmt::format("worker {} (pid {}) {}: {}", dead.number, dead.pid,
                                         WIFSIGNALED(status)
                                             ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                             : fmt::format("ended with exit code {}", WEXITSTATUS(status)),
                                         last_line(log_of(options_, dead.number))));
}

/// Lets the workers say good-bye. One that doesn't within ten seconds is killed and counted as a problem.
void coordinator::end() {
  for (auto& w : workers_) {
    if (w->alive) w->link.send({"end"});
  }
  options_.kill_one = false;
  for (const auto until = clock::now() + std::chrono::seconds{10}; living() > 0 && clock::now() < until;) {
    wait_for_messages();
  }
  for (auto& w : workers_) {
    if (!w->alive) continue;
    ::kill(w->pid, SIGKILL);
    bury(*w, false);
  }
}

std::size_t coordinator::living() const {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const auto& w) { return w->alive; }));
}

}  // namespace flash_sale
