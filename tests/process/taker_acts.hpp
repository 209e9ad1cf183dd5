// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a lock_taker does besides taking one lock.

#include <functional>
#include <string>

#include "dlock/lock_service.hpp"

namespace dlock::test {

/// A thread takes the key again and again, as the quickstart does it.
void start_loop(lock_service& locks, const std::string& key);
/// "<grants> <timeouts>" so far.
std::string looped();

/// Calls std::exit(0) in the middle of something that holds the key: nothing that stands on the stack is destroyed. By
/// a lease, by leases on several keys, by a mutex, in the name of a task, or in a nested call. Says so before by
/// `inside`.
void exit_inside(lock_service& locks, const std::string& key, const lock_options& as, const std::string& holder,
                 const std::function<void()>& inside);

}  // namespace dlock::test
