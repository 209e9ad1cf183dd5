// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/fork.hpp"

#include <unistd.h>

namespace dlock::stores::sqlite {

namespace {

struct opened_file {
  file_id file{};
  ::pid_t pid = 0;
  std::atomic<unsigned> connections{0};
  opened_file* next = nullptr;
};

// Only ever grows, by one for each file and process. Without a mutex, which another thread might hold at a fork.
std::atomic<opened_file*> newest{nullptr};

opened_file& entry_of(const file_id& file) {
  const auto self = ::getpid();
  for (auto* each = newest.load(); each != nullptr; each = each->next) {
    if (each->pid == self && each->file == file) return *each;
  }
  auto* const entry = new opened_file{.file = file, .pid = self};
  entry->next = newest.load();
  while (!newest.compare_exchange_weak(entry->next, entry)) continue;
  return *entry;
}

}  // namespace

sqlite_open_mark::sqlite_open_mark(const file_id& file) : connections_(entry_of(file).connections) {
  connections_.fetch_add(1);
}

bool carried_over_fork(const file_id& file) noexcept {
  const auto self = ::getpid();
  for (const auto* each = newest.load(); each != nullptr; each = each->next) {
    if (each->pid != self && each->file == file && each->connections.load() > 0) return true;
  }
  return false;
}

}  // namespace dlock::stores::sqlite
