// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "engine/background/notifier.hpp"
#include "engine/registry/grant.hpp"
#include "engine/registry/held_locks.hpp"
#include "engine/statements/statement_executor.hpp"

namespace dlock::engine {

/// Renews rows and keys whose own expiry keeps their lease (lease_kind::column), each third of their ttl, in as few
/// batches as there may be. Any transaction may have such a row locked (rule 7): the executor sees to it that this
/// delays no others, and what was locked is tried again soon. Thread safety: all functions from any thread.
class row_renewer final : public statement_owner {
 public:
  struct hooks {
    /// The row is not ours any more. Without a lock.
    std::function<void(const std::shared_ptr<grant>&, loss_reason, instant)> lost;
    /// tick() is wanted by then.
    std::function<void(instant)> sooner;
  };

  row_renewer(service_context& shared, statement_executor& statements, held_locks& grants, notifier& news,
              hooks callbacks);

  /// Makes what add() needs, so that it can't fail.
  static void make_room(grant& grant);
  /// Precondition: make_room() was called for it. Until remove(), or until it is lost.
  void add(const std::shared_ptr<grant>& grant, instant now) noexcept;
  void remove(grant& grant) noexcept;

  /// Sends what is due. Returns when to come back.
  instant tick(instant now) noexcept;
  void stop() noexcept;

 private:
  void answered(statement& statement) noexcept override;
  /// Whether it is to be renewed now. If only its own transaction forbids that, it is due again soon.
  bool wanted(const std::shared_ptr<grant>& about, instant now) noexcept DLOCK_REQUIRES(mutex_);
  statement& prepare(const std::shared_ptr<grant>& about, instant now) noexcept;
  /// Opens the lock meanwhile.
  void send_due(instant now) noexcept DLOCK_REQUIRES(mutex_);
  /// When tick() has something to do.
  instant next_time() const noexcept DLOCK_REQUIRES(mutex_);
  void post_late(grant& about) noexcept DLOCK_EXCLUDES(mutex_);
  /// When it is due again; instant::max(): never.
  instant judge(grant& about, instant now) noexcept DLOCK_EXCLUDES(mutex_);

  service_context& shared_;
  statement_executor& statements_;
  held_locks& grants_;
  notifier& news_;
  const hooks hooks_;
  base::mutex mutex_;
  deadline_heap<renewal_state> due_ DLOCK_GUARDED_BY(mutex_){&renewal_state::due};
  bool stop_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
