// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "base/lock_settings.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/multi_lease.hpp"
#include "engine/acquire_machine.hpp"
#include "engine/alarm.hpp"
#include "engine/chores.hpp"
#include "engine/context.hpp"
#include "engine/herald.hpp"
#include "engine/keeper.hpp"
#include "engine/row_keeper.hpp"

namespace dlock::detail {

class transaction_watch;

/// Owns connections and threads, feeds replies to the machines, and keeps the books of what this process
/// holds. Shared by the service and by every lease; its threads hold it too and end when the service is
/// closed and nothing is held.
class engine : public std::enable_shared_from_this<engine> {
 public:
  static std::shared_ptr<engine> start(std::shared_ptr<store> where, service_options options);
  engine(std::shared_ptr<store> where, service_options options);

  lease acquire(const lock_key& key, const lock_settings& options, bool once) {
    single any;
    return acquire(key, options, once, any);
  }
  /// What more there is to a single attempt: how long it may stand in line for what another thread of this process has,
  /// and whether such a thread was why it failed.
  struct single {
    microseconds patience{0};
    bool here = false;
  };
  lease acquire(const lock_key& key, const lock_settings& options, bool once, single& how);
  /// Throws lock_refused where the options or close() cancel it.
  void wait_out(microseconds pause, const lock_key& key, const lock_settings& options, instant begun);
  /// All or none.
  multi_lease acquire(const lock_keys& keys, const lock_settings& options, bool once);

  /// Rows that statements of the application's transaction grant (claims): `take` names what it took, under that session
  /// and nonce. Gives their leases; what can't be had is released in the background. If `take` throws, all of `maybe`
  /// is cancelled in the background.
  struct ticket {
    id128 session{};
    std::uint64_t nonce = 0;
    microseconds own_ttl{0};
    std::vector<lock_key> maybe{};
    bool unsure = false;  ///< a commit was sent: it may still be done if there is no answer
  };
  struct taken {
    lock_key key;
    std::uint64_t fence = 0;
  };
  std::vector<lease> adopt(const lock_settings& options, row_renewal how,
                           const std::function<std::vector<taken>(ticket&)>& take);

  enum class freed { yes, inner, lost, later };
  /// One lease on a grant ends. `why` is set for `later`. Never throws.
  freed release(grant& one, fault& why) noexcept;
  /// The same for leases of one engine, the last first and all within one release_limit; they are empty afterwards. Says
  /// what came of each, in that order. Throws nothing but std::bad_alloc, before it has done anything.
  struct ended {
    std::shared_ptr<grant> of{};
    freed how = freed::yes;
    fault why{};
    bool trusted = false;  // when it began
    bool begun = false;    // a statement is sent for it
    bool maybe = false;    // it may have been freed by a statement without an answer
  };
  static std::vector<ended> release(std::vector<lease>& leases);
  /// The same for those who need not know. Without memory for all it releases one by one.
  static void let_go(std::vector<lease>& leases) noexcept;
  /// The first half of a release. inner: others are left; deferred: a transaction's outcome is waited for; last: finish
  /// it (nobody can enter the grant again).
  enum class ending { inner, deferred, last };
  ending leave(grant& one) noexcept;
  /// The second half. Never throws.
  freed finish_release(grant& one, fault& why) noexcept;
  /// The same, where `free` frees the row in a transaction of the application's and says whether that is certain. The
  /// lease is over afterwards. Throws lock_lost before it calls `free`, else what `free` throws. False: the grant is not
  /// sole(), and nothing was done.
  bool release_by(grant& one, const std::function<bool()>& free);
  /// Whether there is one lease on it, and no transaction that it must outlive.
  bool sole(grant& one) const noexcept;
  /// The key is not freed before transaction_ended() was called as often. Then it is released, if its last lease has ended
  /// by then: by the background, or by its owner's next acquire.
  /// On the thread of the transaction, which has the row locked.
  void in_transaction(grant& one) noexcept;
  void transaction_ended(const std::shared_ptr<grant>& one) noexcept;
  /// Why a lease was lost, for a message: nobody has looked whether a row that is not ours is another's.
  static std::string_view explain(loss_reason reason) noexcept;
  /// Throws lock_lost unless the grant can be trusted now.
  void ensure_held(grant& one) const;
  /// Why the row is not the grant's any more, which a statement has found that was answered just now.
  loss_reason not_ours(grant& one) const noexcept;
  /// Sets an expiry of its own to now + ttl, unless it ends later. Throws std::logic_error inside a transaction of this
  /// thread that verified the grant.
  void renew(grant& one, microseconds ttl);

  /// Throws std::invalid_argument for a ttl that leases on the key can't be renewed with.
  void check_ttl(const lock_key& key, const lock_settings& with) const;
  /// Whether the current owner could enter the key again, or holds it by a mutex.
  bool holds(const lock_key& key) const;

  std::vector<std::string> close(std::chrono::milliseconds limit);
  /// After close(): all that is held is lost, and freed in the background, which is waited for.
  void take_back_all();
  /// After close(): lets the threads end as soon as nothing is held; waits for that if nothing is.
  void finish() noexcept;
  /// Both, for a service that is destroyed; what it has to wait for, and what outlives it, is told.
  void end(std::chrono::milliseconds limit);
  /// The present thread ends, and the calls on its stack will never go on: exit() was called in one of them. What they hold
  /// in the name of that owner is released. `all`: so is what his mutexes hold.
  static void abandon(owner_state& of, bool all) noexcept;

  /// Runs `use` with a pooled connection; throws store_error if there is none or its reply is no answer.
  reply ask(const std::function<reply(connection&)>& use, const char* what);

