// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in this process's memory: for tests of code that uses dlock, with time under the test's control.
///
///   dlock::stores::virtual_clock clock;
///   auto where = std::make_shared<dlock::stores::memory_store>(clock);
///   dlock::lock_service locks{where, {.time = &clock}};
///   clock.advance(40s);              // leases run out, waiters wake up

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/mark_store.hpp"
#include "dlock/store_interface/store_admin.hpp"

namespace dlock::stores {

/// Time that moves only when the test moves it, and knows when nothing moves any more.
/// Thread safety: all functions from any thread.
class DLOCK_EXPORT virtual_clock final : public environment {
 public:
  virtual_clock() = default;
  /// `timeout`: a test that forgot to move the clock doesn't hang. When a call has waited for so long in real time
  /// while the clock stood still, the clock moves by itself, from one awaited time to the next, after 1,000 of them in
  /// ever longer leaps, until a test calls advance(), and says so on the standard error. So a forgotten wait ends in
  /// lock_timeout; one with wait_forever ends too, at the latest when the others' leases have run out. Default 20 s; 0:
  /// never.
  explicit virtual_clock(std::chrono::milliseconds timeout) noexcept : timeout_(timeout) {}

  instant now() const noexcept override;
  bool runs_by_itself() const noexcept override { return false; }
  /// Moves the clock and wakes threads whose time has come; does not wait for what they do.
  /// Errors: std::invalid_argument, `duration` is negative.
  void advance(std::chrono::microseconds duration);

  /// What a test knows of the threads on this clock.
  struct known {
    std::size_t callers = 0;  ///< they are inside acquire() or close() and will wait there
    std::size_t busy = 0;     ///< background threads that the test keeps: in a callback, in a statement
  };
  /// Whether nothing happens any more before time moves or somebody calls: the background threads of all services on
  /// this clock wait for a time to come, so do the callers, and nobody who waits has been woken. Waits for that. So
  /// after advance(), or after a call, what it set off in the background is over when this returns. `limit`, of real
  /// time, only ends a test that fails.
  [[nodiscard]] bool at_rest(const known& threads, std::chrono::milliseconds limit = std::chrono::seconds{20});
  [[nodiscard]] bool at_rest() { return at_rest({}); }

  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override;
  void notify(std::condition_variable& wake) noexcept override;
  void on_thread_event(worker change) noexcept override;

 private:
  struct waiter;
  bool resting(const known& threads) const noexcept;
  bool wait_in_vain(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, bool of_a_worker);
  void advance_by_itself(instant until);
  void wake_due(std::unique_lock<std::mutex>& own);

  const std::chrono::milliseconds timeout_ = std::chrono::seconds{20};
  static constexpr unsigned steady_moves = 1000;
  std::atomic<unsigned> by_itself_{0};  // moves
  std::atomic<std::int64_t> us_{1'000'000'000};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  waiter* first_ = nullptr;  // a list of the waiters
  std::size_t workers_ = 0;
};

/// The same contract as the SQL stores. Services that share one memory_store compete as processes do. The URL
/// `memory:name` gives the store of that name within the process, on the system's clock; `memory:` a new one.
class DLOCK_EXPORT memory_store final : public store, private store_admin, private mark_store {
 public:
  explicit memory_store(const time_source& time = system_time());
  ~memory_store() override;

  const std::string& name() const noexcept override;
  capabilities caps() const noexcept override;
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override;
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& connection, session_verb action, const session_record& record) noexcept override;
  bool terminate(connection& connection, const connection_identity& lost) noexcept override;
  store_admin* admin() noexcept override { return this; }
  mark_store* marks() noexcept override { return this; }

 private:
  reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& connection, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection& connection, const request& key) noexcept override;
  reply cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept override;
  reply overview(connection& connection, std::size_t limit, store_overview& found) noexcept override;
  reply find_mark(connection& connection, std::string_view key, done_mark& found) noexcept override;
  reply set_mark(connection& connection, const request& grant, std::optional<microseconds> valid,
                 std::string_view by) noexcept override;
  reply delete_mark(connection& connection, std::string_view key) noexcept override;

  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace dlock::stores
