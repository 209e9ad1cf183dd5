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
#include <utility>

#include "dlock/error.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "engine/machines/session_machine.hpp"
#include "engine/registry/deadline_heap.hpp"
#include "engine/registry/list_link.hpp"
#include "engine/registry/local_readers.hpp"
#include "engine/registry/owner_state.hpp"
#include "engine/registry/session.hpp"
#include "engine/registry/wait_queue.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

class service_core;
struct grant;

/// A task that renews a lease or a session. That of a session is made before the store is asked for it, so that its
/// beginning can't fail. That of a lease is made when its first renewal is due.
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
  asked,      ///< the store has not granted it, as far as we know
  held,       ///< the store has granted it
  releasing,  ///< its last lease has ended
  lost,       ///< it is not trusted any more
};

/// What became of a loss. A holder is notified once.
enum class loss_notice : std::uint8_t {
  none,   ///< not lost, or the holder does not know yet
  begun,  ///< the holder's token is stopped, or will be at once; its callbacks may still run
  done,   ///< the callbacks have ended
};

// A lease that its own expiry keeps is renewed each third of its ttl. A renewal that failed is tried again after a
// twelfth.
constexpr int renewals_in_ttl = 3;
constexpr int renewal_tries_in_ttl = 12;

/// What ends a lease apart from its session: a separate expiry, or max_hold. It leaves the heap before its grant is
/// destroyed, because it is there only while the grant is held.
struct grant_deadline {
  explicit grant_deadline(grant& whose) noexcept : of(whose) {}

  grant& of;
  instant cap{instant::max()};                 // max_hold, from the grant on
  trust own_end{};                             // of a separate expiry, from the grant on
  deadline_heap<grant_deadline>::link link{};  // guarded by the mutex of grant_lifecycle
  // If the engine renews the expiry in the row; guarded likewise:
  instant renews_at{instant::max()};  // when the first renewal is due; instant::max() once its task has begun
  std::shared_ptr<upkeep> renewal{};
};

/// What background_work knows of a grant that it frees. It lies in the grant, so that handing one over cannot fail.
struct grant_deferral {
  static constexpr instant reported = instant::min();

  std::shared_ptr<grant> next{};  // in a list
  instant next_try{};
  instant give_up{};
  /// release: its caller still waits for the result until then; `reported` once the result was reported.
  instant report_by = reported;
  bool cancels = false;     // it is cancelled by session and nonce; otherwise it is released by session and fence
  bool lasting = false;     // cancel: no end of a connection makes it certain, so it is retried until give_up
  bool unanswered = false;  // release: an attempt of it may have been executed
  bool trusted = false;     // release: it was trusted when the release began
};

/// The transactions of the application that a grant must outlive.
struct grant_transactions {
  std::uint32_t open = 0;         // the key is not freed before they end
  std::uint32_t verified = 0;     // those of them that verified it, and have the row locked
  std::thread::id verified_on{};  // the thread of the last of these
};

/// Three mutexes guard its members, as the comments beside them say: that of its shard in held_locks, that of
/// session_keeper, and that of background_work. The other members are atomic, or set before other threads see the
/// grant.
struct grant : std::enable_shared_from_this<grant> {
  grant(std::shared_ptr<service_core> core, lock_key name);
  ~grant();

  const std::shared_ptr<service_core> home;
  const lock_key key;
  std::shared_ptr<owner_state> owner{};
  queue_turn turn{};
  session_pin pin{};                     // the session whose id is in the row
  std::shared_ptr<reader_row> reader{};  // of a reader, until its release begins
  std::uint64_t fence = 0;
  std::uint64_t nonce = 0;  // of the attempt
  /// What users see as the fence, where that is another: the row of a key that lingers has the last one of those that
  /// it has reserved. 0: the row's fence.
  std::uint64_t token = 0;
  microseconds ttl{0};     // of the session, or of the lease's separate expiry
  microseconds linger{0};  // lock_options::linger
  std::atomic<microseconds> min_hold{microseconds{0}};
  instant asked_at{};  // not later than the server's time of the grant
  instant granted_at{};
  /// Made before the request if it has a separate expiry or max_hold; otherwise null.
  std::unique_ptr<grant_deadline> deadline{};

  /// The address of the lease that was granted, without those that entered again. A thread's own owner enters again
  /// only if that is on its stack. null if it has none, or has ended. by_mutex: only its owner can end it.
  std::atomic<const void*> anchor{nullptr};
  static const char by_mutex;