  context& shared() noexcept { return shared_; }
  std::uint64_t statements() const noexcept { return statements_.load(); }
  bool forked() const noexcept;
  void refuse_if_forked() const;
  /// These leases stand, together, at one place: see grant::anchor.
  static void stand(const std::vector<lease>& leases, const void* at) noexcept;
  static void stand(const lease& one, const void* at) noexcept;
  /// Precondition: the lease is not empty.
  static bool forked(const lease& of) noexcept;
  static void refuse_if_forked(const lease& of);

 private:
  struct attempt;  // one acquire under way
  struct won;      // a grant that becomes a lease
  class several;   // one acquire of several keys under way
  class visit;     // a thread inside acquire(): the engine does not end under it
  struct crew;     // the threads, counted apart from the engine: the last of them may be what ends it

  lease drive(const lock_key& key, const lock_settings& options, bool once, std::shared_ptr<owner_state> who,
              instant begun, bool look_first);
  lease reenter(const lock_key& key, const lock_settings& options, const std::shared_ptr<owner_state>& who);
  void refuse_held(grant& mine, reentry again) const;
  std::shared_ptr<grant> find_held(const owner_state& who, const lock_key& key) const;
  void see_out(const std::shared_ptr<grant>& one);
  std::string in_this_process(const lock_key& key, owner_state& who) const;
  void honour(grant& of, const lock_settings& options) const;
  local_queue::turn stand_in_line(const lock_key& key, const lock_settings& options, owner_state& who, instant until);
  [[noreturn]] void wait_turn(local_queue::turn end, const lock_key& key, owner_state& who, instant begun);
  step send(attempt& a, step what);
  step resolve(attempt& a);
  step rest(attempt& a);
  microseconds leave_alone(const lock_key& key, const lock_settings& options, bool once, instant begun);
  step give_back(attempt& a);
  lease hand_over(attempt& a, bool& has_turn);
  /// Whatever an exception leaves of it at the store is freed by the background. Needs no memory.
  void cancel_later(attempt& a) noexcept;
  bool looks_first(const lock_settings& options, bool once) const;
  bool pinned(attempt& a, fault& why);
  lease granted(won& w);
  void check_row(const lock_key& key, const lock_settings& options) const;
  void check_cancelled(const lock_key& key, const lock_settings& options) const;
  const char* lacks(lease_kind kind) const noexcept;  // what the store can't do of it, for messages; null: nothing
  void check_rows(const std::string& which, row_renewal how, const lock_settings& options) const;
  [[noreturn]] void refused(attempt& a);
  [[noreturn]] void refused(const lock_key& key, instant begun, const seen& holder, const fault& why, bool unknown);

  lease adopted(won& w, const std::shared_ptr<session>& by);
  std::string blocked(attempt& a, connection& on);
  void check_transaction(const lock_key& key);
  void outcome(const std::shared_ptr<grant>& one, bool verified) noexcept;
  void let_go(const std::shared_ptr<grant>& one) noexcept;
  void must_not_wait_for_itself(grant& one) const;
  void keep_column(const std::shared_ptr<grant>& one);

  void lost(const std::shared_ptr<grant>& one, loss_reason reason);
  void ring(const std::shared_ptr<grant>& one);
  void session_over(std::shared_ptr<session> one, std::vector<std::shared_ptr<grant>> held, loss_reason reason);
  freed send_release(grant& one, fault& why) noexcept;
  freed try_release(grant& one, instant begun, fault& why);
  void send_releases(std::vector<ended*> open) noexcept;
  void try_releases(std::vector<ended*>& open, instant until);
  /// What frees a grant in the background was made before it was asked for, so that it needs no memory now. Once.
  static chore& prepared_release(grant& one) noexcept;
  void release_later(grant& one, instant begun) noexcept;
  bool outcome_will_tell(transaction_watch& watch, grant& one) noexcept;
  bool begin_release(grant& one, bool& trusted) noexcept;  // false: it was lost
  /// `told`: instead of the observer, for threads that must not wait for it.
  freed end_release(grant& one, freed end, bool trusted, const fault& why,
                    const std::function<void(const event&)>& told = {}) noexcept;
  bool forget(grant& one) noexcept;  // false: it was forgotten before
  void leave_queue(const grant& one, bool is_free = false) noexcept;
  /// The two halves of the end of a grant, each exactly once. Between them its holder may be told: who has been told may end
  /// the service, which then must not count it as held.
  void no_longer_held() noexcept;
  bool done_with(grant& one) noexcept;  // true: that was the end of the engine
  void arm(const std::shared_ptr<grant>& one);

  void tell_held(const std::string& text);

  void run_threads();
  void run_thread(std::function<void(engine&)> body);
  bool wind_down_if_done() noexcept;
  void see_off(std::chrono::milliseconds limit) noexcept;

  /// So long a key that was lost waits to be freed until its holder has been told. In each case it waits for the margin, which
  /// is the time that a holder has between the one and the other.
  static constexpr microseconds long_enough = std::chrono::seconds{1};

  context shared_;
  herald herald_;
  keeper keeper_;
  alarm alarm_;
  chores chores_;
  row_keeper rows_;
  const std::shared_ptr<crew> crew_;
  const unsigned generation_;
  std::atomic<std::uint64_t> statements_{0};
  std::stop_source closed_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::size_t held_ = 0;       // grants neither released nor lost
  std::size_t ending_ = 0;     // between no_longer_held() and done_with()
  std::size_t under_way_ = 0;  // acquires
  bool finish_ = false;
  bool wound_down_ = false;
  bool rows_kept_ = false;  // its thread was started
};

}  // namespace dlock::detail
