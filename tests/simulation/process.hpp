// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dlock/store_interface/clock.hpp"
#include "simulation/fibre.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// A simulated process: its clock, its threads, and what befalls it. It is the time source of the services in it, so
/// these run unchanged, their threads being fibres.
class process final : public environment {
 public:
  struct clockwork {
    std::int64_t drift_ppm = 0;  ///< how much faster than the world it goes
    moment offset = 0;
    moment slowness = 20;        ///< how long a thread takes at most to go on once it may
    std::uint64_t late_ppm = 0;  ///< how often it takes much longer
    moment late_by = 0;          ///< how long then, at most
    moment distance = 1;         ///< to the server: so many times as far as the nearest may be
    bool keeps_order = false;    ///< what came while it was frozen is handled in its order, as on one connection
  };

  process(world& in, std::string name, const clockwork& clock);

  // environment: called by engine and application.
  instant now() const noexcept override { return time_of(world_.now()); }
  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override;
  void notify(std::condition_variable& wake) noexcept override;
  void start_thread(std::function<void()> body) override;
  time_source& join_clock() noexcept override { return *this; }

  /// Runs it later, as a thread of the process would that never waits: not while the process is frozen, nor once it is
  /// dead.
  void post(moment delay, std::function<void()> what);

  // The application's threads.
  /// The present thread does nothing for so long, by the world's clock.
  void sleep(moment time);
  /// The present thread goes on when `wake` is called, which is called once, at any time.
  std::function<void()> waker();
  void wait_for_waker();

  // Fate.
  void freeze() noexcept;
  void thaw();
  /// It never runs again: kill -9.
  void crash() noexcept;
  /// Of one that crashed, when its fate can't touch anybody any more: its threads run to their end, so that their
  /// memory is freed.
  void bury();
  bool dead() const noexcept { return dead_; }
  bool frozen() const noexcept { return frozen_; }
  bool buried() const noexcept { return buried_; }
  /// Whether all its threads could run, and soon, for so long.
  bool undisturbed(moment time) const noexcept {
    return clock_.late_ppm == 0 && !frozen_ && (thawed_at_ == 0 || world_.now() - thawed_at_ >= time);
  }
  /// The beginning and the end of its last standstill; 0: there was none.
  moment frozen_at() const noexcept { return frozen_at_; }
  moment thawed_at() const noexcept { return thawed_at_; }
  /// How long it was frozen, all in all.
  moment time_lost() const noexcept { return lost_ + (frozen_ ? world_.now() - frozen_at_ : 0); }

  instant time_of(moment when) const noexcept;
  std::size_t threads() const noexcept { return threads_.size(); }
  const std::string& name() const noexcept { return name_; }
  world& in() noexcept { return world_; }
  const clockwork& clock() const noexcept { return clock_; }

 private:
  struct thread final : sleeper {
    thread(process& in, std::function<void()> body) : of(in), runs(std::move(body)) {}
    void due(std::uint64_t which) override {
      if (which == by_deadline) return of.check_deadline(*this);
      of.go_on(*this, which);
    }
    static constexpr std::uint64_t by_deadline = ~std::uint64_t{0};
    process& of;
    fibre runs;
    const void* waits_on = nullptr;
    std::uint64_t turn = 0;  // counts its wake-ups, so that late ones are known
    bool waits = false;
    bool called = false;      // the waker was called before it waited
    moment deadline = never;  // of the present wait
    moment checks_at =
        never;  // when that is looked at next: most waits end before, and then another one needs no more of them
  };

  static constexpr moment never = std::numeric_limits<moment>::max();

  moment world_time_of(instant when) const noexcept;
  moment latency() noexcept;
  void wake(thread& one, moment when) { world_.at(when, one, one.turn); }
  void go_on(thread& one, std::uint64_t turn);
  void wait(thread& me);
  void check_at_deadline(thread& of);
  void check_deadline(thread& of);
  static thread& here();

  world& world_;
  const std::string name_;
  const clockwork clock_;
  std::vector<std::unique_ptr<thread>> all_{};  // also those that are over: what wakes them may come later
  std::vector<thread*> threads_{};
  std::vector<std::pair<thread*, std::uint64_t>> held_up_{};  // while it is frozen
  std::vector<std::function<void()>> held_posts_{};           // likewise
  bool frozen_ = false;
  bool dead_ = false;
  bool buried_ = false;
  moment frozen_at_ = 0;
  moment thawed_at_ = 0;
  moment lost_ = 0;

  static thread* running_;
};

}  // namespace dlock::simulation
