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
  /// pin() may be called again now. Called under the mutex of session_keeper, so it may only signal.
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

/// The right, and the duty, to open the session of a ttl class. Its end wakes the waiters for the session, whether it
/// is open or not. It has all memory that an open session needs.
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

/// Opens and retires the sessions of this process, and knows when they are renewed: by one statement in each third of
/// the ttl, however many leases the session keeps (rule 3). Thread safety: all functions may be called from any thread.
class session_keeper final : private session_pins {
 public:
  struct hooks {
    /// A grant is lost. Called without a lock.
    std::function<void(const std::shared_ptr<grant>&, loss_reason, instant)> lost;
    /// A session has ended. Its row may be deleted once the holder of the last grant that was lost with it was
    /// notified; that grant is null if none was lost. Called without a lock.
    std::function<void(const std::shared_ptr<session>&, const std::shared_ptr<grant>&, loss_reason, instant)> over;
    /// Makes the task that will renew a session. Called under the mutex. Throws std::bad_alloc.
    std::function<std::shared_ptr<upkeep>(const std::shared_ptr<session>&)> renewal_of;
    /// tick() must be called no later than then.
    std::function<void(instant)> sooner;
  };

  session_keeper(service_context& shared, statement_executor& statements, notifier& news, hooks callbacks)
      : shared_(shared), statements_(statements), news_(news), hooks_(std::move(callbacks)) {}

  /// Returns a pin on the live session of that ttl class, or an empty one if there is no such session. Then either the
  /// caller must open it, with `open`, or another caller does and wakes the waiter. Throws std::bad_alloc.
  session_pin pin(microseconds ttl, instant now, session_opening& open, opening_waiter& waiter);
  /// The id of the session of that class, or zero if there is none now.
  id128 id_of(microseconds ttl) const noexcept;
  void leave(opening_waiter& waiter) noexcept;
  /// Why the last attempt to open a session failed. The text is empty if the last one succeeded. Throws std::bad_alloc.
  fault why_not_opened() const {
    const base::lock_guard lock(mutex_);
    return not_opened_;
  }

  /// From now on link() returns false.
  void refuse_grants() noexcept {
    const base::lock_guard lock(mutex_);
    refuses_grants_ = true;
  }
  /// Enters a grant into the list of its pinned session. Returns false if that session is over, or after
  /// refuse_grants().
  bool link(grant& grant) noexcept;
  /// Removes it. Does nothing if it is in no list.
  void unlink(grant& grant) noexcept;

  /// Ends a session permanently (rule 5). Only the first call counts.
  void retire(const std::shared_ptr<session>& session, loss_reason reason, instant now) noexcept;
  /// Counts a connection on which attempts of this session have no outcome yet. Retires the session when there are too
  /// many (rule 6).
  void add_in_doubt(const std::shared_ptr<session>& session, instant now) noexcept;
  void remove_in_doubt(session& session) noexcept;

  /// There is a new connection. If it leads to another server than before, all sessions end, because that server may
  /// not have our rows (rule 15).
  void connected(const connection_identity& to, instant now) noexcept;

  // For renew_session().
  /// While it exists, `renews` is woken when that session is over or must be renewed sooner.
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
  /// When its next renewal is due; instant{} if it is over.
  instant due(const session& of) const noexcept;
  /// Fills in the statement of a renewal that is due. Returns false if the session is over. It ends here if it is late,
  /// or has not been used for long.
  bool begin_renewal(const std::shared_ptr<session>& of, statement& into, instant now) noexcept;
  /// Handles the answer.
  void end_renewal(const std::shared_ptr<session>& of, statement& answered) noexcept;

  /// Renews all sessions at once, because the store suspects that something is wrong.
  void renew_all(instant now) noexcept;
  /// Retires sessions that are late, also while a renewal is under way. Returns when to call it again.
  instant tick(instant now) noexcept;
  /// Whether a live session of ours has that id, and no grant of it is of that attempt.
  bool is_own_without(const id128& id, std::uint64_t nonce) noexcept;
  /// Calls `use` under the mutex for all grants in the lists, released or not.
  void for_each_grant(const std::function<void(const grant&)>& use);
  /// Ends all live sessions.
  void retire_all(loss_reason reason, instant now) noexcept;

 private:
  friend class session_opening;

  void unpin(session& session) noexcept override;
  session_pin pin_again(const std::shared_ptr<session>& session, bool over) noexcept override;
  session_pin opened(session_opening& by, const statement& with, fault& why) noexcept;
  void opening_ended(microseconds ttl) noexcept;
  static bool idle(session& session, instant now) noexcept;
  std::shared_ptr<session> first_late(instant now) noexcept DLOCK_REQUIRES(mutex_);
  /// Unlocks the mutex meanwhile.
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
  grant* orphans_ DLOCK_GUARDED_BY(mutex_) = nullptr;  // with a separate expiry, and a session that is over
  std::string server_ DLOCK_GUARDED_BY(mutex_){};
  std::uint64_t changes_ DLOCK_GUARDED_BY(mutex_) = 0;  // of the server
  fault not_opened_ DLOCK_GUARDED_BY(mutex_){};
  bool refuses_grants_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
