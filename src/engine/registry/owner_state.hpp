// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/registry/fork_guard.hpp"

namespace dlock::engine {

/// An owner of locks, to which owner objects and threads point.
struct owner_state {
  owner_state() = default;
  explicit owner_state(std::string id) : request_id(std::move(id)) {}

  const unsigned generation = fork_generation();  // of the process that made it
  const std::string request_id{};                 // by which other processes know it; empty if only this one does
  std::atomic<std::size_t> grants{0};             // in the tables of all services
};

/// The owner of that request id in this process, the same for all callers while one of them has it. Any thread. Throws
/// std::bad_alloc.
std::shared_ptr<owner_state> owner_of_request(std::string_view id);

/// The owner in whose name the calling thread acquires.
const std::shared_ptr<owner_state>& current_owner();
/// Whether the program named the owner; otherwise the thread is the owner.
bool in_owner_scope() noexcept;
/// Whether it is this thread's own owner.
bool is_own_owner(const owner_state& who) noexcept;

/// Handles the leases of a thread that ends. Called for its own owner and for those of its open scopes. `all`: also
/// those that only their owner can end.
using thread_end_call = void (*)(const owner_state& owner, bool all) noexcept;
void call_at_thread_end(thread_end_call what) noexcept;

/// Whether the object at `address` belongs to a call of this thread that has not returned: it is on the thread's own
/// stack, above the present frame. Returns false if that is unknown: on another stack than the thread's first one (a
/// fibre, a signal's stack), and on platforms that don't tell where a thread's stack is. Costs some nanoseconds; a
/// thread's first call asks the C library.
bool on_own_stack(const void* address) noexcept;

/// An address on this thread's stack above all its frames, or null if the stack is unknown.
const void* end_of_own_stack() noexcept;

}  // namespace dlock::engine
