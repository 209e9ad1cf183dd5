// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// The engine's bookkeeping of what this process holds. Lock order, outermost first: owner_state::mutex, then
/// keeper::mutex_; each of the others (pool, queue, alarm, chores) is taken alone.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/lock_settings.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store/clock.hpp"
#include "dlock/store/id128.hpp"
#include "dlock/store/store_types.hpp"
#include "engine/fork_guard.hpp"
#include "engine/session_machine.hpp"

namespace dlock::detail {

class engine;
struct chore;
struct grant;
struct owner_state;

/// A local deadline. Once somebody has been told that it passed, it can't be moved any more: "lost" is never
/// taken back.
class trust {
 public:
  static constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
  explicit trust(std::int64_t until = for_ever) noexcept : until_(until) {}
  explicit trust(instant until) noexcept : until_(until.time_since_epoch().count()) {}

  /// 0: over, for ever.
  std::chrono::microseconds left(instant now) noexcept {
    auto end = until_.load(std::memory_order_acquire);
    while (end != over) {
      if (end == for_ever) return std::chrono::microseconds::max();
      if (now.time_since_epoch().count() < end) return std::chrono::microseconds{end - now.time_since_epoch().count()};
      if (until_.compare_exchange_weak(end, over, std::memory_order_acq_rel)) break;
    }
    return std::chrono::microseconds{0};
  }
  /// False if it was over. Never moves back.
  bool extend(instant until) noexcept {
    const auto wanted = until.time_since_epoch().count();
    auto end = until_.load(std::memory_order_acquire);
    while (end != over) {
      if (wanted <= end || until_.compare_exchange_weak(end, wanted, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  /// Before anybody else knows of it.
  void reset(instant until) noexcept { until_.store(until.time_since_epoch().count(), std::memory_order_release); }
  void end() noexcept { until_.store(over, std::memory_order_release); }

 private:
  static constexpr std::int64_t over = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> until_;
};

/// One session of this process: keeps the leases of one ttl class.
struct session {
  session(const id128& named, std::chrono::microseconds lives, std::chrono::microseconds margin, instant sent)
      : id(named), ttl(lives), machine(lives, margin, sent), deadline(machine.deadline()) {}

  const id128 id;
  const std::chrono::microseconds ttl;
  // Guarded by keeper::mutex_:
  session_machine machine;
  grant* first = nullptr;  // grants under its id, kept or not: an intrusive list
  std::size_t users = 0;   // grants and attempts under its id
  std::size_t ghosts = 0;  // attempts of unknown outcome not yet settled
  instant used{};          // when the last user went
  bool over = false;       // retired for ever (rule 5)
  // Any thread:
  /// With its row all that it keeps is free: not before a lease that was lost may be given away.
  void not_freed_before(instant when) noexcept {
    auto now = freed_from_.load();
    while (now < when && !freed_from_.compare_exchange_weak(now, when)) {
    }
  }
  instant freed_from() const noexcept { return freed_from_.load(); }
  trust deadline;
  std::atomic<loss_reason> why{loss_reason::none};  // set before the deadline is ended

 private:
  std::atomic<instant> freed_from_{instant{}};
};

enum class grant_state { held, releasing, lost };

/// One held key of this process. Shared by the leases on it.
struct grant : std::enable_shared_from_this<grant> {
  grant(std::shared_ptr<engine> of, lock_key name) : home(std::move(of)), key(std::move(name)) {}

  const std::shared_ptr<engine> home;
  const lock_key key;
  std::shared_ptr<session> kept_by{};  // whose id is in the row
  std::shared_ptr<owner_state> who{};
  std::uint64_t fence = 0;
  std::uint64_t nonce = 0;           // of the attempt that was granted
  bool kept = true;                  // lives as long as the session; otherwise by own_end alone
  bool renewable = false;            // renewal::manual
  bool column = false;               // row_renewal::column: its own end is renewed
  bool has_turn = true;              // of the local queue
  std::chrono::microseconds ttl{0};  // kept: of its session; else as asked for
  std::chrono::microseconds margin{0};
  std::atomic<std::chrono::microseconds> min_hold{std::chrono::microseconds{0}};
  /// What frees the key when its holder can't: made before it was asked for, when there was memory.
  std::shared_ptr<std::list<chore>> spare{};
  instant asked_at{};  // not later than the server's time of the grant
  instant granted_at{};
  instant cap{instant::max()};  // max_hold
  trust own_end{};              // renewal::none, manual

  /// Where the lease stands that was granted; those that entered again don't count. A thread's own owner enters again
  /// only if that is on its stack. null: nowhere, it has ended. by_mutex: only its owner can end it.
  std::atomic<const void*> anchor{nullptr};
  static const char by_mutex;

  std::atomic<grant_state> state{grant_state::held};
  std::atomic<loss_reason> reason{loss_reason::none};
  std::stop_source lost{};
  std::atomic<bool> told{false};  // that it is lost: the callbacks of its holder have ended
  // Guarded by who->mutex:
  std::size_t leases = 1;
  std::size_t transactions = 0;   // open ones, before whose outcome the key is not freed
  std::size_t verified = 0;       // of them: those that verified it, and have the row locked
  std::thread::id verified_on{};  // the last of these
  bool outlived = false;          // no lease, and they have their outcome: it is to be released, and can't be entered
  bool taken = false;             // somebody does that
  // Guarded by engine::mutex_:
  bool over = false;  // neither held nor to be told of any more
  // Guarded by keeper::mutex_:
  grant* previous = nullptr;
  grant* next = nullptr;
  bool linked = false;
  // Guarded by alarm::mutex_:
  std::multimap<instant, std::weak_ptr<grant>>::iterator timer{};
  bool timed = false;

  /// A statement about this very grant.
  request ask(verb action) const noexcept {
    return {.action = action,
            .resource = key.view(),
            .session = kept_by->id,
            .row = key.row(),
            .nonce = nonce,
            .fence = fence,
            .min_hold = min_hold};
  }
  /// How long it can be trusted; 0: lost.
  std::chrono::microseconds left(instant now) noexcept {
    if (state.load(std::memory_order_acquire) != grant_state::held || now >= cap) return std::chrono::microseconds{0};
    auto mine = own_end.left(now);
    if (cap != instant::max()) mine = std::min(mine, std::chrono::microseconds{cap - now});
    return kept ? std::min(mine, kept_by->deadline.left(now)) : mine;
  }
  /// Whether the server must have kept it until now, by our clock, whatever became of it here.
  bool outlives(instant now) noexcept {
    return own_end.left(now).count() > 0 && (!kept || kept_by->deadline.left(now).count() > 0);
  }
  /// Why left() is 0.
  loss_reason why(instant now) noexcept {
    if (const auto known = reason.load(std::memory_order_acquire); known != loss_reason::none) return known;
    if (now >= cap) return loss_reason::max_hold;
    if (!kept) return loss_reason::expired;
    const auto end = kept_by->why.load(std::memory_order_acquire);
    return end == loss_reason::none ? loss_reason::unreachable : end;
  }
};

/// Somebody who may hold locks: what an owner and a thread point to.
struct owner_state {
  const unsigned generation = fork_generation();  // of the process that made it
  std::mutex mutex;
  std::vector<std::shared_ptr<grant>> held;  // few: searched one by one
};

}  // namespace dlock::detail