  std::atomic<instant> lost_at{instant{}};  // when the loss was noticed; zero if it wasn't
  // A service may hold very many of these, so small members are kept together.
  std::atomic<loss_reason> reason{loss_reason::none};
  lease_kind kind = lease_kind::session;
  bool renewable = false;  // renewal::manual
  bool in_order = false;   // fairness::fifo: others may have registered for it at any time
  bool fenced = true;      // capabilities::fence; otherwise `fence` names the grant, and is internal
  lock_mode mode{};
  std::atomic<grant_state> state{grant_state::asked};
  std::atomic<loss_notice> notice{loss_notice::none};

  // Guarded by the shard, except that an inner lease ends without it (leave_inner()). Without a lease and a transaction
  // it is being freed.
  std::atomic<std::uint32_t> leases{1};
  // Guarded by the shard:
  grant_transactions transactions{};
  grant* same_bucket = nullptr;
  list_link<grant> of_owner{};  // linked while it is in held_locks

  // Guarded by the mutex of session_keeper:
  list_link<grant> of_session{};

  // Guarded by the mutex of background_work:
  std::shared_ptr<grant> next_lost{};  // among those whose holders are to be notified
  std::shared_ptr<doubt> in_doubt{};   // without an answer: the connection that may still run the attempt
  grant_deferral deferral{};

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
  /// Whether the store must be told of its end: it is no reader, or the last one of its row. Asked once, when its end
  /// begins.
  bool leaves_store() noexcept {
    const auto row = std::exchange(reader, nullptr);
    return row == nullptr || row->leave();
  }
  /// Whether it ends even while its owner waits for something else.
  bool freed_by_time() const noexcept {
    return deadline != nullptr && (kind == lease_kind::expiring || deadline->cap != instant::max());
  }
  /// The fence for users: 0 if the store has none.
  std::uint64_t fence_shown() const noexcept { return fenced ? shown() : 0; }
  std::uint64_t shown() const noexcept { return token != 0 ? token : fence; }
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
            .request_id = owner->request_id,
            .units = mode.units,
            .permits = mode == shared ? 0 : mode.permits};
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
    auto longest = ttl;
    if (kind != lease_kind::session) {  // the caller may have extended it, once it had the lease
      const auto own = deadline->own_end.remaining(now);
      if (own != microseconds::max()) longest = std::max(longest, own);
    }
    return now + 2 * longest + min_hold.load() + std::chrono::seconds{10};
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
  /// Takes over the tokens that the other grant of the same lease has given out.
  void take_signal(grant& from) noexcept { lost_.store(from.lost_.exchange(nullptr)); }
  /// Notifies the holder of the loss: requests stop on its token, and so runs the callbacks.
  void notify_holder() noexcept;
  /// Whether that has ended.
  bool holder_notified() const noexcept { return notice.load() == loss_notice::done; }

 private:
  std::atomic<std::stop_source*> lost_{nullptr};  // made when lost_token() is called first
};

struct linked_by_loss {
  static std::shared_ptr<grant>& next(grant& of) noexcept { return of.next_lost; }
};
struct linked_by_deferral {
  static std::shared_ptr<grant>& next(grant& of) noexcept { return of.deferral.next; }
};

/// Waiting grants, first in, first out. It links through a member of theirs, so it allocates nothing.
template <class Links>
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
    for (auto* at = first_.get(); at != nullptr; at = Links::next(*at).get()) {
      if (at->is_attempt(session, nonce)) return true;
    }
    return false;
  }
  void push_back(std::shared_ptr<grant> grant) noexcept {
    auto* const last = grant.get();
    (last_ == nullptr ? first_ : Links::next(*last_)) = std::move(grant);
    last_ = last;
  }
  /// Inserts it before the first one for which `follows` returns true, which must hold for all behind that one as well.
  template <class Follows>
  void insert(std::shared_ptr<grant> grant, const Follows& follows) noexcept {
    if (last_ == nullptr || !follows(*last_)) return push_back(std::move(grant));
    auto* at = &first_;
    while (!follows(**at)) at = &Links::next(**at);
    Links::next(*grant) = std::move(*at);
    *at = std::move(grant);
  }
  std::shared_ptr<grant> pop_front() noexcept {
    auto grant = std::move(first_);
    first_ = std::move(Links::next(*grant));
    if (first_ == nullptr) last_ = nullptr;
    return grant;
  }

 private:
  std::shared_ptr<grant> first_{};
  grant* last_ = nullptr;
};

}  // namespace dlock::engine
