// SPDX-License-Identifier: BSL-1.0
#pragma once

/// One grant of one key that this process holds, asks for, or must still free. It exists from before the request until
/// nothing of it is left at the server. It is made before anything is sent, and it is linked intrusively into every
/// list, so that recording a grant cannot fail.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>

#include "dlock/error.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "engine/machines/session_machine.hpp"
#include "engine/registry/deadline_heap.hpp"
#include "engine/registry/owner_state.hpp"
#include "engine/registry/session.hpp"
#include "engine/registry/wait_queue.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

class service_core;
struct grant_deadline;

/// A task that renews a lease or a session. It is made before the store is asked for either, so that its beginning
/// can't fail.
class upkeep {
 public:
  /// The store has granted it. The task owns `held` until it has ended: the grant, or null for a session.
  virtual void begin(std::shared_ptr<grant> held) noexcept = 0;
  /// The grant is no longer held. Harmless before the beginning and after the end.
  virtual void stop() noexcept = 0;

 protected:
  ~upkeep() = default;
};

enum class grant_state : std::uint8_t {
  asked,      ///< not ours, as far as we know
  held,       ///< ours
  releasing,  ///< its last lease has ended
  lost,       ///< not trusted any more
};

struct grant : std::enable_shared_from_this<grant> {
  grant(std::shared_ptr<service_core> core, lock_key name);
  ~grant();

  const std::shared_ptr<service_core> home;
  const lock_key key;
  std::shared_ptr<owner_state> owner{};
  queue_turn turn{};
  session_pin pin{};  // the session whose id is in the row
  std::uint64_t fence = 0;
  std::uint64_t nonce = 0;  // of the attempt
  microseconds ttl{0};      // of the session, or of the lease's separate expiry
  std::atomic<microseconds> min_hold{microseconds{0}};
  instant asked_at{};  // not later than the server's time of the grant
  instant granted_at{};
  instant cap{instant::max()};  // max_hold
  trust own_end{};              // for a separate expiry

  /// The address of the lease that was granted, without those that entered again. A thread's own owner enters again
  /// only if that is on its stack. null if it has none, or has ended. by_mutex: only its owner can end it.
  std::atomic<const void*> anchor{nullptr};
  static const char by_mutex;

  // A service may hold very many of these, so small members are kept together.
  lease_kind kind = lease_kind::session;
  bool renewable = false;  // renewal::manual
  bool in_order = false;   // fairness::fifo: others may have registered for it at any time
  bool fenced = true;      // capabilities::fence; otherwise `fence` names the grant, and is internal
  std::atomic<grant_state> state{grant_state::asked};
  std::atomic<loss_reason> reason{loss_reason::none};
  std::atomic<instant> lost_at{instant{}};  // when the loss was noticed; zero if it wasn't
  std::atomic<bool> notified{false};        // its holder was notified of the loss, and the callbacks have ended
  bool listed = false;                      // it is in held_locks; guarded by its shard
  bool outlived = false;  // guarded by its shard: it has no lease, its transactions have ended, and it is being freed
  bool linked = false;    // it is in the list of its session; guarded by the mutex of session_keeper

  /// Guarded by the shard of held_locks, except that an inner lease ends without it (leave_inner()).
  std::atomic<std::uint32_t> leases{1};
  // Guarded by the shard of held_locks:
  std::uint32_t transactions = 0;  // open ones; the key is not freed before they end
  std::uint32_t verified = 0;      // those of them that verified it, and have the row locked
  std::thread::id verified_on{};   // the thread of the last of these
  grant* same_bucket = nullptr;
  grant* next_of_owner = nullptr;
  grant** link_of_owner = nullptr;  // the pointer to this one

  // Guarded by the mutex of session_keeper:
  grant* previous = nullptr;
  grant* next = nullptr;

  /// Set before the request, if it has a separate deadline.
  std::unique_ptr<grant_deadline> deadline{};
  /// Set before the request, if that deadline is an expiry in its row: the task that renews it.
  std::shared_ptr<upkeep> renewal{};

  // Guarded by the mutex of notifier:
  std::shared_ptr<grant> next_notified{};

  // Guarded by the mutex of background_work:
  std::shared_ptr<grant> next_deferred{};
  std::shared_ptr<doubt> in_doubt{};  // cancel: the connection that may still run the attempt
  instant deferred_at{};
  instant earliest{};    // release of a lost one: when its margin has passed
  instant not_before{};  // before that time only if its holder was notified
  instant give_up{};
  bool cancels = false;     // it is cancelled by session and nonce; otherwise it is released by session and fence
  bool lasting = false;     // cancel: no end of the connection makes it certain, so it is retried until give_up
  bool unanswered = false;  // release: an attempt of it may have been executed
  bool reported = true;     // release: its result was reported; later results are not
  bool trusted = false;     // release: it was trusted when the release began

