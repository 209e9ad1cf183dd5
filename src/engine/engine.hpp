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

#include "dlock/lease.hpp"
#include "engine/acquire_machine.hpp"
#include "engine/alarm.hpp"
#include "engine/chores.hpp"
#include "engine/context.hpp"
#include "engine/herald.hpp"
#include "engine/keeper.hpp"

namespace dlock::detail {

/// Owns connections and threads, feeds replies to the machines, and keeps the books of what this process
/// holds. Shared by the service and by every lease; its threads hold it too and end when the service is
/// closed and nothing is held.
class engine : public std::enable_shared_from_this<engine> {
 public:
  static std::shared_ptr<engine> start(std::shared_ptr<store> where, service_options options);
  engine(std::shared_ptr<store> where, service_options options);

  lease acquire(const lock_key& key, const lock_options& options, bool once);

  enum class freed { yes, inner, lost, later };
  /// One lease on a grant ends. `why` is set for `later`. Never throws.
  freed release(grant& one, fault& why) noexcept;
  /// Throws lock_lost unless the grant can be trusted now.
  void ensure_held(grant& one) const;
  /// Sets an expiry of its own to now + ttl, unless it ends later.
  void renew(grant& one, microseconds ttl);

  std::vector<std::string> close(std::chrono::milliseconds limit);
  /// After close(): lets the threads end as soon as nothing is held; waits for that if nothing is.
  void finish() noexcept;

  /// Runs `use` with a pooled connection; throws store_error if there is none or its reply is no answer.
  reply ask(const std::function<reply(connection&)>& use, const char* what);

  context& shared() noexcept { return shared_; }
  std::uint64_t statements() const noexcept { return statements_.load(); }
  bool forked() const noexcept;
  void refuse_if_forked() const;

 private:
  struct attempt;  // one acquire under way
  class visit;     // a thread inside acquire(): the engine does not end under it
  struct crew;     // the threads, counted apart from the engine: the last of them may be what ends it

  lease drive(const lock_key& key, const lock_options& options, bool once, std::shared_ptr<owner_state> who,
              instant begun, bool look_first);
  lease reenter(const lock_key& key, const lock_options& options, const std::shared_ptr<owner_state>& who);
  std::shared_ptr<grant> find_held(const owner_state& who, const lock_key& key) const;
  local_queue::turn stand_in_line(const lock_key& key, const lock_options& options, owner_state& who, instant begun);
  [[noreturn]] void wait_turn(local_queue::turn end, const lock_key& key, instant begun);
  step send(attempt& a, step what);
  step resolve(attempt& a);
  step rest(attempt& a);
  step give_back(attempt& a);
  bool pinned(attempt& a, fault& why);
  lease granted(attempt& a);
  [[noreturn]] void refused(attempt& a);

  void lost(const std::shared_ptr<grant>& one, loss_reason reason);
  void ring(const std::shared_ptr<grant>& one);
  void session_over(std::shared_ptr<session> one, std::vector<std::shared_ptr<grant>> held, loss_reason reason);
  freed send_release(grant& one, fault& why);
  bool done_with(grant& one) noexcept;  // true: that was the end of the engine
  void arm(const std::shared_ptr<grant>& one);

  void run_threads();
  bool wind_down_if_done() noexcept;
  void see_off(std::chrono::milliseconds limit) noexcept;

  context shared_;
  herald herald_;
  keeper keeper_;
  alarm alarm_;
  chores chores_;
  const std::shared_ptr<crew> crew_;
  const unsigned generation_;
  std::atomic<std::uint64_t> statements_{0};
  std::stop_source closed_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::size_t held_ = 0;       // grants neither released nor lost
  std::size_t under_way_ = 0;  // acquires
  bool finish_ = false;
  bool wound_down_ = false;
};

}  // namespace dlock::detail
