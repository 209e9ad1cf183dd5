// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "engine/registry/grant.hpp"

namespace dlock::engine {

/// The keys that this process keeps between two leases (lock_options::linger). A key is entered when its first lease
/// ends, and stays until its row is to be freed, also while a later lease holds it. Until then all its leases have one
/// session, one nonce and one row, and none costs a statement to begin or to end. Thread safety: all functions from any
/// thread.
class lingering_keys {
 public:
  /// More keys do not linger, because each search for waiters names all of them.
  static constexpr std::size_t most = 1'000;
  /// A key that is used again and again is freed after this time, so that waiters get it that are not registered.
  static constexpr microseconds longest_tenure = std::chrono::seconds{1};
  /// A process that keeps no more keys, and is rung, frees them all instead of looking for the one that is wanted.
  static constexpr std::size_t few = 4;
  /// When another process is looked for that waits for one of them: so long after a key was entered, because it may
  /// have waited before; and so often where the store does not notify this process of waiters.
  static constexpr microseconds between_looks = std::chrono::milliseconds{10};

  /// `watches` starts the task that calls give_up(); it may throw.
  explicit lingering_keys(std::function<void()> watches) : watches_(std::move(watches)) {}

  /// Keeps the grant of a lease that has ended. Returns false if its key must be freed: it does not linger, its tenure
  /// is over, another process waits for it or may do so, its session is over, or close() was called.
  bool keep(const std::shared_ptr<grant>& ended, instant now) noexcept;
  /// Takes a key's grant for the next lease. Null if the key does not linger now.
  std::shared_ptr<grant> take(const lock_key& key) noexcept;
  /// How many tokens the key's row is to reserve next.
  std::uint64_t next_range(const lock_key& key) noexcept;
  /// Forgets a grant that is not trusted any more. Returns whether its key lingered.
  bool remove(const grant& lost) noexcept;
  /// The row of that grant, which has a lease, is to be freed.
  void forget(const grant& ended) noexcept;
  /// From now on keep() returns false. Returns the grants of keys that linger.
  std::vector<std::shared_ptr<grant>> close();

  /// Whether any key has been entered so far.
  bool used() const noexcept { return used_.load(); }
  bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }
  /// The number of keys that linger now.
  std::size_t idle() const noexcept;

  // Of the task that looks for waiters.
  /// Sets what ends its pause, or null.
  void wake_by(waker* wakes) noexcept;
  /// Has it look at once. `rung`: by another process that begins to wait, for some key.
  void look_now(bool rung) noexcept;
  /// When there is something to do next; instant::max(): nothing.
  instant next() const noexcept;
  /// Whether it looks now, and if it was rung: no look is needed then if there are few keys. After that it looks no
  /// more until something asks for it.
  enum class reason : std::uint8_t { none, looks, rung };
  reason begin_look(instant now) noexcept;
  /// Has it look again.
  void look_later(instant when) noexcept;
  struct kept_key {
    lock_key key;
    id128 session{};
  };
  /// All keys, in order. Throws std::bad_alloc.
  std::vector<kept_key> all() const;
  /// Takes out the keys that linger and are `wanted` or have lingered long enough. Those that have a lease are freed
  /// when it ends. Throws std::bad_alloc; then some may be left.
  std::vector<std::shared_ptr<grant>> give_up(const std::function<bool(const lock_key&)>& wanted, instant now);

 private:
  struct tenure {
    std::shared_ptr<grant> idle{};  // null while a lease holds the key
    std::uint64_t nonce = 0;        // of all its grants
    id128 session{};                // likewise
    std::uint64_t range = 0;        // of tokens, reserved last
    instant begun{};
    instant ends{};  // while it is idle
    bool wanted = false;
  };
  struct hash_of {
    std::size_t operator()(const lock_key& key) const noexcept { return key.hash(); }
  };
  using key_map = std::unordered_map<lock_key, tenure, hash_of>;

  bool enter(const std::shared_ptr<grant>& ended, instant now);
  void erase(key_map::iterator at) noexcept DLOCK_REQUIRES(mutex_);

  const std::function<void()> watches_;
  std::atomic<std::size_t> size_{0};
  std::atomic<bool> used_{false};
  mutable base::mutex mutex_;
  key_map keys_ DLOCK_GUARDED_BY(mutex_){};
  bool rung_ DLOCK_GUARDED_BY(mutex_) = false;
  instant look_by_ DLOCK_GUARDED_BY(mutex_) = instant::max();
  waker* wakes_ DLOCK_GUARDED_BY(mutex_) = nullptr;
  bool watched_ DLOCK_GUARDED_BY(mutex_) = false;
  bool closed_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
