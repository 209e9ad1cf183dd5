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

/// What an operation waits for.
struct action {
  enum class kind : std::uint8_t {
    wait,      ///< for waker::wake(), or until `until`
    send,      ///< for the answers to `statements`
    finished,  ///< for nothing: it is over
  };
  kind what = kind::finished;
  bool with_polls = false;  ///< send: the polls of others that pause until about now go out in the same moment
  instant until = instant::max();
  std::span<statement* const> statements{};

  static action wait(instant until) noexcept { return {.what = kind::wait, .until = until}; }
  static action send(std::span<statement* const> all, bool polls = false) noexcept {
    return {.what = kind::send, .with_polls = polls, .statements = all};
  }
};

/// Why a wait is ended before its time.
enum class interruption : std::uint8_t { cancelled, closed, deadlock };

/// Something that takes several statements and waits: an acquisition, a release. It is resumed by what it waits for; it
/// never blocks, sleeps, reads a clock or owns a thread, so a driver may run it on a thread that waits for it, or on
/// whichever thread brings the next answer. It is used by one thread at a time; only its waker is called from others.
class operation {
 public:
  virtual ~operation() = default;
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  virtual action start(instant now) = 0;
  /// It was woken, its statements have been answered, or the time has come.
  virtual action resume(instant now) = 0;
  /// Instead of resume(), while it waits: it gives up, unless what it waited for has come in the same moment.
  virtual action interrupt(interruption why, instant now) = 0;
  /// While it waits: the key that another owner has, as far as it knows; null: it waits for something else.
  virtual const lock_key* waits_for() const noexcept { return nullptr; }
  /// Adds what it has taken itself, and keeps while it waits for that key.
  virtual void list_taken(std::vector<nested_wait::held_lock>& /*all*/) const {}
};

class service_core;

/// What operations work with. They live as long as the service's core.
struct engine_services {
  service_context& shared;
  statement_executor& statements;
  wait_queue& queue;
  poll_scheduler& pauses;
  session_keeper& sessions;
  held_locks& table;
  grant_lifecycle& grants;
  background_work& background;
  const std::atomic<bool>& closed;
  const capabilities caps;
  std::weak_ptr<service_core> home{};  // set once the core is shared

  /// Whether the calling thread may wait for a lock now; if not, why.
  DLOCK_EXPORT bool may_wait(fault& why) const noexcept;
};

}  // namespace dlock::engine
