// SPDX-License-Identifier: GPL-2.0-or-later
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

}  // namespace dlock::test
