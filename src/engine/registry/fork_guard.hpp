// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <memory>

#include "dlock/export.hpp"

namespace dlock::engine {

/// Incremented in each child of a fork by a pthread_atfork handler.
DLOCK_EXPORT extern std::atomic<unsigned> forks;

/// The number of forks between this process and the first one that asked: a child sees another number than its parent.
/// An atomic load.
inline unsigned fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

/// The only object of its type in this process, made when it is first used. A forked child has its own, because a
/// thread of its parent may have locked the parent's mutex. Never destroyed, because static objects may lock while the
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

/// Throws lock_refused, because a service of another process can't be used in this one.
DLOCK_EXPORT [[noreturn]] void throw_forked();

}  // namespace dlock::engine
