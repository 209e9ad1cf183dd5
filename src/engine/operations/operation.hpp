// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store_interface/clock.hpp"
#include "engine/background/grant_lifecycle.hpp"
#include "engine/registry/nested_wait.hpp"
#include "engine/registry/poll_scheduler.hpp"
#include "engine/registry/service_context.hpp"
#include "engine/registry/wait_queue.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

/// The next step that an operation wants.
struct action {
  enum class kind : std::uint8_t {
    wait,      ///< resume it after waker::wake(), or at `until`
    send,      ///< send `statements`, and resume it when all are answered
    finished,  ///< it is over
  };
  kind what = kind::finished;
  bool with_polls = false;  ///< send: also send the polls of others whose pause ends soon
  instant until = instant::max();
  std::span<statement* const> statements{};

  static action wait(instant until) noexcept { return {.what = kind::wait, .until = until}; }
  static action send(std::span<statement* const> all, bool polls = false) noexcept {
    return {.what = kind::send, .with_polls = polls, .statements = all};
  }
};

/// Why a wait ends early.
enum class interruption : std::uint8_t { cancelled, closed, deadlock };

/// A sequence of statements and waits, such as an acquire or a release. It never blocks, sleeps, reads a clock or owns
/// a thread, so a driver may run it on a waiting thread, or on the thread that has the next answer. One thread at a
/// time uses it; other threads only call its waker.
class operation {
 public:
  virtual ~operation() = default;
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  virtual action start(instant now) = 0;
  /// Continues it after it was woken, its statements were answered, or the time has come.
  virtual action resume(instant now) = 0;
  /// Continues it instead of resume() while it waits: it gives up, unless what it waited for has come at the same time.
  virtual action interrupt(interruption why, instant now) = 0;
  /// While it waits: the key that another owner has, as far as it knows, or null if it waits for something else.
  virtual const lock_key* waits_for() const noexcept { return nullptr; }
  /// Adds the locks that it has taken itself and keeps while it waits for that key.
  virtual void list_taken(std::vector<nested_wait::held_lock>& /*all*/) const {}
};

class service_core;

/// The parts of the service that operations use. They live as long as the core.
struct engine_services {
  service_context& shared;
  statement_executor& statements;
  wait_queue& queue;
  poll_scheduler& pauses;
  session_keeper& sessions;
  held_locks& table;
  local_readers& readers;
  grant_lifecycle& grants;
  background_work& background;
  const std::atomic<bool>& closed;
  const capabilities caps;
  std::weak_ptr<service_core> home{};  // set once the core is shared

  /// Whether the calling thread may wait for a lock now. If not, sets `why`.
  DLOCK_EXPORT bool may_wait(fault& why) const noexcept;
};

}  // namespace dlock::engine
