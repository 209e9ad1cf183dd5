// SPDX-License-Identifier: BSL-1.0
// What takes the place of the system's functions, in the programs that simulate.
#include "simulation/system.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulation/fibre.hpp"

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

// dlock asks which leases are on the stack of the calling thread (src/engine/books/own_stack.cpp).
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
