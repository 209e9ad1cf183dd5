// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <memory>

#include "dlock/export.hpp"

namespace dlock::engine {

/// Counted up in each child of a fork, by a pthread_atfork handler.
DLOCK_EXPORT extern std::atomic<unsigned> forks;

/// How many forks lie between this process and the first one that asked: a child sees another number than its
/// parent. An atomic load.
inline unsigned fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

/// The one object of its type in this process, made when it is first asked for. A forked child has its own, because a
/// thread of its parent may have had the mutex of the parent's. Never destroyed: static objects may lock while the
/// program ends. Any thread.
template <class Object>
Object& one_per_process() {
  struct made {
    const unsigned generation = fork_generation();
    Object object{};
  };
  static constinit std::atomic<made*> present{nullptr};
  auto* found = present.load(std::memory_order_acquire);
  while (found == nullptr || found->generation != fork_generation()) {
    auto fresh = std::make_unique<made>();
    if (present.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) found = fresh.release();
  }
  return found->object;
}

/// Throws lock_refused: a service of another process can't be used in this one.
DLOCK_EXPORT [[noreturn]] void throw_forked();

}  // namespace dlock::engine
