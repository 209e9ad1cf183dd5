// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <functional>

#include "base/mutex.hpp"
#include "engine/background/notifier.hpp"
#include "engine/statements/statement_executor.hpp"

namespace dlock::engine {

/// Removes dead sessions and idle keys now and then (rule 11), in small steps, and goes on while there is work.
/// Thread safety: all functions from any thread.
class cleanup final : public statement_owner {
 public:
  cleanup(service_context& shared, statement_executor& statements, notifier& news, std::function<void(instant)> sooner)
      : shared_(shared), statements_(statements), news_(news), sooner_(std::move(sooner)) {}

  /// Sends a step if one is due. Returns when to come back.
  instant tick(instant now) noexcept;
  void stop() noexcept;

 private:
  void answered(statement& statement) noexcept override;
  static reply step(void* about, connection& connection);

  service_context& shared_;
  statement_executor& statements_;
  notifier& news_;
  const std::function<void(instant)> sooner_;
  statement send_{};  // of the thread that has set under_way_, until it is answered
  base::mutex mutex_;
  instant next_ DLOCK_GUARDED_BY(mutex_){};
  instant tell_at_ DLOCK_GUARDED_BY(mutex_){};  // next, while there is more
  unsigned gone_ DLOCK_GUARDED_BY(mutex_) = 0;  // rows that are not reported yet
  bool under_way_ DLOCK_GUARDED_BY(mutex_) = false;
  bool stop_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
