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
#include "engine/registry/lingering_keys.hpp"

namespace dlock::engine {

/// Enters grants into the registries and removes them: the list of the session, the deadlines, the locks of the owner,
/// the count of held locks. A grant comes in once, when the store has granted it, and goes once, by a release or a
/// loss. No function except make_room() can fail, and no function sends a statement. Thread safety: all functions may
/// be called from any thread.
class grant_lifecycle {
 public:
  /// `on_change` is called when held() or any() has become less, `on_sooner` when tick() must be called no later than
  /// then. `renewal_of` makes the task that renews a lease with a separate expiry. `watches`: see lingering_keys.
  grant_lifecycle(service_context& shared, held_locks& table, session_keeper& sessions, background_work& background,
                  notifier& news, std::function<void()> on_change, std::function<void(instant)> on_sooner,
                  std::function<std::shared_ptr<upkeep>(grant&)> renewal_of, std::function<void()> watches)
      : shared_(shared),
        table_(table),
        sessions_(sessions),
        background_(background),
        news_(news),
        changed_(std::move(on_change)),
        sooner_(std::move(on_sooner)),
        renewal_of_(std::move(renewal_of)),
        lingering_(std::move(watches)) {}

  /// Allocates what admit() needs, before the take is sent. `capped`: it has a max_hold.
  void make_room(grant& grant, bool capped);
  /// Enters a grant of the store. Returns false if its session is over; then the caller must give the key back.
  bool admit(const std::shared_ptr<grant>& grant, instant now) noexcept;
  /// Sets the local deadline of its separate expiry, or of max_hold, again after an extension by hand. (session_keeper
  /// has the deadlines of sessions.)
  void watch(const std::shared_ptr<grant>& grant, instant now) noexcept;
  /// Expires grants whose deadline has passed. It does no I/O and runs no user code, so neither can delay it. Returns
  /// when to call it again.
  instant tick(instant now) noexcept;
  /// Ends a grant that must not be trusted any more: has its holder notified, and then has the key released. Only the
  /// first call counts.
  void lost(const std::shared_ptr<grant>& grant, loss_reason reason, instant now) noexcept;

  /// Ends trust before the release is sent (rule 4). Returns false if the grant was lost, so that others release it.
  /// Sets whether it was trusted until now.
  bool begin_release(grant& grant, bool& trusted, instant now) noexcept;
  /// Ends a release with that result. Reports it to the observer, on this thread or, if `here` is false, on the thread
  /// of the notifier.
  release_result end_release(const std::shared_ptr<grant>& grant, release_result result, bool trusted, const fault& why,
                             instant now, bool here) noexcept;

  /// Ends a lease for whose release no caller waits: the background releases it. `unused`: no caller ever got the
  /// lease, so its min_hold does not count.
  void leave_in_background(const std::shared_ptr<grant>& grant, instant now, bool unused = false) noexcept;

  /// After begin_release(): keeps the key for the next lease instead of freeing it, and reports the end of this one.
  /// Returns false if the key must be freed.
  bool linger(const std::shared_ptr<grant>& grant, instant now) noexcept;
  /// Has the background free a key that lingered. The grant is in no list of `lingering()` any more.
  void give_back(const std::shared_ptr<grant>& grant, instant now) noexcept;
  /// Another grant has taken the place of one that lingered, or its row is free.
  void replaced(grant& grant) noexcept;
  lingering_keys& lingering() noexcept { return lingering_; }

  /// Why the row does not belong to the grant any more, as the answer of a statement has just shown.
  DLOCK_EXPORT static loss_reason not_ours(grant& grant, instant now) noexcept;

  /// The number of grants that are held, and neither released nor lost.
  std::size_t held() const noexcept { return static_cast<std::size_t>(counted_.load() % ending); }
  /// Whether a grant is held, or still in a registry.
  bool any() const noexcept { return counted_.load() > 0; }
  /// How long this process has had which key.
  tenure_tracker& history() noexcept { return history_; }
  /// When this process last knew that no other one waits for a key.
  wake_knowledge& knowledge() noexcept { return knowledge_; }

 private:
  void begin_renewal(const std::shared_ptr<grant>& grant, instant now) noexcept;
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
  lingering_keys lingering_;
  static constexpr std::uint64_t ending = std::uint64_t{1} << 32U;
  std::atomic<std::uint64_t> counted_{0};  // held ones, plus `ending` for each one that has ended and is in a registry
};

}  // namespace dlock::engine
