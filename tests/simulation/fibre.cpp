// SPDX-License-Identifier: BSL-1.0
#include "simulation/fibre.hpp"

#include <cxxabi.h>
#include <link.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/random.h>
#include <algorithm>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/preallocated.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "dlock/owner.hpp"
#include "engine/registry/owner_state.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

namespace {

namespace context = boost::context;

/// Stacks are used again and again.
class stack_pool {
 public:
  context::stack_context take() {
    if (free_.empty()) return made_by_.allocate();
    const auto one = free_.back();
    free_.pop_back();
    return one;
  }
  void give_back(const context::stack_context& one) { free_.push_back(one); }

 private:
#ifdef NDEBUG
  context::fixedsize_stack made_by_{std::size_t{96} << 10U};
#else
  context::fixedsize_stack made_by_{std::size_t{256} << 10U};
#endif
  std::vector<context::stack_context> free_{};
};

stack_pool& stacks() {
  static auto* const all = new stack_pool;
  return *all;
}

struct pooled_stack {
  static void deallocate(const context::stack_context& one) { stacks().give_back(one); }
};

/// The thread_local variables of the program, those of its static libraries among them: dlock's. A fibre has its own.
std::span<std::uint64_t> locals_here() {
  static const auto found = [] {
    std::span<std::uint64_t> made;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& part = info->dlpi_phdr[i];
            if (part.p_type != PT_TLS || info->dlpi_tls_data == nullptr) continue;
            *static_cast<std::span<std::uint64_t>*>(into) = {static_cast<std::uint64_t*>(info->dlpi_tls_data),
                                                             part.p_memsz / sizeof(std::uint64_t)};
          }
          return 1;  // the first one is the program
        },
        &made);
    return made;
  }();
  return found;
}

/// As a new thread has them. What has a destructor is made before, so that no fibre registers it once more.
const std::vector<std::uint64_t>& fresh_locals() {
  static const auto image = [] {
    { const owner_scope once; }
    const auto here = locals_here();
    return std::vector<std::uint64_t>(here.begin(), here.end());
  }();
  return image;
}

/// What the end of a thread would free: the owner that stands for it is on the heap, and its thread_local variables,
/// which point to that, are never looked at again.
void forget_owner() { delete const_cast<std::shared_ptr<engine::owner_state>*>(&engine::current_owner()); }

fibre* running = nullptr;

}  // namespace

fibre::fibre(std::function<void()> body) : body_(std::move(body)), locals_(fresh_locals()) {
  const auto stack = stacks().take();
  stack_ = {static_cast<char*>(stack.sp) - stack.size, stack.size};
  const context::preallocated place(stack.sp, stack.size, stack);
  mine_ = context::fiber(std::allocator_arg, place, pooled_stack{}, [this](context::fiber&& from) {
    back_ = std::move(from);
    body_();
    body_ = nullptr;
    forget_owner();
    over_ = true;
    return std::move(back_);
  });
}

fibre::~fibre() {
  // To end it would unwind its stack, which runs what the simulated process must not do any more.
  if (!over_ && mine_) static_cast<void>(new context::fiber(std::move(mine_)));
}

void fibre::swap_thread_state() {
  const auto here = locals_here();
  std::swap_ranges(locals_.begin(), locals_.end(), here.begin());
  auto& runtime = *reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
  std::swap(runtime, exceptions_);
}

void fibre::resume() {
  swap_thread_state();
  running = this;
  mine_ = std::move(mine_).resume();
  running = nullptr;
  swap_thread_state();
}

void fibre::give_way() { running->back_ = std::move(running->back_).resume(); }

fibre* fibre::current() noexcept { return running; }

}  // namespace dlock::simulation

// What takes the place of the system's functions, in the programs that simulate.

namespace dlock::simulation {

namespace {

random_source* bytes_from = nullptr;

template <class Function>
Function system_function(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void bytes_come_from(random_source* source) noexcept { bytes_from = source; }

}  // namespace dlock::simulation

using dlock::simulation::bytes_from;
using dlock::simulation::system_function;

extern "C" ssize_t getrandom(void* into, size_t size, unsigned flags) {
  if (bytes_from == nullptr) {
    static const auto system = system_function<ssize_t (*)(void*, size_t, unsigned)>("getrandom");
    return system(into, size, flags);
  }
  auto* to = static_cast<unsigned char*>(into);
  for (size_t done = 0; done < size; done += 8) {
    const auto bits = bytes_from->bits();
    std::memcpy(to + done, &bits, std::min<size_t>(8, size - done));
  }
  return static_cast<ssize_t>(size);
}

// dlock asks which leases are on the stack of the calling thread (src/engine/registry/own_stack.cpp).
extern "C" int pthread_getattr_np(pthread_t thread, pthread_attr_t* about) {
  static const auto system = system_function<int (*)(pthread_t, pthread_attr_t*)>("pthread_getattr_np");
  const auto said = system(thread, about);
  const auto* const fibre = dlock::simulation::fibre::current();
  if (said != 0 || fibre == nullptr) return said;
  return ::pthread_attr_setstack(about, fibre->stack().first, fibre->stack().second);
}

// A run locks a mutex more than a hundred times for each acquire. It has one thread of the system, so it needs no
// atomic instructions for that. Sanitizers have functions of their own here.
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (bytes_from == nullptr || mutex->__data.__kind != PTHREAD_MUTEX_TIMED_NP) {
    static const auto system = system_function<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
    return system(mutex);
  }
  if (mutex->__data.__lock != 0) {
    std::fputs("simulation: a thread has given way, and has a mutex that another one wants\n", stderr);
    std::abort();
  }
  mutex->__data.__lock = 1;
  return 0;
}

extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (bytes_from == nullptr || mutex->__data.__kind != PTHREAD_MUTEX_TIMED_NP) {
    static const auto system = system_function<int (*)(pthread_mutex_t*)>("pthread_mutex_unlock");
    return system(mutex);
  }
  mutex->__data.__lock = 0;
  return 0;
}

#endif
