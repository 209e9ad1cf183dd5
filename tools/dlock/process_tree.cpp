// SPDX-License-Identifier: BSL-1.0
#include "process_tree.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "dlock/lock_key.hpp"

namespace dlock::command {

namespace {

/// Returns nothing if it is gone.
std::optional<process> process_of(const char* pid) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re"), std::fclose);
  if (file == nullptr) return std::nullopt;
  char text[1024];
  const auto size = std::fread(text, 1, sizeof text - 1, file.get());
  text[size] = '\0';
  // "pid (name) state parent ...", where the name may contain anything. The 20th field is the number of threads.
  const char* const begin = std::strchr(text, '(');
  const char* const end = std::strrchr(text, ')');
  if (begin == nullptr || end == nullptr) return std::nullopt;
  char state = 'Z';
  int parent = 0;
  long threads = 0;
  constexpr const char* fields = " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld";
  if (std::sscanf(end + 1, fields, &state, &parent, &threads) != 3) return std::nullopt;
  const bool runs = state != 'X' && (state != 'Z' || threads > 1);
  return process{.pid = std::atoi(pid), .parent = parent, .name = std::string(begin + 1, end), .runs = runs};
}

std::map<pid_t, process> all_processes() {
  std::map<pid_t, process> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (proc == nullptr) return all;
  while (const dirent* const entry = ::readdir(proc.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (auto found = process_of(entry->d_name)) all.emplace(found->pid, std::move(*found));
  }
  return all;
}

/// Returns false if this process may not send signals to it.
bool send(pid_t to, int signal) noexcept { return ::kill(to, signal) == 0 || errno != EPERM; }

}  // namespace

std::vector<process> descendants_of(pid_t root) {
  // A process that ended while /proc was read may be missing between another one and the root. Then this reads it
  // again.
  for (int attempt = 0;; ++attempt) {
    const auto all = all_processes();
    std::multimap<pid_t, const process*> children;
    bool whole = true;
    for (const auto& [pid, each] : all) {
      children.emplace(each.parent, &each);
      whole = whole && (each.parent <= 1 || all.contains(each.parent));
    }
    if (!whole && attempt < 5) continue;
    std::vector<process> found{{.pid = root}};
    for (std::size_t i = 0; i != found.size(); ++i) {
      const auto [begin, end] = children.equal_range(found[i].pid);
      for (auto at = begin; at != end; ++at) found.push_back(*at->second);
    }
    found.erase(found.begin());
    std::erase_if(found, [](const process& each) { return !each.runs; });
    return found;
  }
}

std::string user_of(pid_t pid) {
  // The real user id decides who may send signals.
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);) {
    unsigned id = 0;
    if (std::sscanf(line.c_str(), "Uid: %u", &id) != 1) continue;
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> room{};
    if (::getpwuid_r(id, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) return found->pw_name;
    return fmt::format("user {}", id);
  }
  return "user unknown";
}

bool is_ancestor(pid_t pid) {
  for (auto above = ::getppid(); above > 0;) {
    if (above == pid) return true;
    const auto found = process_of(std::to_string(above).c_str());
    above = found ? found->parent : 0;
  }
  return false;
}

bool may_signal(const process& to) noexcept { return send(to.pid, 0); }

std::string names_of(const std::vector<process>& all) {
  if (all.empty()) return "a process that /proc does not show";
  std::string names;
  for (const auto& each : all) {
    names += fmt::format("{}{} {} ({})", names.empty() ? "" : ", ", each.pid, detail::printable_text(each.name),
                         user_of(each.pid));
  }
  return names;
}

bool signal_descendants(int signal, pid_t one) {
  auto all = descendants_of(::getpid());
  if (all.empty() && one > 0) all.push_back({.pid = one});
  bool reached = true;
  for (const auto& each : all) {
    if (!send(each.pid, signal)) reached = false;
    send(each.pid, SIGCONT);  // a stopped one would not get the signal
  }
  return reached;
}

bool kill_descendants(pid_t& keep, int& status) {
  using namespace std::chrono_literals;
  const auto limit = std::chrono::steady_clock::now() + 10s;
  // Returns false if there are no children.
  const auto reap = [&] {
    int how = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &how, WNOHANG)) > 0) {
      if (ended != keep) continue;
      status = how;
      keep = 0;  // its number may be reused from now on
    }
    return ended == 0 || errno != ECHILD;
  };
  for (auto pause = 1ms;; pause = std::min(2 * pause, std::chrono::milliseconds{20})) {
    if (!reap()) return true;
    // Without /proc there is no list, so only the command itself can be killed.
    auto all = descendants_of(::getpid());
    if (all.empty() && keep > 0) all.push_back({.pid = keep});
    const auto denied =
        std::count_if(all.begin(), all.end(), [](const process& each) { return !send(each.pid, SIGKILL); });
    const bool all_denied = !all.empty() && static_cast<std::size_t>(denied) == all.size();
    if (all_denied || std::chrono::steady_clock::now() >= limit) return !reap();
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace dlock::command
