// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>

#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"
#include "engine/statements/concurrency_limit.hpp"
#include "engine/statements/connection_slots.hpp"
#include "engine/statements/statement_queue.hpp"

namespace dlock::engine {

/// Side effects that the executor decided under its mutex and applies after unlocking it.
class deferred_effects {
 public:
  /// `self` is the caller whose thread this is, or null.
  explicit deferred_effects(time_source& time, const blocked_caller* self = nullptr) noexcept
      : time_(time), self_(self) {}

  statement_queue answered{};          ///< their owners are notified
  statement_queue last_of_callers{};   ///< the last one of each other caller that has all its answers
  connection_slots::closing broken{};  ///< closed
  instant tick_at = instant::max();    ///< the executor's tick() is needed by then

  /// The statement was answered.
  void hand_over(statement& of) noexcept;
  /// The statement was not sent, for that reason.
  void refuse(statement& of, const fault& why) noexcept;
  void refuse_all(statement_queue& all, const fault& why) noexcept;

 private:
  time_source& time_;
  const blocked_caller* self_;
};

/// The threads that execute statements without a waiting caller: how many there are, and which sleep. Guarded by the
/// executor's mutex.
class worker_threads {
 public:
  explicit worker_threads(time_source& time) noexcept : time_(time) {}

  /// Wakes a sleeping one, or starts one more by `start`, up to `most`. Returns false if it can do neither.
  template <class Start>
  bool wake(std::size_t most, Start&& start) noexcept {
    if (idle_ > 0) {
      time_.notify(wanted_);
      return true;
    }
    if (all_ == most || !start()) return false;
    ++all_;
    return true;
  }
  void wake_all() noexcept { time_.notify(wanted_); }
  /// The calling thread sleeps until it is woken.
  void sleep(std::unique_lock<std::mutex>& lock) {
    ++idle_;
    time_.wait_until(wanted_, lock, instant::max());
    --idle_;
  }

 private:
  time_source& time_;
  std::condition_variable wanted_;
  std::size_t all_ = 0;
  std::size_t idle_ = 0;
};

/// The interface of the threads around the executor.
class executor_threads {
 public:
  /// Must call statement_executor::connect(which) on a separate thread, because it may take long. Called under the
  /// executor's mutex. Returns false, with the reason in `why`, if no thread could be started.
  virtual bool connect(std::size_t which, fault& why) noexcept = 0;
  /// Must call statement_executor::serve() on a separate thread. Called under the executor's mutex. Returns false if no
  /// thread could be started.
  virtual bool serve() noexcept = 0;
  /// statement_executor::tick() must be called no later than then. Called without the mutex.
  virtual void tick_by(instant when) noexcept = 0;
  /// Called before each attempt to connect: whether the store is ready, which may take long; if not, why. Called
  /// without the mutex.
  virtual bool ready(fault& why) noexcept {
    static_cast<void>(why);
    return true;
  }
  /// There is a new connection, on which nothing has been sent yet. Called without the mutex.
  virtual void connected(const connection_identity& to) noexcept = 0;

