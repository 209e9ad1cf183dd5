// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <memory>

#include "dlock/export.hpp"
#include "engine/background/grant_lifecycle.hpp"
#include "engine/books/poll_scheduler.hpp"
#include "engine/books/service_context.hpp"
#include "engine/books/wait_queue.hpp"

namespace dlock::engine {

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
  notifier& news;
  const std::atomic<bool>& closed;
  const capabilities caps;
  std::weak_ptr<service_core> home{};  // set once the core is shared

  /// Whether the calling thread may wait for a lock now; if not, why.
  DLOCK_EXPORT bool may_wait(fault& why) const noexcept;
};

}  // namespace dlock::engine
