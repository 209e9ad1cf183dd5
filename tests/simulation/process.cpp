// SPDX-License-Identifier: BSL-1.0
#include "simulation/process.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace dlock::simulation {

namespace {
constexpr moment birth = 1'000'000'000;  // what all clocks show about the beginning
constexpr std::int64_t million = 1'000'000;
}  // namespace

process::thread* process::running_ = nullptr;

process::process(world& in, std::string name, const clockwork& clock)
    : world_(in), name_(std::move(name)), clock_(clock) {}

// ---- the clock ------------------------------------------------------------------------------------------------------

instant process::time_of(moment when) const noexcept {
  return instant{std::chrono::microseconds{birth + clock_.offset + when + when * clock_.drift_ppm / million}};
}

moment process::world_time_of(instant when) const noexcept {
  const auto own = when.time_since_epoch().count();
  if (own > never / 2'000'000) return never;
  const auto since = own - birth - clock_.offset;
  return since * million / (million + clock_.drift_ppm) + (clock_.drift_ppm == 0 ? 0 : 2);
}

moment process::latency() noexcept {
  auto& chance = world_.random;
  if (chance.chance(clock_.late_ppm)) {
    const auto late = chance.between(1, clock_.late_by);
    world_.disturb(late + 3 * million);
    return late;
  }
  return chance.between(1, clock_.slowness);
}

// ---- threads --------------------------------------------------------------------------------------------------------

process::thread& process::here() {
  if (running_ == nullptr) {
    std::fputs("simulation: something waits outside of all simulated threads\n", stderr);
    std::abort();
  }
  return *running_;
}

void process::start_thread(std::function<void()> body) {
  all_.push_back(std::make_unique<thread>(*this, [this, body = std::move(body)] {
    try {
      body();
    } catch (const std::exception& error) {
      world_.fail(name_ + ": a thread ended by an exception: " + error.what());
    }
  }));
  auto& one = *all_.back();
  threads_.push_back(&one);
  one.waits = true;
  wake(one, world_.now() + latency());
}

void process::go_on(thread& one, std::uint64_t turn) {
  if (one.turn != turn || !one.waits) return;
  if (frozen_) {
    held_up_.emplace_back(&one, turn);
    return;
  }
  ++one.turn;
  one.waits = false;
  one.waits_on = nullptr;
  one.deadline = never;
  running_ = &one;
  one.runs.resume();
  running_ = nullptr;
  if (one.runs.over()) std::erase(threads_, &one);
}

void process::wait(thread& me) {
  me.waits = true;
  fibre::give_way();
}

void process::wait_until(std::condition_variable& wake_by, std::unique_lock<std::mutex>& lock, instant until) {
  if (now() >= until) return;
  auto& me = here();
  me.waits_on = &wake_by;
  if (const auto end = world_time_of(until); end != never) {
    me.deadline = end + latency();
    check_at_deadline(me);
  }
  lock.unlock();
  wait(me);
  lock.lock();
}

void process::check_at_deadline(thread& of) {
  if (of.checks_at <= of.deadline) return;
  of.checks_at = of.deadline;
  world_.at(of.deadline, of, thread::by_deadline);
}

void process::check_deadline(thread& of) {
  if (world_.now() < of.checks_at) return;  // an earlier look took the place of this one
  of.checks_at = never;
  if (of.deadline > world_.now()) {
    if (of.deadline != never) check_at_deadline(of);
    return;
  }
  go_on(of, of.turn);
}

void process::notify(std::condition_variable& wake_by) noexcept {
  for (const auto& each : threads_) {
    if (each->waits_on != &wake_by) continue;
    each->waits_on = nullptr;
    wake(*each, world_.now() + latency());
  }
}

void process::sleep(moment time) {
  auto& me = here();
  const auto end = world_.now() + time;
  wake(me, end);
  while (world_.now() < end) wait(me);
}

std::function<void()> process::waker() {
  auto& me = here();
  me.called = false;
  return [self = &me] {
    self->called = true;
    if (!self->waits) return;
    if (running_ == nullptr) return self->of.go_on(*self, self->turn);
    self->of.wake(*self, self->of.world_.now() + 1);
  };
}

void process::wait_for_waker() {
  auto& me = here();
  while (!me.called) wait(me);
}

void process::post(moment delay, std::function<void()> what) {
  world_.after(delay, [this, what = std::move(what)]() mutable {
    if (dead_ && !buried_) return;
    if (frozen_) {
      held_posts_.push_back(std::move(what));
    } else {
      what();
    }
  });
}

// ---- fate -----------------------------------------------------------------------------------------------------------

void process::freeze() noexcept {
  if (!frozen_) frozen_at_ = world_.now();
  frozen_ = true;
}

void process::crash() noexcept {
  freeze();
  dead_ = true;
}

void process::thaw() {
  if (frozen_) lost_ += world_.now() - frozen_at_;
  thawed_at_ = world_.now();
  frozen_ = false;
  for (auto& [one, turn] : std::exchange(held_up_, {})) {
    if (one->turn == turn) world_.at(world_.now() + latency(), *one, turn);
  }
  moment before = 0;
  for (auto& each : std::exchange(held_posts_, {})) {
    const auto delay = before + latency();
    if (clock_.keeps_order) before = delay;
    post(delay, std::move(each));
  }
}

void process::bury() {
  buried_ = true;
  thaw();
}

}  // namespace dlock::simulation
