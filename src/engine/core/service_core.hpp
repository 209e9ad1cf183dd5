// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/export.hpp"
#include "engine/background/background_work.hpp"
#include "engine/drivers/async_driver.hpp"
#include "engine/drivers/thread_group.hpp"
#include "engine/operations/operation.hpp"
#include "engine/registry/fork_guard.hpp"

namespace dlock::engine {

/// The parts of a service, its threads, and when both begin and end. The service, every grant and its threads own it.
/// The threads end when the service is closed and nothing is held.
class service_core final : public std::enable_shared_from_this<service_core>,
                           private executor_threads,
                           private store_listener {
 public:
  static std::shared_ptr<service_core> start(std::shared_ptr<store> store, service_options options);
  service_core(std::shared_ptr<store> store, service_options options);
  service_core(const service_core&) = delete;
  service_core& operator=(const service_core&) = delete;
  ~service_core();

  engine_services& all() noexcept { return services_; }
  const engine_services& all() const noexcept { return services_; }
  service_context& shared() noexcept { return shared_; }
  const service_context& shared() const noexcept { return shared_; }
  store& where() const noexcept { return statements_.where(); }
  const std::stop_source& closing() const noexcept { return closing_; }

  /// Throws std::logic_error if it is called by code of the application for which the end of the service waits. `doing`
  /// begins the text.
  void must_not_wait_for_itself(const char* doing) const;
  /// Refuses new acquires, and waits until leases are released and handlers have returned. Returns the keys that are
  /// still held.
  std::vector<std::string> close(std::chrono::milliseconds limit);
  /// After close(): revokes all leases, and waits until the background has freed them.
  void revoke_all();
  /// After close(): lets the threads end as soon as nothing is held, and waits for that if nothing is held now.
  void finish() noexcept;
  /// Does both for a service that is destroyed. Reports for what it has to wait, and what outlives it.
  void end(std::chrono::milliseconds limit) noexcept;
  /// If the service has ended and its last lease too, waits for the threads, but no longer than release_limit.
  /// Otherwise returns at once.
  void join_if_last() noexcept;
  /// All services of this process that exist.
  static std::vector<std::shared_ptr<service_core>> living();

  /// A call that the service must outlive.
  class call {
   public:
    explicit call(service_core& core);
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call();

   private:
    const std::shared_ptr<service_core> core_;
  };

  /// The driver of asynchronous calls. The first call starts the thread of handlers. Throws std::system_error.
  async_driver& asynchronous();
  /// If the service and its threads have ended, a new thread runs what the driver got since, such as the release of a
  /// lost lease, and calls the handlers. Otherwise it does nothing.
  void drive_after_end() noexcept;

  bool forked() const noexcept { return generation_ != fork_generation(); }
  void refuse_if_forked() const {
    if (forked()) throw_forked();
  }
  /// Prepares the store of a lazy service, unless that was done. Throws like store::prepare().
  DLOCK_EXPORT void ensure_ready();

 private:
  bool connect(std::size_t which, fault& why) noexcept override;
  bool serve() noexcept override;
  bool ready(fault& why) noexcept override;
  void tick_by(instant when) noexcept override { engine_.due_by(when); }
  void connected(const connection_identity& to) noexcept override;

  void renew_now() noexcept override;
  void lock_deleted(std::string_view key, const id128& session, std::uint64_t fence) noexcept override;
  void waiters_poll(std::string_view why) noexcept override;
  void note_store_changes(instant now) noexcept;

  instant tick(instant now) noexcept;
  instant drive() noexcept;
  void session_over(const std::shared_ptr<session>& session, const std::shared_ptr<grant>& last, loss_reason reason,
                    instant now) noexcept;
  void run_threads();
  void run_thread(const std::shared_ptr<thread_group>& in, std::function<void(service_core&)> body);
  void tell_held(const std::string& text);
  void join_threads(std::chrono::milliseconds limit) noexcept;
  void changed() noexcept;
  void wake_closing() noexcept;
  void wind_down_if_done() noexcept;
  void stop_threads() noexcept;

  service_context shared_;
  /// The steps of the engine's thread: the tick, and the driver of operations.
  enum engine_step : std::size_t { ticks, drives };
  work_loop<2> engine_;
  work_loop<1> telling_;
  work_loop<1> completing_;  // handlers of asynchronous calls
  statement_executor statements_;
  wait_queue queue_;
  poll_scheduler pauses_{shared_.time};
  held_locks table_{};
  local_readers readers_{};
  notifier news_;
  session_keeper sessions_;
  background_work background_;
  grant_lifecycle grants_;
  std::atomic<bool> closed_{false};
  engine_services services_;
  std::stop_source closing_{};
  std::stop_source upkeep_{};  // ends renewals and clean-up
  std::atomic<bool> stopping_{false};
  async_driver async_;
  /// The core that the present thread serves, for whose end the thread must not wait.
  static thread_local const service_core* serving_;
  const std::shared_ptr<thread_group> threads_;
  const std::shared_ptr<thread_group> connecting_;
  const unsigned generation_;

  // What the store has noticed, for the next tick.
  struct deleted_lock {
    std::string key{};
    id128 session{};
    std::uint64_t fence = 0;
    instant forgotten_at{};  // its grant may be on the way from the store to the registry
  };
  base::mutex noticed_;
  std::vector<deleted_lock> deleted_ DLOCK_GUARDED_BY(noticed_){};
  std::atomic<bool> suspects_{false};  // all sessions must be renewed at once

  base::mutex preparing_;
  std::atomic<bool> ready_{false};  // the store is prepared
  base::mutex starting_;
  std::atomic<bool> completes_{false};  // the thread of handlers was started
  std::atomic<std::size_t> calls_{0};   // under way
  base::mutex mutex_;
  std::condition_variable changed_;
  bool finish_ DLOCK_GUARDED_BY(mutex_) = false;
  bool wound_down_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