 protected:
  ~executor_threads() = default;
};

/// The only part that sends to the store. It owns the connections, queues what is to be sent, reads the clock around
/// the sending, and gives each statement its answer. Its rules:
///
/// - Who sends: a caller that waits for an answer lends its thread. If its statement is due and a connection is idle,
///   that thread executes a batch that contains the statement; otherwise it sleeps. It never executes a batch of
///   others' statements alone, because it would return late. Threads in serve() execute what no caller waits for;
///   more of them are started when they are needed, at most one for each connection. They also serve a caller that
///   was called and has not come within blocked_caller::grace, because its thread may be stopped.
/// - Order: that of enum priority, then that of arrival.
/// - Batches: up to batch::most statements of one priority go out together if batch::may_share() each other and name
///   different keys.
/// - Crowds: while there is a connection for each statement, and the server doesn't take much longer for many than for
///   one, each goes alone and at once. Otherwise concurrency_limit decides how many connections are used, so that what
///   arrives meanwhile shares the next batch.
/// - Row locks of other programs: a statement is first sent so that it does not wait for a locked row. If that costs a
///   further statement, it is only done after a statement has waited for a row lock recently, and on the last
///   connection. A take, take-over or insert that has met a locked row is answered so, and its caller polls. Any other
///   statement whose batch has met one is executed once more, alone. If it meets one alone, it waits for its row. At
///   most half of the connections wait like that, of several no more than half of these for releases, and never the
///   last one. Further statements are answered so, and their owners pause and send them again.
/// - A locked table: if there are several connections, statements about rows of one table of the application leave one
///   of them to others, and half of them while one of these statements takes long. So do inserts, which may wait for
///   rows.
/// - In doubt: a batch without an answer counts as one doubt, however many keys it covers. Its connection is ended at
///   the server once, and then each attempt is cancelled (rule 6).
/// - Retry: if a connection breaks before the server executed a statement, or the server cannot execute it, the
///   statement goes back to the head of its queue and is sent once more, on another connection. Nothing else is sent
///   again.
/// - Connections: at most `connections`, and one more for renewals alone. If that one is missing or busy, renewals
///   use any other idle one, before everything else. A renewal that is late is not sent any more. A connection serves
///   one batch at a time; none is bound to a held lock or to a waiting thread. After a failed attempt to connect the
///   next one waits for 200 ms if other connections work. tick() interrupts a statement that exceeds its limit, and
///   again every 100 ms. When a statement hung for a second or more, or a connection was found dead only by using it,
///   the idle connections are closed.
/// - Another server: executor_threads::connected() runs before a new connection is used, so that the session keeper
///   can end all sessions and leases if the connection leads to another server. The older connections are closed.
///
/// Thread safety: all functions from any thread.
class statement_executor {
 public:
  statement_executor(std::shared_ptr<store> where, time_source& time, std::size_t connections,
                     executor_threads& threads);
  statement_executor(const statement_executor&) = delete;
  statement_executor& operator=(const statement_executor&) = delete;

  /// Executes them, on this thread or another, and returns when all have been answered. `also` is submitted at the same
  /// moment, before them, so that it can share their batches; run() doesn't wait for it.
  void run(std::span<statement* const> all, std::span<statement* const> also = {});
  void run(statement& asked);
  /// Sends statements whose owners get the answers. A statement that gets no connection before its `queue_deadline` is
  /// answered as not sent. `also`: as in run(). An owner may be notified before this returns, on this thread too; then
  /// its statement is not used any more.
  void submit(statement& asked) noexcept;
  void submit(std::span<statement* const> all, std::span<statement* const> also = {}) noexcept;

  /// Starts the first thread that executes statements without a waiting caller. Throws std::system_error if no thread
  /// can be started.
  void start();
  /// Executes submitted statements until stop(): the body of a thread.
  void serve();
  /// Makes a connection, after executor_threads::connect() asked for it: the body of a thread.
  void connect(std::size_t which) noexcept;
  /// Makes the connection for renewals, if it does not exist.
  void prepare_renewals() noexcept;
  /// Interrupts statements that hang, and answers those that have waited too long. Returns when to call it again.
  instant tick(instant now) noexcept;

  /// Begins the shutdown: no statement waits or runs past `when`, and there are no more renewals.
  void end_by(instant when) noexcept;
  /// Ends: interrupts running statements, answers waiting ones, cancels attempts to connect.
  void stop() noexcept;

  store& where() const noexcept { return *store_; }
  const std::shared_ptr<store>& shared_store() const noexcept { return store_; }
  /// The number of statements sent for acquires, releases and inspection.
  std::uint64_t statements() const noexcept { return statements_.load(std::memory_order_relaxed); }
  /// The number of connections that exist now.
  std::size_t open() const;
  /// The number of statements that wait for a connection now.
  std::size_t queued() const;

 private:
  using slot = connection_slot;

  using lock_type = base::unique_lock;

  // combine(), execute(), apply() and connect_more() unlock the mutex meanwhile, if they do anything.

