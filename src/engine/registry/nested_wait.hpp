// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dlock/lock_key.hpp"
#include "dlock/store_interface/store.hpp"
#include "engine/registry/grant.hpp"
#include "engine/registry/wait_queue.hpp"

namespace dlock::engine {

/// The wait of a thread that holds locks meanwhile. The process knows all such waits of its threads, across services,
/// and so finds their deadlock cycles. In a cycle the wait that ends first is in vain, because until then no other
/// thread of the cycle releases anything: it is refused, and the others go on. Stores find the cycles of several
/// processes: they ask here what waiting threads hold, and report the cycles that they find. Thread safety: each object
/// is used by one thread, the static functions by any.
class nested_wait {
 public:
  /// A lock that it holds.
  struct held_lock {
    std::shared_ptr<grant> held{};
    const store* where = nullptr;

    bool is_held() const noexcept { return held->state.load() == grant_state::held; }
    const lock_key& key() const noexcept { return held->key; }
    friend bool operator==(const held_lock&, const held_lock&) noexcept = default;
  };
  /// A key of a store, and the end of the wait for it.
  struct awaited {
    const store* where = nullptr;
    const lock_key* key = nullptr;
    instant until = instant::max();
  };

  /// `woken` wakes the waiting thread after its wait was refused.
  explicit nested_wait(waker& woken) noexcept : woken_(woken) {}
  nested_wait(const nested_wait&) = delete;
  nested_wait& operator=(const nested_wait&) = delete;
  ~nested_wait() { end(); }

  /// The thread begins to wait for `what`, which must outlive the wait. `held` are the locks that the thread can't
  /// release while it waits, and that no expiry frees. Returns the cycle that the wait would close if it is in vain;
  /// otherwise returns nothing, and the wait has begun. Throws std::bad_alloc; then it has not.
  std::vector<cycle_link> begin(const awaited& what, std::vector<held_lock> held);
  void end() noexcept;
  /// The cycle in which this wait is refused, as a store or another thread has found it; empty if there is none.
  std::vector<cycle_link> cycle() const;

  /// The keys of the store that the thread waits for, its own first; the holder of each one waits for the next.
  std::vector<std::string> keys_ahead() const noexcept;

  // Called by stores about the waits for one of their keys (key_listener): list what the waiting threads hold, and
  // report a deadlock cycle. A thread that waits for a lock of such a thread counts as one of them.
  static void list_held(const store& where, const lock_key& key, std::vector<lock_held_meanwhile>& all);
  static void closes_cycle(const store& where, const lock_key& key, const lock_held_meanwhile& held,
                           std::span<const cycle_link> others) noexcept;

 private:
  friend struct nested_waits;
  /// A refused wait holds nothing, because it is about to end.
  bool holds(const awaited& what) const noexcept;
  static bool ends_before(const nested_wait* a, const nested_wait* b) noexcept;

  waker& woken_;
  awaited what_{};  // without a key it does not wait
  std::vector<held_lock> held_{};
  std::vector<cycle_link> cycle_{};  // guarded by the mutex of nested_waits
};

}  // namespace dlock::engine