  std::uint64_t hash() const noexcept { return key.hash(); }
  /// Returns null if its end has begun.
  std::shared_ptr<grant> alive() noexcept;
  /// Drops one lease if others remain; returns false if this may be the last.
  bool leave_inner() noexcept {
    auto now = leases.load(std::memory_order_relaxed);
    while (now > 1) {
      if (leases.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  /// Whether it ends even while its owner waits for something else.
  bool freed_by_time() const noexcept { return kind == lease_kind::expiring || cap != instant::max(); }
  /// The fence for users: 0 if the store has none.
  std::uint64_t fence_shown() const noexcept { return fenced ? fence : 0; }
  /// A request about this grant.
  request ask(verb action) const noexcept {
    return {.action = action,
            .resource = key.view(),
            .session = pin->id,
            .row = key.row(),
            .nonce = nonce,
            .fence = fence,
            .kind = kind,
            .min_hold = min_hold,
            .request_id = owner->request_id};
  }
  /// The release that is sent now. After min_hold the release frees the key, and only such a release looks for a
  /// waiter.
  request ask_release(instant now) const noexcept {
    auto made = ask(verb::release);
    if (now - granted_at >= made.min_hold) made.min_hold = microseconds{0};
    return made;
  }
  /// Whether it is that attempt of that session.
  bool is_attempt(const id128& session, std::uint64_t of) const noexcept {
    return nonce == of && pin && pin->id == session;
  }
  /// When to give up a release that begins now: by then its expiry has freed the key.
  instant release_given_up(instant now) noexcept {
    // The caller may have extended it. Before the caller has the lease, own_end has no limit.
    const auto own = own_end.remaining(now);
    const bool extended = kind != lease_kind::session && own != microseconds::max();
    const auto longest = extended ? std::max(ttl, own) : ttl;
    return now + 2 * longest + min_hold.load() + std::chrono::seconds{10};
  }
  /// When to give up, for a caller that retries. `answered`: the store has just replied. A lock that it could not be
  /// asked about may exist until its own expiry.
  instant given_up(bool answered) const noexcept {
    return answered || !cancels || give_up == instant::max() ? give_up : give_up + ttl;
  }
  /// How long it can be trusted; 0 if it is lost.
  microseconds remaining(instant now) noexcept;
  /// Whether, by our clock, the server must have kept it until now, whatever its state is here.
  bool outlives(instant now) noexcept;
  /// Why remaining() is 0.
  loss_reason why(instant now) noexcept;
  /// Sets the reason if there is none yet.
  void set_reason(loss_reason why) noexcept;

  std::stop_token lost_token();
  /// Notifies the holder of the loss: requests stop on its token, and so runs the callbacks.
  void notify_holder() noexcept;

 private:
  std::atomic<bool> loss_notified_{false};
  std::atomic<std::stop_source*> lost_{nullptr};  // made when somebody asks for it
};

/// Waiting grants, first in, first out. Links through a member of theirs, so it allocates nothing.
template <std::shared_ptr<grant> grant::*next>
class grant_list {
 public:
  grant_list() = default;
  grant_list(const grant_list&) = delete;
  grant_list& operator=(const grant_list&) = delete;
  ~grant_list() {
    while (first_ != nullptr) pop_front();  // without recursion
  }

  bool empty() const noexcept { return first_ == nullptr; }
  grant& front() const noexcept { return *first_; }
  bool has_attempt(const id128& session, std::uint64_t nonce) const noexcept {
    for (const auto* at = first_.get(); at != nullptr; at = (at->*next).get()) {
      if (at->is_attempt(session, nonce)) return true;
    }
    return false;
  }
  void push_back(std::shared_ptr<grant> grant) noexcept {
    auto* const last = grant.get();
    (last_ == nullptr ? first_ : last_->*next) = std::move(grant);
    last_ = last;
  }
  /// Inserts it before the first one that is freed later, which is at the end if they come in order.
  void insert_by_earliest(std::shared_ptr<grant> grant) noexcept {
    if (last_ == nullptr || last_->earliest <= grant->earliest) return push_back(std::move(grant));
    auto* at = &first_;
    while ((*at)->earliest <= grant->earliest) at = &((**at).*next);
    (*grant).*next = std::move(*at);
    *at = std::move(grant);
  }
  std::shared_ptr<grant> pop_front() noexcept {
    auto grant = std::move(first_);
    first_ = std::move((*grant).*next);
    if (first_ == nullptr) last_ = nullptr;
    return grant;
  }

 private:
  std::shared_ptr<grant> first_{};
  grant* last_ = nullptr;
};

/// The local deadline of a grant. Guarded by the mutex of grant_lifecycle. It is in the heap only while its grant is
/// held, so it leaves the heap before the grant is destroyed.
struct grant_deadline {
  explicit grant_deadline(grant& whose) noexcept : of(whose) {}

  grant& of;
  deadline_heap<grant_deadline>::link link{};
};

}  // namespace dlock::engine
