// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/caller.hpp"

#include <atomic>

namespace dlock::stores::sqlite {

namespace {
constinit std::atomic<caller_connection> watched{nullptr};
}

void watch_callers(caller_connection by) noexcept { watched.store(by, std::memory_order_release); }

sqlite3* connection_of_caller() noexcept {
  const auto by = watched.load(std::memory_order_acquire);
  return by == nullptr ? nullptr : by();
}

}  // namespace dlock::stores::sqlite
