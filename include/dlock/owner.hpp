// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Re-entry is by owner. Without more ado a thread is one owner, and enters again only what it holds by a lease on its
/// own stack: one that a function, whose call has not returned, has as a local object. That is the nested call that
/// re-entry is for. A lease in the frame of a coroutine or a fibre, on the heap, or moved to another thread lets its
/// thread in no more than any other: the key is busy.
///
/// A task, a request or a coroutine that may move between threads, or shares a thread with others, carries an owner of
/// its own, who enters again wherever the leases are:
///
///   dlock::owner me;                        // once per task
///   dlock::owner_scope here{me};            // wherever the task runs
///
/// While the scope lives, acquires on this thread are made in the name of that owner.
///
/// A request that several processes serve enters again in each of them what any of them holds, where the store keeps
/// that (scheme=t_lock), if it says by which id they know it:
///
///   dlock::owner_scope here{dlock::owner{request_id}};

#include "dlock/detail/cxx20.hpp"
//
#include <memory>
#include <string_view>

#include "dlock/export.hpp"

namespace dlock::engine {
struct owner_state;
}  // namespace dlock::engine

namespace DLOCK_EXPORT dlock {

class owner_scope;

namespace detail {
struct thread_owner;
}  // namespace detail

/// What may hold locks: a thread, a task, a request. Copies are the same owner.
/// Thread safety: like std::shared_ptr.
class owner {
 public:
  /// A new owner, different from every other.
  owner();
  /// The request of that id: in this process one owner, however often it is made, and in a store that has
  /// capabilities::request_ids one holder with all programs that lock by the same id there. The key is free when the
  /// last of them has released it, or when the longest ttl that they asked for is over; docs/mysql-schemes.md says how
  /// programs that are not dlock's may shorten that. A program that can choose another owner's id has its locks.
  /// Precondition: what locks in its name uses a store with capabilities::request_ids, does not renew automatically and
  /// is not refused to itself (reentry::refuse, reentry::busy, distributed_mutex). Otherwise the call that locks throws
  /// std::invalid_argument.
  /// Errors: std::invalid_argument, naming the id: it is not 1 to 64 printable ASCII characters without blanks and '/'.
  explicit owner(std::string_view request_id);
  /// The present thread's: that of the innermost owner_scope, else the thread's own. In a scope of its own the latter
  /// counts as said by the program, and enters again as every other owner does.
  static owner current();
  friend bool operator==(const owner&, const owner&) noexcept = default;

 private:
  friend class owner_scope;
  friend struct detail::thread_owner;
  explicit owner(std::shared_ptr<engine::owner_state> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<engine::owner_state> state_;
};

/// Makes an owner the current one of this thread while it lives. Scopes nest.
/// Precondition: they are destroyed in reverse order, on the thread that made them, and none stays open over a
/// suspension of a coroutine: there, open it around each call that acquires.
///
///   auto held = [&] { dlock::owner_scope here{me}; return locks.acquire("k"); }();
class owner_scope {
 public:
  explicit owner_scope(owner who = owner{}) noexcept;
  ~owner_scope();
  owner_scope(const owner_scope&) = delete;
  owner_scope& operator=(const owner_scope&) = delete;

 private:
  friend struct detail::thread_owner;
  owner who_;
  owner_scope* before_;
};

}  // namespace dlock
