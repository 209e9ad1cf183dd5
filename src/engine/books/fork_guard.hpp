// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

#include "dlock/export.hpp"

namespace dlock::engine {

/// Counted up in each child of a fork, by a pthread_atfork handler.
DLOCK_EXPORT extern std::atomic<unsigned> forks;

/// How many forks lie between this process and the first one that asked: a child sees another number than its
/// parent. An atomic load.
inline unsigned fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

/// Throws lock_refused: a service of another process can't be used in this one.
DLOCK_EXPORT [[noreturn]] void throw_forked();

}  // namespace dlock::engine
