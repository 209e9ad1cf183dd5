// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

namespace dlock::test {

/// While one lives, the calling thread's allocation with that number (0: the next one) throws std::bad_alloc. Needs
/// support/scarce_memory.cpp in the program.
class scarce_memory {
 public:
  explicit scarce_memory(std::size_t number) noexcept;
  ~scarce_memory();
  scarce_memory(const scarce_memory&) = delete;
  scarce_memory& operator=(const scarce_memory&) = delete;

  /// Whether there were so many.
  bool ran_out() const noexcept;
};

/// While one lives, the allocations of the calling thread don't count: they are those of what is not under test.
class ample_memory {
 public:
  ample_memory() noexcept;
  ~ample_memory();
  ample_memory(const ample_memory&) = delete;
  ample_memory& operator=(const ample_memory&) = delete;

 private:
  std::size_t before_;
};

}  // namespace dlock::test
