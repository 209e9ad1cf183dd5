// SPDX-License-Identifier: BSL-1.0
#include "support/scarce_memory.hpp"

#include <cstdlib>
#include <new>
#include <utility>

namespace {

constexpr std::size_t plenty = static_cast<std::size_t>(-1);
thread_local std::size_t left = plenty;
thread_local bool failed = false;

}  // namespace

void* operator new(std::size_t size) {
  if (left != plenty) {
    if (left == 0) {
      left = plenty;  // once: whoever cleans up may need some
      failed = true;
      throw std::bad_alloc();
    }
    --left;
  }
  if (void* const block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace dlock::test {

scarce_memory::scarce_memory(std::size_t number) noexcept {
  failed = false;
  left = number;
}
scarce_memory::~scarce_memory() { left = plenty; }
bool scarce_memory::ran_out() const noexcept { return failed; }

ample_memory::ample_memory() noexcept : before_(std::exchange(left, plenty)) {}
ample_memory::~ample_memory() { left = before_; }

}  // namespace dlock::test
