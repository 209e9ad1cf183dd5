// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dlock/store/clock.hpp"
#include "dlock/store/store.hpp"

namespace dlock::detail {

/// A place for a connection.
struct pool_slot {
  enum class phase { empty, connecting, idle, lent };

  std::unique_ptr<connection> on{};
  phase at = phase::empty;
  bool fresh = false;              ///< nobody has used it yet
  bool outdated = false;           ///< lent: to be closed when it comes back
  std::uint64_t number = 0;        ///< of the attempt that made it; they count up
  instant since{};                 ///< lent
  instant limit = instant::max();  ///< lent: when it counts as hung
  bool hung = false;               ///< it did, after a time in which a server that is well would have answered
};

/// A thread that waits for a connection. Lives on its stack; guarded by the pool's mutex, but for the constants.
struct pool_waiter {
  const bool renewal;
  const microseconds limit;  ///< what an attempt to connect on its behalf is given
  std::condition_variable wake{};
  pool_slot* given = nullptr;
  bool failed = false;
  fault why{};            ///< failed
  bool tried = false;     ///< renewal: an attempt for it was begun
  bool to_share = false;  ///< renewal: one of the others will do
  pool_waiter* previous = nullptr;
  pool_waiter* next = nullptr;
};

/// Who gets which connection, and the threads that connect: what a connection_pool shares with these, which may outlive
/// it. All members are to be used with the mutex held, where nothing else is said.
class pool_state : public std::enable_shared_from_this<pool_state> {
 public:
  /// Connections that were taken out, to be closed without the mutex.
  using closing = std::vector<std::unique_ptr<connection>>;

  /// `time` is used only while the pool lives.
  pool_state(std::shared_ptr<store> where, time_source& time, std::size_t size);

  /// An idle one, lent now, if nobody else waits for it; or null.
  pool_slot* take_idle(bool renewal) noexcept;
  /// Gives, or begins to connect. The waiter is in line then, unless given or failed is set.
  void enter(pool_waiter& who);
  /// For renewal: one of the others will do as well.
  void share(pool_waiter& who);
  /// It has waited long enough.
  void leave(pool_waiter& who) noexcept;
  /// Looks again at what can be done for those who wait.
  void dispatch();
  /// Until when attempts to connect are put off, because the last one failed and there is something else to hope for.
  instant put_off() const noexcept;
  /// Whether it waits for a connection that is being made.
  bool awaited(const pool_waiter& who) const noexcept;
  static void drop(std::unique_ptr<connection>& one, closing& out) noexcept;
  void give_back(pool_slot& one, closing& out);
  /// Takes idle connections out that are found `dead`.
  void close_idle(const std::function<bool(const pool_slot&)>& dead, closing& out);
  /// The first use of a connection: notes where it leads. False: it was made before those that lead elsewhere now, and is
  /// outdated.
  bool arrive(pool_slot& one, closing& out);
  /// Begins to connect for renewals, if there are any and it is missing.
  void prepare_renewal(microseconds limit);
  /// The pool's end: all of its connections are idle, and what connects from now on is alone.
  void forsake(closing& out);
  /// Nobody waits for longer than until `end`, and for renewals nobody any more.
  void finish(instant end) noexcept;

  pool_slot& of_renewals() const noexcept { return *slots_.front(); }
  const std::vector<std::unique_ptr<pool_slot>>& slots() const noexcept { return slots_; }

  std::size_t waiting() const noexcept { return waiting_ + (renewal_ != nullptr ? 1 : 0); }

  // Without the mutex:
  std::mutex& mutex() noexcept { return mutex_; }
  /// No more attempts, and those under way are cancelled. Waits for their end, at most so long.
  void end_connecting(std::chrono::milliseconds limit) noexcept;

  instant ends_at = instant::max();  ///< of all waiting
  fault last{};                      ///< why the last attempt to connect failed
  std::uint64_t failures = 0;
  bool renews = false;  ///< there will be renewals

 private:
  using phase = pool_slot::phase;

  bool start(pool_slot& one, microseconds limit, fault& why);
  void connect(pool_slot& one, microseconds limit) noexcept;  // the body of a thread; without the mutex
  void failed(const pool_slot& one, const fault& why);
  void fail(pool_waiter& who, const fault& why);
  void give_up_renewals();
  void give(pool_waiter& who, pool_slot& one) noexcept;
  void unlink(pool_waiter& who) noexcept;
  std::size_t count(phase at) const noexcept;
  bool any_open() const noexcept { return !idle_.empty() || count(phase::lent) > 0; }

  const std::shared_ptr<store> where_;  // outlives the connections
  time_source& time_;                   // not any more after forsake()
  std::mutex mutex_{};
  std::condition_variable ended_{};
  std::stop_source cancel_{};
  std::vector<std::unique_ptr<pool_slot>> slots_{};  // fixed after construction; the first one is for renewals
  std::vector<pool_slot*> idle_{};                   // but that of renewals; last in, first out: the warm one first
  pool_waiter* renewal_ = nullptr;
  pool_waiter* first_ = nullptr;
  pool_waiter* last_ = nullptr;
  std::size_t waiting_ = 0;  // from first_ to last_
  std::uint64_t attempts_ = 0;
  std::size_t connecting_ = 0;  // threads
  instant next_attempt_{};
  bool finished_ = false;
  bool over_ = false;        // no more attempts
  bool forsaken_ = false;    // the pool is gone
  std::string server_{};     // to which connections lead
  std::uint64_t since_ = 0;  // the attempt that led there first
};

}  // namespace dlock::detail