  /// `of` is the caller that waits for them, or null if their owners are notified.
  void enqueue(std::span<statement* const> all, blocked_caller* of, deferred_effects& effects) noexcept
      DLOCK_REQUIRES(mutex_);
  /// Executes one batch with one of the caller's own statements, if it is their turn. A caller that executed others'
  /// statements would return late from its own.
  bool combine(std::span<statement* const> own, blocked_caller& me) DLOCK_REQUIRES(mutex_);
  /// Executes a renewal, or a statement without a waiting caller or whose caller is missing, if it is its turn.
  bool combine() DLOCK_REQUIRES(mutex_);
  bool has_turn(const statement& of) const noexcept DLOCK_REQUIRES(mutex_);
  /// `me` is the caller whose thread this is, or null.
  void execute(slot& on, statement& first, const blocked_caller* me) DLOCK_REQUIRES(mutex_);
  /// `sent`: the batch was sent; otherwise the connection was dead before that.
  void finish(slot& on, bool sent, deferred_effects& effects) noexcept DLOCK_REQUIRES(mutex_);
  /// Whether the statement has met a locked row, and is executed once more. `shared`: it was in a batch.
  bool goes_on(statement& asked, bool shared) noexcept DLOCK_REQUIRES(mutex_);
  /// Puts a statement that was certainly not executed back at the head of its queue.
  void put_back(statement& asked, deferred_effects& effects) noexcept DLOCK_REQUIRES(mutex_);
  bool ended_for(const statement& asked) const noexcept DLOCK_REQUIRES(mutex_) {
    return stop_ || (ending_ && asked.priority == priority::renewals);
  }
  instant limit_of(const statement& asked) noexcept DLOCK_REQUIRES(mutex_) {
    return limit_of(asked, nearly(asked.priority));
  }
  instant limit_of(const statement& asked, bool nearly) noexcept DLOCK_REQUIRES(mutex_);
  /// Whether a connection for that priority is almost made.
  bool nearly(priority which) noexcept DLOCK_REQUIRES(mutex_);
  /// Answers statements that have waited too long: those of `of`, or if it is null those without a waiting caller or
  /// whose caller is missing. Returns the first limit of the rest.
  instant expire(priority which, instant now, const blocked_caller* of, deferred_effects& effects) noexcept
      DLOCK_REQUIRES(mutex_);
  /// expire() with null for the queues where a limit may have come.
  void expire_unattended(instant now, deferred_effects& effects) noexcept DLOCK_REQUIRES(mutex_);
  /// tick() checks that queue by then.
  void expire_by(priority which, instant when) noexcept DLOCK_REQUIRES(mutex_) {
    auto& by = expire_by_[static_cast<std::size_t>(which)];
    by = std::min(by, when);
  }
  /// Returns false if there was nothing to do, and the mutex was not unlocked.
  bool apply(deferred_effects& effects) noexcept DLOCK_REQUIRES(mutex_);
  bool connect_more() noexcept DLOCK_REQUIRES(mutex_);
  void begin_connecting(slot& on, instant until, instant now, deferred_effects& effects) noexcept
      DLOCK_REQUIRES(mutex_);
  void connect_failed(slot& on, const fault& why, deferred_effects& effects) noexcept DLOCK_REQUIRES(mutex_);
  /// Wakes the callers whose turn it is, except `me` (the calling thread). Schedules tick() for the moment when one of
  /// them counts as missing.
  void wake_next(deferred_effects& effects, const blocked_caller* me = nullptr) noexcept DLOCK_REQUIRES(mutex_);
  /// Returns false if all are busy, and no other thread could be started.
  bool wake_worker() noexcept DLOCK_REQUIRES(mutex_);

  const std::shared_ptr<store> store_;
  time_source& time_;
  executor_threads& threads_;
  const bool together_;  // the store can serve several by one statement
  std::atomic<std::uint64_t> statements_{0};
  std::stop_source cancel_{};  // cancels attempts to connect
  mutable base::mutex mutex_;
  statement_queues waiting_ DLOCK_GUARDED_BY(mutex_){};
  connection_slots slots_ DLOCK_GUARDED_BY(mutex_);
  concurrency_limit limit_ DLOCK_GUARDED_BY(mutex_);
  std::size_t under_way_ DLOCK_GUARDED_BY(mutex_) = 0;  // statements
  worker_threads workers_ DLOCK_GUARDED_BY(mutex_);     // the threads in serve(), or about to be
  instant tick_by_ DLOCK_GUARDED_BY(mutex_) = instant::max();
  /// Before these times tick() need not search the queues for statements that have waited too long.
  std::array<instant, priorities.size()> expire_by_ DLOCK_GUARDED_BY(mutex_);
  instant ends_at_ DLOCK_GUARDED_BY(mutex_) = instant::max();
  bool ending_ DLOCK_GUARDED_BY(mutex_) = false;  // no more renewals
  bool stop_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
