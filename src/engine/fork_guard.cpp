// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace dlock::engine {

namespace {
std::atomic<unsigned> generation{0};
void in_child() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }
const bool installed = ::pthread_atfork(nullptr, nullptr, in_child) == 0;
}  // namespace

unsigned fork_generation() noexcept {
  static_cast<void>(installed);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace dlock::engine
