// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"
#include "engine/statements/batch.hpp"
#include "engine/statements/concurrency_limit.hpp"

namespace dlock::engine {

/// The place of one connection.
struct connection_slot {
  enum class state : std::uint8_t { closed, connecting, idle, busy };

  explicit connection_slot(std::size_t at) : number(at) {}

  const std::size_t number;
  state is = state::closed;
  std::unique_ptr<connection> on{};
  std::shared_ptr<doubt> about{};  ///< of `on`: statements without an answer from it share this
  batch work{};
  std::uint64_t attempt = 0;       ///< the number of the attempt that made `on`, or is in progress
  instant since{};                 ///< busy
  instant limit = instant::max();  ///< busy: when it counts as hung. connecting: when the attempt must end
  bool hung = false;               ///< busy: it did, after a time in which a healthy server would have answered
  bool leave = false;              ///< busy: it is closed afterwards
};

/// The connections of an executor: which may be used for what, how many may wait for row locks of other programs, and
/// when more are made. Guarded by the executor's mutex.
class connection_slots {
 public:
  /// Connections that were removed, to be closed while the mutex is unlocked.
  using closing = std::vector<std::unique_ptr<connection>>;

  /// One more is made for renewals.
  explicit connection_slots(std::size_t connections);

  // Existing connections.
  /// An idle one that may serve that priority, or null. The one that was used last comes first, because its caches are
  /// warm.
  connection_slot* idle_for(priority which) noexcept;
  /// The number of idle ones, without that for renewals.
  std::size_t idle_count() const noexcept { return idle_.size(); }
  /// How many more connections callers' statements may use now.
  std::size_t usable(const concurrency_limit& limit, const time_source& time) const noexcept;
  connection_slot& at(std::size_t number) noexcept { return *slots_[number]; }
  connection_slot& renewals() noexcept { return *slots_.back(); }
  const std::vector<std::unique_ptr<connection_slot>>& all() const noexcept { return slots_; }
  void begin(connection_slot& slot) noexcept;  ///< idle -> busy
  /// busy -> idle, or closed if it can't be used any more.
  void end(connection_slot& slot, closing& out) noexcept;

  // Row locks: statement_executor has the rule.
  /// How a statement is first sent, on a connection that is already busy with it.
  row_wait first_wait(instant now) const noexcept;
  /// Whether a statement that has met a locked row may wait for it. `queued` is the number of others that are about to.
  bool may_wait(const statement& asked, std::size_t queued) const noexcept;
  /// The statement was executed, with any result.
  void executed(const statement& asked) noexcept;
  /// Whether the statement must not be sent now, because enough connections are busy with rows of its table, or with
  /// inserts if it is one.
  bool holds_back(const statement& asked, const time_source& time) const noexcept;

  // New connections.
  /// A closed slot that should be connected now for the statements in that queue, or null. `waiting` is the number of
  /// statements that want connections of its kind.
  connection_slot* to_connect(priority which, std::size_t waiting, instant now) noexcept;
  void begin_connecting(connection_slot& slot, instant limit) noexcept;
  /// An attempt has succeeded. Returns false if it began before those that now lead to another server, so that it can't
  /// be used.
  bool arrived(connection_slot& slot, std::unique_ptr<connection> fresh, std::shared_ptr<doubt> about,
               closing& out) noexcept;
  /// connecting -> idle, after it has arrived and its listeners know of it; or closed, if others lead elsewhere by now.
  void opened(connection_slot& slot, closing& out) noexcept;
  void failed(connection_slot& slot, const fault& why, instant now) noexcept;
  /// Until when attempts are put off, because the last one failed and there are other connections.
  instant put_off() const noexcept;
  /// Whether statements in that queue can still get a connection.
  bool hope_for(priority which) const noexcept;
  /// Whether a connection for that priority is being made.
  bool connecting_for(priority which) const noexcept;
  /// Why the last attempt failed, and how many have.
  const fault& last_failure() const noexcept { return last_; }
  std::uint64_t failures() const noexcept { return failures_; }

  // Removal of connections.
  /// Removes idle ones that their server has closed.
  void close_dead(closing& out) noexcept;
  /// Removes all idle ones except that for renewals: one of them was broken, so the others may be too.
  void distrust(closing& out) noexcept;

 private:
  template <class Wanted>
  void close_idle(Wanted wanted, closing& out) noexcept;
  void drop(connection_slot& slot, closing& out) noexcept;
  std::size_t obtainable() const noexcept;
  /// Whether a statement has probably waited for a locked row or table recently, or does so now.
  bool suspects(instant now) const noexcept;
  /// The number of connections that are busy with a statement for which `wanted` returns true.
  template <class Wanted>
  std::size_t count_busy(Wanted wanted) const noexcept;
  bool general(const connection_slot& slot) const noexcept { return slot.number + 1 < slots_.size(); }
  /// All changes of a slot's state go through this.
  void set(connection_slot& slot, connection_slot::state to) noexcept;
  std::size_t busy_since(instant when) const noexcept;
  bool elsewhere(const connection_slot& slot) const noexcept { return slot.about->where.server != to_->where.server; }
  std::size_t open() const noexcept { return idle_.size() + busy_; }
  void give_up_renewals() noexcept;

  std::vector<std::unique_ptr<connection_slot>> slots_{};
  std::vector<connection_slot*> idle_{};  // of the general ones, last in, first out
  std::size_t connecting_ = 0;            // of the general ones
  std::size_t busy_ = 0;                  // likewise
  std::uint64_t attempts_ = 0;
  fault last_{};
  std::uint64_t failures_ = 0;
  instant next_attempt_{};  // after a failure
  instant suspects_until_{};
  bool renewals_failed_ = false;       // the last attempt for renewals failed
  std::shared_ptr<const doubt> to_{};  // identifies the server to which connections lead
  std::uint64_t since_ = 0;            // the first attempt that led there
};

}  // namespace dlock::engine
