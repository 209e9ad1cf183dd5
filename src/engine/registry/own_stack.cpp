// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/owner_state.hpp"

#include <link.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>

// Functions of the address sanitizer, in programs that are built with it: it may keep locals of a frame elsewhere.
extern "C" {
__attribute__((weak)) void* __asan_get_current_fake_stack();
__attribute__((weak)) void* __asan_addr_is_in_fake_stack(void* fake_stack, void* address, void** begin, void** end);
}

namespace dlock::engine {

namespace {

struct extent {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  bool has(std::uintptr_t address) const noexcept { return low <= address && address < high; }
};

#ifdef __linux__
/// The C library keeps the thread_local objects of a thread within the mapping of its stack, above all frames. Ends
/// `stack` at the first block of these.
void leave_out_thread_locals(extent& stack) noexcept {
  static_cast<void>(::dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t size, void* about) {
        if (size < offsetof(dl_phdr_info, dlpi_tls_data) + sizeof module->dlpi_tls_data) return 1;
        const auto block = reinterpret_cast<std::uintptr_t>(module->dlpi_tls_data);  // of this thread
        auto& mine = *static_cast<extent*>(about);
        if (mine.has(block)) mine.high = block;
        return 0;
      },
      &stack));
}
#endif

/// Both bounds are 0 if they are unknown.
extent ask() noexcept {
#ifdef __linux__
  pthread_attr_t about;
  if (::pthread_getattr_np(::pthread_self(), &about) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0;
  const bool known = ::pthread_attr_getstack(&about, &low, &size) == 0;
  ::pthread_attr_destroy(&about);
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  if (!known) return {};
  extent stack{begin, begin + size};
  leave_out_thread_locals(stack);
  return stack;
#else
  return {};
#endif
}

constinit thread_local extent stack{};
constinit thread_local bool asked = false;

const extent& own_stack(std::uintptr_t here) noexcept {
#ifdef __GLIBC__
  const bool grows = false;  // the main thread's bounds are those that its limit allows
#else
  const bool grows = true;
#endif
  if (!asked || (grows && !stack.has(here))) {
    stack = ask();
    asked = true;
  }
  return stack;
}

/// The address of the frame that has that local.
std::uintptr_t real(const void* address) noexcept {
  if (__asan_get_current_fake_stack != nullptr && __asan_addr_is_in_fake_stack != nullptr) {
    if (auto* const fakes = __asan_get_current_fake_stack(); fakes != nullptr) {
      void* begin = nullptr;
      void* end = nullptr;
      if (const auto* const at = __asan_addr_is_in_fake_stack(fakes, const_cast<void*>(address), &begin, &end)) {
        return reinterpret_cast<std::uintptr_t>(at);
      }
    }
  }
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

// Not inlined, so that its own frame is below its callers' locals.
[[gnu::noinline]] bool on_own_stack(const void* address) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto& mine = own_stack(here);
  if (!mine.has(here)) return false;
  const auto at = real(address);
  return here <= at && at < mine.high;
}

[[gnu::noinline]] const void* end_of_own_stack() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto& mine = own_stack(here);
  return mine.has(here) ? reinterpret_cast<const void*>(mine.high - 1) : nullptr;
}

}  // namespace dlock::engine
