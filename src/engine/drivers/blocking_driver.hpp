// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <optional>
#include <stop_token>

#include "base/mutex.hpp"
#include "engine/operations/operation.hpp"

namespace dlock::engine {

/// A waker for which a thread can wait. It stays set until then.
class wake_signal final : public waker {
 public:
  explicit wake_signal(time_source& time) noexcept : time_(time) {}

  void wake() noexcept override {
    const base::lock_guard lock(mutex_);
    set_ = true;
    time_.notify(changed_);
  }
  /// Waits until it is set, but no longer than `until`. It may return early.
  void wait(instant until) {
    base::unique_lock lock(mutex_);
    if (!set_) time_.wait_until(changed_, lock.native(), until);
    set_ = false;
  }

 private:
  time_source& time_;
  base::mutex mutex_;
  std::condition_variable changed_;
  bool set_ DLOCK_GUARDED_BY(mutex_) = false;
};

/// Checks waits that last. It can't fail, because an exception would destroy the operation while other threads use it.
class wait_check {
 public:
  enum class verdict : std::uint8_t {
    waits_on,
    never_ends,  ///< the wait is ended now, by interruption::deadlock
    unknown,     ///< memory ran out: check() is called again soon
  };
  /// Called when `op` waits for that key and has waited for at least `blocking_driver::short_wait`, for this key or
  /// others, and again whenever the wait goes on.
  virtual verdict check(const operation& op, const lock_key& key) noexcept = 0;

 protected:
  ~wait_check() = default;
};

/// Runs operations on the calling thread, one after the other. The thread executes its own statements, so a lone caller
/// needs no other thread, and allocates nothing here.
class blocking_driver {
 public:
  /// `closing` ends waits with interruption::closed; `cancel` with interruption::cancelled.
  explicit blocking_driver(engine_services& services, std::stop_token closing = {},
                           std::stop_token cancel = {}) noexcept
      : services_(services), closing_(std::move(closing)), cancel_(std::move(cancel)), signal_(services.shared.time) {}

  static constexpr microseconds short_wait = std::chrono::milliseconds{10};

  waker& signal() noexcept { return signal_; }
  /// `check` must outlive the operations.
  void check_waits(wait_check& check) noexcept { check_ = &check; }
  /// Runs the operation to its end. `begun` is now. Returns the time when it was resumed last. Throws what the
  /// operation throws.
  instant run(operation& op, instant begun);
  instant run(operation& op) { return run(op, now()); }
  /// Waits until then, or until it is interrupted. Returns the interruption.
  std::optional<interruption> pause(instant until) {
    for (;;) {
      if (const auto why = wait(until); why || now() >= until) return why;
    }
  }
  instant now() const noexcept { return services_.shared.time.now(); }

 private:
  struct interrupts {
    blocking_driver& driver;
    void operator()() const noexcept { driver.signal_.wake(); }
  };

  /// Returns the time when all statements were answered.
  instant send(const action& next);
  std::optional<interruption> wait(instant until);
  bool never_ends(const operation& op, instant at) noexcept;

  engine_services& services_;
  const std::stop_token closing_;
  const std::stop_token cancel_;
  wake_signal signal_;
  // Set at the first wait:
  std::optional<std::stop_callback<interrupts>> on_close_{};
  std::optional<std::stop_callback<interrupts>> on_cancel_{};
  bool interrupted_ = false;
  wait_check* check_ = nullptr;
  instant check_at_ = instant::max();  // set at the first wait
};

}  // namespace dlock::engine
