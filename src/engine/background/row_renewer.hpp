// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "engine/background/notifier.hpp"
#include "engine/deadline_place.hpp"
#include "engine/grant_table.hpp"
#include "engine/statements/statement_executor.hpp"

namespace dlock::engine {

/// Renews rows whose own expiry column keeps their lease (lease_kind::column): one statement per row and third of its
/// ttl. A transaction of the application's that has such a row locked makes its renewal wait (rule 7): each is on its own
/// way, so that it delays no other. Thread safety: all functions from any thread.
class row_renewer final : public statement_owner {
 public:
  struct hooks {
    /// The row is not ours any more. Without a lock.
    std::function<void(const std::shared_ptr<grant>&, loss_reason, instant)> lost;
    /// tick() is wanted by then.
    std::function<void(instant)> sooner;
  };

  row_renewer(service_context& shared, statement_executor& statements, grant_table& grants, notifier& news, hooks told);

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
  void send(std::shared_ptr<grant> about, instant now) noexcept DLOCK_EXCLUDES(mutex_);
  /// When to look at it again; instant::max(): never.
  instant judge(grant& about, instant now) noexcept DLOCK_EXCLUDES(mutex_);

  service_context& shared_;
  statement_executor& statements_;
  grant_table& grants_;
  notifier& news_;
  const hooks hooks_;
  const std::size_t most_at_once_;
  base::mutex mutex_;
  deadline_place::all due_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t under_way_ DLOCK_GUARDED_BY(mutex_) = 0;
  bool stop_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
