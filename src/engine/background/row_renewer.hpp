// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>

#include "base/mutex.hpp"
#include "engine/background/notifier.hpp"
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

  /// Room for one more; allocates. Handed to add(), which can't fail then.
  struct renewal;
  static std::shared_ptr<renewal> make_room();
  void add(const std::shared_ptr<grant>& grant, std::shared_ptr<renewal> room, instant now) noexcept;

  /// Sends what is due. Returns when to come back.
  instant tick(instant now) noexcept;
  void stop() noexcept;

 private:
  void answered(statement& statement) noexcept override;
  /// When to look at it again; instant::max(): never.
  instant judge(renewal& entry, grant& about, instant now) noexcept DLOCK_EXCLUDES(mutex_);
  void put(std::shared_ptr<renewal> entry, instant when) noexcept DLOCK_REQUIRES(mutex_);

  service_context& shared_;
  statement_executor& statements_;
  grant_table& grants_;
  notifier& news_;
  const hooks hooks_;
  const std::size_t most_at_once_;
  base::mutex mutex_;
  std::multimap<instant, std::shared_ptr<renewal>> due_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t under_way_ DLOCK_GUARDED_BY(mutex_) = 0;
  bool stop_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
