// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/mutex.hpp"
#include "engine/background/notifier.hpp"
#include "engine/registry/session.hpp"
#include "engine/statements/statement_executor.hpp"

namespace dlock::engine {

/// Waits until a session that another caller opens is open, or has failed to open.
class opening_waiter {
 public:
  /// It may ask again. Called under the lock of the keeper: it may only signal.
  virtual void wake() noexcept = 0;

 protected:
  ~opening_waiter() = default;

 private:
  friend class session_keeper;
  opening_waiter* next_ = nullptr;
};

class session_keeper;
class upkeep;

/// The open sessions of a process, by their ttl.
using session_map = std::map<microseconds, std::shared_ptr<session>>;

/// The right, and the duty, to open the session of a ttl class. Its end wakes those that wait for the session, whether
/// it is open or not. It has all memory that an open session needs.
class session_opening {
 public:
  session_opening() = default;
  session_opening(session_opening&& other) noexcept
      : keeper_(std::exchange(other.keeper_, nullptr)),
        session_(std::move(other.session_)),
        entry_(std::move(other.entry_)),
        renewal_(std::move(other.renewal_)),
        at_(other.at_) {}
  session_opening& operator=(session_opening&& other) noexcept;
  ~session_opening();
  explicit operator bool() const noexcept { return keeper_ != nullptr; }
  /// Fills in the statement that opens the session.
  void ask(statement& into) const noexcept;
  /// Handles the reply. Returns the pin, or an empty one and the reason in `why`.
  session_pin answered(const statement& with, fault& why) noexcept;
  /// Whether there is no pin because the server has changed meanwhile: then a new session must be opened.
  bool elsewhere() const noexcept;

 private:
  friend class session_keeper;
  session_keeper* keeper_ = nullptr;
  std::shared_ptr<session> session_{};
  session_map::node_type entry_{};     // of the session, to be inserted
  std::shared_ptr<upkeep> renewal_{};  // its task, to be begun
  std::uint64_t at_ = 0;               // session_keeper::changes_, then
};

/// Opens and retires this process's sessions, and knows when they are renewed: one renewal statement per session and
/// third of its ttl, however many leases it keeps (rule 3). Thread safety: all functions from any thread.
class session_keeper final : private session_pins {
 public:
  struct hooks {
    /// A grant is lost. Without a lock.
    std::function<void(const std::shared_ptr<grant>&, loss_reason, instant)> lost;
    /// A session ended: its row may be deleted once the holder of the last grant that was lost with it (or null) has
    /// been notified. Without a lock.
    std::function<void(const std::shared_ptr<session>&, const std::shared_ptr<grant>&, loss_reason, instant)> over;
    /// Makes the task that will renew a session. Under the lock. Throws std::bad_alloc.
    std::function<std::shared_ptr<upkeep>(const std::shared_ptr<session>&)> renewal_of;
    /// tick() is wanted by then.
    std::function<void(instant)> sooner;
  };

  session_keeper(service_context& shared, statement_executor& statements, notifier& news, hooks callbacks)
      : shared_(shared), statements_(statements), news_(news), hooks_(std::move(callbacks)) {}

  /// A pin on the live session of that ttl class. Empty: there is none, and `open` says whether the caller is to open
  /// it; if not, another caller does, and will wake the waiter. Allocates if it is to be opened.
  session_pin pin(microseconds ttl, instant now, session_opening& open, opening_waiter& waiter);
  /// The id of the session of that class; zero: there is none now.
  id128 id_of(microseconds ttl) const noexcept;
  void leave(opening_waiter& waiter) noexcept;
  /// Why the last session that was to be opened was not; of no text: none has failed since one was opened. Allocates.
  fault why_not_opened() const {
    const base::lock_guard lock(mutex_);
    return not_opened_;
  }

  /// From now on link() says no.
  void refuse_grants() noexcept {
    const base::lock_guard lock(mutex_);
    refuses_grants_ = true;
  }
  /// Puts a grant under its pinned session. False: that session is over, or after refuse_grants().
  bool link(grant& grant) noexcept;
  /// Takes it out. Harmless if it was not linked.
  void unlink(grant& grant) noexcept;

