// SPDX-License-Identifier: BSL-1.0
#include "engine/books/fork_guard.hpp"

#include <pthread.h>

#include "dlock/error.hpp"

namespace dlock::engine {

constinit std::atomic<unsigned> forks{0};

namespace {
void in_child() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }
[[maybe_unused]] const bool installed = ::pthread_atfork(nullptr, nullptr, in_child) == 0;
}  // namespace

void throw_forked() {
  throw lock_refused(errc::forked,
                     "dlock: this lock_service was made before a fork, in the parent process; make a new one here");
}

}  // namespace dlock::engine
