// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "dlock/export.hpp"
#include "engine/background/background_work.hpp"
#include "engine/registry/fair_share.hpp"
#include "engine/registry/grant.hpp"
#include "engine/registry/held_locks.hpp"

namespace dlock::engine {

/// What keeps the registry that a grant stands in: its session, its deadlines, its owner, the count of what is held. A
/// grant comes in once, when the store has said yes, and goes once, by a release or a loss. Nothing in here can fail,
/// or sends anything by itself. Thread safety: all functions from any thread.
class grant_lifecycle {
 public:
  /// `on_change`: held() or any() has become less. `on_sooner`: tick() is wanted by then. `renewal_of`: makes the task
  /// that renews a lease with a separate expiry.
  grant_lifecycle(service_context& shared, held_locks& table, session_keeper& sessions, background_work& background,
                  notifier& news, std::function<void()> on_change, std::function<void(instant)> on_sooner,
                  std::function<std::shared_ptr<upkeep>(grant&)> renewal_of)
      : shared_(shared),
        table_(table),
        sessions_(sessions),
        background_(background),
        news_(news),
        changed_(std::move(on_change)),
        sooner_(std::move(on_sooner)),
        renewal_of_(std::move(renewal_of)) {}

  /// What admit() needs. Allocates, so it comes before the sending.
  void make_room(grant& grant);
  /// The store has granted it. False: its session is over, and it must be given back.
  bool admit(const std::shared_ptr<grant>& grant, instant now) noexcept;
  /// Sets its local deadline anew, after an extension by hand: that of an expiry of its own, or of max_hold. (Those of
  /// sessions are session_keeper's.)
  void watch(const std::shared_ptr<grant>& grant, instant now) noexcept;
  /// Ends those whose deadline has come, without I/O or code of the user's, so it is never late because of either.
  /// Returns when to come back.
  instant tick(instant now) noexcept;
  /// It may not be trusted any more. Only the first call counts. Notifies its holder, then releases it.
  void lost(const std::shared_ptr<grant>& grant, loss_reason reason, instant now) noexcept;

  /// Rule 4: trust ends before the release is sent. False: it was lost, and others release it. `trusted`: it was until
  /// now.
  bool begin_release(grant& grant, bool& trusted, instant now) noexcept;
  /// The release has ended thus. Reports it to the observer, on this thread or (`here` false) on that of the notifier.
  release_result end_release(const std::shared_ptr<grant>& grant, release_result result, bool trusted, const fault& why,
                             instant now, bool here) noexcept;

  /// A lease ends and no caller waits for its release: the rest is done in the background. `unused`: it was granted,
  /// and never handed out, so no min_hold counts.
  void leave_in_background(const std::shared_ptr<grant>& grant, instant now, bool unused = false) noexcept;

  /// Why the row is not the grant's any more, which a statement has found that was answered just now.
  DLOCK_EXPORT static loss_reason not_ours(grant& grant, instant now) noexcept;

  /// Held, and neither released nor lost.
  std::size_t held() const noexcept { return static_cast<std::size_t>(counted_.load() % ending); }
  /// Held, or in the registry still.
  bool any() const noexcept { return counted_.load() > 0; }
  /// How long this process has had which key.
  tenure_tracker& history() noexcept { return history_; }
  /// When this process last knew that no other one waits for a key.
  wake_knowledge& knowledge() noexcept { return knowledge_; }

 private:
  void no_longer_held() noexcept;
  void gone(grant& grant) noexcept;

  service_context& shared_;
  held_locks& table_;
  session_keeper& sessions_;
  background_work& background_;
  notifier& news_;
  const std::function<void()> changed_;
  const std::function<void(instant)> sooner_;
  const std::function<std::shared_ptr<upkeep>(grant&)> renewal_of_;
  base::mutex mutex_;
  deadline_heap<grant_deadline> timers_ DLOCK_GUARDED_BY(mutex_){&grant_deadline::link};
  tenure_tracker history_{};
  wake_knowledge knowledge_{};
  static constexpr std::uint64_t ending = std::uint64_t{1} << 32U;
  std::atomic<std::uint64_t> counted_{0};  // held, and times `ending`: those that are not, and are in the registry
};

}  // namespace dlock::engine
