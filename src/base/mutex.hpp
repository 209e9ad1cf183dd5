// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A mutex that clang's -Wthread-safety checks; libstdc++'s own has no annotations. Each call here is the same call of
/// std::mutex or std::unique_lock, and other compilers see no more than that.

#include <mutex>

#if defined(__clang__)
#define DLOCK_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define DLOCK_THREAD_ANNOTATION(x)
#endif

// For types.
#define DLOCK_CAPABILITY DLOCK_THREAD_ANNOTATION(capability("mutex"))
#define DLOCK_SCOPED_CAPABILITY DLOCK_THREAD_ANNOTATION(scoped_lockable)
/// For a member that is read and written only while that mutex is locked.
#define DLOCK_GUARDED_BY(mutex) DLOCK_THREAD_ANNOTATION(guarded_by(mutex))
// For functions, behind noexcept and before override. In this order: the mutex is locked before the call and after it;
// is not locked at the call; is locked by it; is unlocked by it; is locked by it if it returns `result`; is known to be
// locked from there on.
#define DLOCK_REQUIRES(...) DLOCK_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define DLOCK_EXCLUDES(...) DLOCK_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define DLOCK_ACQUIRE(...) DLOCK_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define DLOCK_RELEASE(...) DLOCK_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define DLOCK_TRY_ACQUIRE(result) DLOCK_THREAD_ANNOTATION(try_acquire_capability(result))
#define DLOCK_ASSERT_HELD DLOCK_THREAD_ANNOTATION(assert_capability(this))
/// Each use needs a comment that gives the reason.
#define DLOCK_NO_THREAD_SAFETY_ANALYSIS DLOCK_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace dlock::base {

class DLOCK_CAPABILITY mutex {
 public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() DLOCK_ACQUIRE() { native_.lock(); }
  void unlock() noexcept DLOCK_RELEASE() { native_.unlock(); }
  bool try_lock() noexcept DLOCK_TRY_ACQUIRE(true) { return native_.try_lock(); }
  /// Does nothing. It is for lambdas, because clang does not know what is locked where they are called.
  void assert_held() const noexcept DLOCK_ASSERT_HELD {}
  std::mutex& native() noexcept { return native_; }

 private:
  std::mutex native_{};
};

class DLOCK_SCOPED_CAPABILITY lock_guard {
 public:
  explicit lock_guard(mutex& mutex) DLOCK_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// The mutex is locked already.
  lock_guard(mutex& mutex, std::adopt_lock_t) noexcept DLOCK_REQUIRES(mutex) : mutex_(mutex) {}
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;
  ~lock_guard() DLOCK_RELEASE() { mutex_.unlock(); }

 private:
  mutex& mutex_;
};

/// May be unlocked and locked again in between.
class DLOCK_SCOPED_CAPABILITY unique_lock {
 public:
  explicit unique_lock(mutex& mutex) DLOCK_ACQUIRE(mutex) : lock_(mutex.native()) {}
  unique_lock(const unique_lock&) = delete;
  unique_lock& operator=(const unique_lock&) = delete;
  ~unique_lock() DLOCK_RELEASE() {}

  void lock() DLOCK_ACQUIRE() { lock_.lock(); }
  void unlock() DLOCK_RELEASE() { lock_.unlock(); }
  /// For std::condition_variable.
  std::unique_lock<std::mutex>& native() noexcept { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Unlocks a held mutex, and locks it again in its destructor.
class DLOCK_SCOPED_CAPABILITY unlocked {
 public:
  explicit unlocked(mutex& mutex) DLOCK_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  unlocked(const unlocked&) = delete;
  unlocked& operator=(const unlocked&) = delete;
  ~unlocked() DLOCK_RELEASE() { mutex_.lock(); }

 private:
  mutex& mutex_;
};

}  // namespace dlock::base
