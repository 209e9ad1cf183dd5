// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dlock/lock_keys.hpp"
#include "engine/operations/acquisition.hpp"
#include "engine/operations/batch_attempt.hpp"

namespace dlock::engine {

/// One place for each key; none: one of them was busy.
struct acquired_all {
  std::vector<acquired> held{};
  std::string why_busy{};
};

/// What an acquire of several keys knows while it is under way, and the coroutines that go through it. All or nothing,
/// under one deadline:
///
///   enter again what the owner holds
///   three times: try the others together; if one is busy, give all back and acquire that one, holding nothing
///   then acquire them one by one in the order of all processes, holding those before
///
/// So two such acquires can't wait for each other, and two that keep getting in each other's way are separated by the
/// order of the last resort.
class multi_acquire {
 public:
  multi_acquire(engine_services& services, const lock_keys& keys, const lock_request& request);
  ~multi_acquire();
  multi_acquire(const multi_acquire&) = delete;
  multi_acquire& operator=(const multi_acquire&) = delete;

  /// Until all are granted or the wait ends. Throws as key_acquire::run().
  task<acquired_all> run(flow& f);
  /// Adds what it has taken itself.
  void list_taken(std::vector<nested_wait::held_lock>& all) const;

 private:
  /// How a try at one or several keys ends.
  enum class round : std::uint8_t {
    all,   ///< they are held
    busy,  ///< one is not to be had now, and may be waited for
    over,  ///< one is not to be had, and the wait is over
  };
  static constexpr unsigned rounds_together = 3;

  task<void> enter_held(flow& f);
  task<round> try_together(flow& f);
  task<bool> leave_to_others(flow& f, batch_attempt& batch);
  task<round> acquire_busy(flow& f);
  task<round> acquire_in_order(flow& f);
  task<bool> extend_all(flow& f);
  bool admit_all(batch_attempt& batch, instant now) noexcept;
  void give_back_all(instant now) noexcept;
  round refused_by(const flow& f, const key_attempt& attempt);
  [[noreturn]] void end_wait(const flow& f, const lock_key& key);
  microseconds waited(const flow& f) const noexcept { return f.now() - request_.begun; }

  engine_services& services_;
  const lock_keys& keys_;
  detail::lock_settings terms_;  // with what is left of the retry limit
  const lock_request request_;
  std::vector<acquired> held_;                // one for each key
  std::size_t busy_ = 0;                      // the key to be waited for
  queue_turn turn_{};                         // of that, if it is ours
  std::optional<acquire_machine> refused_{};  // of the attempt at that
  bool was_busy_ = false;                     // some round has found a key busy at the store
  waiter_slot counted_{};
  std::string why_busy_{};
  instant last_{};
};

/// One acquire of several keys.
class multi_acquisition final : private frame_storage<1536>,
                                private multi_acquire,
                                public coroutine_operation<acquired_all> {
 public:
  /// `keys` must outlive it. `request`: the owner, when the call began, and how the caller waits.
  multi_acquisition(engine_services& services, const lock_keys& keys, const lock_request& request, waker& woken)
      : multi_acquire(services, keys, request),
        coroutine_operation<acquired_all>(static_cast<frame_storage&>(*this), woken, &run_in,
                                          static_cast<multi_acquire*>(this)) {}

  acquired_all result(instant) const { return coroutine_operation<acquired_all>::result(); }
  void list_taken(std::vector<nested_wait::held_lock>& all) const override { multi_acquire::list_taken(all); }

 private:
  static task<acquired_all> run_in(flow& f, multi_acquire* of) { return of->run(f); }
};

}  // namespace dlock::engine
