// SPDX-License-Identifier: BSL-1.0
#include "process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

namespace dlock::command {

namespace {

/// Parent of a process; 0: it is gone, or a zombie.
pid_t parent_of(const char* pid) {
  char path[300];
  std::snprintf(path, sizeof path, "/proc/%s/stat", pid);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), std::fclose);
  if (file == nullptr) return 0;
  char text[512];
  const auto size = std::fread(text, 1, sizeof text - 1, file.get());
  text[size] = '\0';
  // "pid (name) state parent": the name may hold anything.
  const char* const end = std::strrchr(text, ')');
  char state = 'Z';
  int parent = 0;
  if (end == nullptr || std::sscanf(end + 1, " %c %d", &state, &parent) != 2) return 0;
  return state == 'Z' || state == 'X' ? 0 : parent;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (proc == nullptr) return {};
  while (const dirent* const entry = ::readdir(proc.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (const auto parent = parent_of(entry->d_name); parent > 0) children.emplace(parent, std::atoi(entry->d_name));
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i != found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

std::size_t signal_descendants(int signal, pid_t one) {
  auto all = descendants_of(::getpid());
  if (all.empty() && one > 0) all.push_back(one);
  for (const pid_t each : all) {
    ::kill(each, signal);
    ::kill(each, SIGCONT);  // one that stands still would not see it
  }
  return all.size();
}

void kill_descendants(pid_t keep, int& status) {
  using namespace std::chrono_literals;
  for (auto pause = 1ms;; pause = std::min(2 * pause, std::chrono::milliseconds{20})) {
    int how = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &how, WNOHANG)) > 0) {
      if (ended != keep) continue;
      status = how;
      keep = 0;  // its number may be another's from now on
    }
    if (ended < 0 && errno == ECHILD) return;
    // Without /proc there is no list; then its own death is all that can be had.
    if (keep > 0) ::kill(keep, SIGKILL);
    for (const pid_t each : descendants_of(::getpid())) ::kill(each, SIGKILL);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace dlock::command