  /// Ends a session; it never comes back (rule 5). Only the first call counts.
  void retire(const std::shared_ptr<session>& session, loss_reason reason, instant now) noexcept;
  /// Attempts of this session have no outcome yet: retires it when there are too many (rule 6).
  void add_in_doubt(const std::shared_ptr<session>& session, instant now) noexcept;
  void remove_in_doubt(session& session) noexcept;

  /// There is a new connection. Another server than before proves nothing about our rows (rule 15).
  void connected(const connection_identity& to, instant now) noexcept;

  // For renew_session().
  /// While it exists, `renews` is woken when that session is over, or is to be renewed sooner.
  class renewing {
   public:
    renewing(session_keeper& keeper, session& of, waker& renews) noexcept;
    renewing(const renewing&) = delete;
    renewing& operator=(const renewing&) = delete;
    ~renewing();

   private:
    session_keeper& keeper_;
    session& of_;
  };
  /// When its next renewal is due; long ago if it is over.
  instant due(const session& of) const noexcept;
  /// It is due: fills in the statement. False: the session is over, or it is late or not used and ends now.
  bool begin_renewal(const std::shared_ptr<session>& of, statement& into, instant now) noexcept;
  /// That has been answered.
  void end_renewal(const std::shared_ptr<session>& of, statement& answered) noexcept;

  /// The store suspects that something is wrong: all sessions are renewed at once.
  void renew_all(instant now) noexcept;
  /// Retires what is late, also while a renewal of it is under way. Returns when to come back.
  instant tick(instant now) noexcept;
  /// Whether that is the id of a session of ours that lives, under which no grant is of that attempt.
  bool is_own_without(const id128& id, std::uint64_t nonce) noexcept;
  /// All that stand in the registry, released or not; under a lock.
  void for_each_grant(const std::function<void(const grant&)>& use);
  /// Ends all that are alive.
  void retire_all(loss_reason reason, instant now) noexcept;

 private:
  friend class session_opening;

  void unpin(session& session) noexcept override;
  session_pin pin_again(const std::shared_ptr<session>& session, bool over) noexcept override;
  session_pin opened(session_opening& by, const statement& with, fault& why) noexcept;
  void opening_ended(microseconds ttl) noexcept;
  static bool idle(session& session, instant now) noexcept;
  std::shared_ptr<session> first_late(instant now) noexcept DLOCK_REQUIRES(mutex_);
  /// Opens the lock meanwhile.
  void end(const std::shared_ptr<session>& session, loss_reason reason, instant now) noexcept DLOCK_REQUIRES(mutex_);
  /// Takes it out of the list that it is in, if any.
  void take_out(grant& grant) noexcept DLOCK_REQUIRES(mutex_);
  void leave_orphans(session& from) noexcept DLOCK_REQUIRES(mutex_);
  std::shared_ptr<grant> detach_first(session& from) noexcept DLOCK_REQUIRES(mutex_);
  static void put(grant*& first, grant& grant) noexcept;

  service_context& shared_;
  statement_executor& statements_;
  notifier& news_;
  const hooks hooks_;
  mutable base::mutex mutex_;
  session_map sessions_ DLOCK_GUARDED_BY(mutex_){};
  std::set<microseconds> opening_ DLOCK_GUARDED_BY(mutex_){};
  opening_waiter* waiting_ DLOCK_GUARDED_BY(mutex_) = nullptr;
  grant* orphans_ DLOCK_GUARDED_BY(mutex_) = nullptr;  // with an expiry of their own, under a session that is over
  std::string server_ DLOCK_GUARDED_BY(mutex_){};
  std::uint64_t changes_ DLOCK_GUARDED_BY(mutex_) = 0;  // of it
  fault not_opened_ DLOCK_GUARDED_BY(mutex_){};
  bool refuses_grants_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
