// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace dlock {
class lease;
class lock_service;
}  // namespace dlock

namespace dlock::test {

struct torture_settings {
  std::string log{};  ///< a hold_log
  std::vector<std::string> keys{};
  std::uint64_t seed = 1;
  std::chrono::milliseconds ttl{1000};
};

/// 0: its store has none.
std::uint64_t fence_of(const lease& mine);

/// Takes and releases the keys at random, holds one now and then for longer than a ttl of a second, and logs what it
/// holds, until somebody says something on standard input or closes it.
void run_torture(lock_service& locks, const torture_settings& settings);

}  // namespace dlock::test
