// SPDX-License-Identifier: GPL-2.0-or-later
// The engine's life: start, threads, close. engine_acquire.cpp and engine_release.cpp have the rest.
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "engine/fork_guard.hpp"
#include "engine/own_stack.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
/// Of an operator's question.
constexpr microseconds patience = 5s;
/// How long the service's destructor waits for the threads; they hold the engine and may end later.
constexpr auto farewell = 10s;
/// The engine that the present thread serves: its end must not be waited for there.
thread_local const engine* serving = nullptr;
}  // namespace

struct engine::crew {
  void begun() {
    const std::lock_guard lock(mutex);
    ++working;
  }
  void ended() {
    const std::lock_guard lock(mutex);
    --working;
    changed.notify_all();
  }
  void wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, limit, [this] { return working == 0; });
  }

  std::mutex mutex{};
  std::condition_variable changed{};
  std::size_t working = 0;
};

engine::engine(std::shared_ptr<store> where, service_options options)
    : shared_(std::move(where), std::move(options)),
      herald_(shared_, [this] { chores_.wake(); }),
      keeper_(
          shared_, herald_,
          [this](std::shared_ptr<session> one, std::vector<std::shared_ptr<grant>> held, loss_reason reason) {
            session_over(std::move(one), std::move(held), reason);
          },
          [this] { alarm_.wake(); }),
      alarm_(
          shared_, [this](const std::shared_ptr<grant>& one) { ring(one); },
          [this](instant now) { return keeper_.tick(now); }),
      chores_(shared_, keeper_, herald_, [this](const std::shared_ptr<grant>& one) { let_go(one); }),
      rows_(shared_, herald_, [this](const std::shared_ptr<grant>& one) { lost(one, loss_reason::taken_over); }),
      crew_(std::make_shared<crew>()),
      generation_(fork_generation()) {}

namespace {

void pause(time_source& time, instant until) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  while (time.now() < until) time.wait_until(never, lock, until);
}

/// A database may start later than the programs that use it.
void prepare(store& where, const service_options& options) {
  auto& time = options.time != nullptr ? *options.time : system_time();
  const auto end = time.now() + options.start_limit;
  for (microseconds rest = 50ms;; rest = std::min<microseconds>(2 * rest, 1s)) {
    try {
      return where.prepare();
    } catch (const store_error& error) {
      if (!error.transient() || time.now() >= end) throw;
    }
    pause(time, std::min(time.now() + rest, end));
  }
}

}  // namespace

std::shared_ptr<engine> engine::start(std::shared_ptr<store> where, service_options options) {
  if (where == nullptr) throw std::invalid_argument("dlock: store = null: a lock_service needs one");
  validate(options);
  prepare(*where, options);
  auto made = std::make_shared<engine>(std::move(where), std::move(options));
  made->shared_.pool.on_connect([raw = made.get()](const connection_identity& to) { raw->keeper_.greeted(to); });
  made->shared_.pool.on_watch([raw = made.get()](instant limit) { raw->alarm_.look_by(limit); });
  made->run_threads();
  return made;
}

void engine::run_thread(std::function<void(engine&)> body) {
  // Detached, because the last lease may be released, and the engine with it end, on any thread, also on one
  // of these. Each holds the engine; finish() waits for them where that is possible.
  auto& time = shared_.time;
  crew_->begun();
  time.told(time_source::worker::hired);
  try {
    std::thread([self = shared_from_this(), body = std::move(body), all = crew_, &time]() mutable {
      time.told(time_source::worker::begins);
      serving = self.get();
      body(*self);
      time.told(time_source::worker::ends);
      self.reset();  // before it counts as ended: then whoever waits for that ends the engine, not a stray
                     // thread
      all->ended();
    }).detach();
  } catch (...) {
    time.told(time_source::worker::ends);
    crew_->ended();
    throw;
  }
}

void engine::run_threads() {
  try {
    run_thread([](engine& e) { e.keeper_.run(); });
    run_thread([](engine& e) { e.alarm_.run(); });
    run_thread([](engine& e) { e.herald_.run(); });
    run_thread([](engine& e) {
      e.chores_.run();
      e.alarm_.stop();  // not before: somebody must look out for statements that hang
      e.herald_.stop();
    });
  } catch (...) {  // no more threads to be had: those that run must end
    alarm_.stop();
    herald_.stop();
    finish();
    throw;
  }
}

bool engine::wind_down_if_done() noexcept {
  {
    const std::lock_guard lock(mutex_);
    shared_.time.notify(changed_);
    if (!finish_ || wound_down_ || held_ + ending_ + under_way_ > 0) return false;
    wound_down_ = true;
  }
  // Bodies have ended; now renewals stop, then the background tidies up, in the time that a release has, and ends last.
  const auto end = shared_.now() + shared_.options.release_limit;
  shared_.pool.finish(end);
  keeper_.stop();
  rows_.stop();
  try {
    for (const auto& one : keeper_.live()) {
      chores_.add({.what = chore::kind::close, .by = one, .give_up = end, .held_back = one->freed_from()});
    }
  } catch (const std::bad_alloc&) {  // its expiry ends it
  }
  chores_.stop();
  return true;
}

void engine::see_off(std::chrono::milliseconds limit) noexcept {
  if (serving == this) return;
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + shared_.options.release_limit;
  crew_->wait(limit);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now());
  shared_.pool.end_connecting(std::max<std::chrono::milliseconds>(left, 50ms));
}

std::vector<std::string> engine::close(std::chrono::milliseconds limit) {
  closed_.request_stop();
  const auto until = shared_.now() + limit;
  std::unique_lock lock(mutex_);
  while (held_ + ending_ + under_way_ > 0 && shared_.now() < until) shared_.time.wait_until(changed_, lock, until);
  lock.unlock();
  std::vector<std::string> keys;
  keeper_.for_each_grant([&](const grant& one) { keys.emplace_back(one.key.view()); });
  return keys;
}

void engine::take_back_all() {
  std::vector<std::shared_ptr<const grant>> held;
  keeper_.for_each_grant([&](const grant& one) {
    if (auto alive = one.weak_from_this().lock()) held.push_back(std::move(alive));
  });
  microseconds margin{0};
  for (const auto& one : held) {
    margin = std::max(margin, one->margin);
    lost(std::const_pointer_cast<grant>(one), loss_reason::closed);
  }
  if (held.empty() || serving == this) return;  // what this thread serves would wait for itself
  chores_.wait_released(shared_.now() + margin + long_enough + shared_.options.release_limit);
}

void engine::end(std::chrono::milliseconds limit) {
  close(std::chrono::milliseconds{0});  // nothing new from here on
  bool wait = false;
  {
    const std::lock_guard lock(mutex_);
    wait = under_way_ > 0;
  }
  // What calls of this very thread hold won't end while it waits here.
  keeper_.for_each_grant([&](const grant& one) { wait = wait || !on_own_stack(one.anchor.load()); });
  if (wait && limit.count() > 0) {
    tell_held(fmt::format("the service ends, and waits up to {} ms for it", limit.count()));
    close(limit);
  }
  tell_held("the service has ended; it stays held until it is let go, or for at most its ttl after the process");
  finish();
}

void engine::tell_held(const std::string& text) {
  std::vector<std::pair<lock_key, std::uint64_t>> held;
  keeper_.for_each_grant([&](const grant& one) { held.emplace_back(one.key, one.fence); });
  for (const auto& [key, fence] : held) {
    shared_.tell({.what = event::kind::still_held, .key = key.view(), .fence = fence, .text = text});
  }
}

void engine::finish() noexcept {
  {
    const std::lock_guard lock(mutex_);
    finish_ = true;
  }
  wind_down_if_done();
  {
    const std::lock_guard lock(mutex_);
    if (held_ > 0 || under_way_ > 0) return;
  }
  see_off(farewell);
}

bool engine::forked() const noexcept { return generation_ != fork_generation(); }

void engine::refuse_if_forked() const {
  if (forked()) {
    throw lock_refused(errc::forked,
                       "dlock: this lock_service was made before a fork, in the parent process; make a new one here");
  }
}

reply engine::ask(const std::function<reply(connection&)>& use, const char* what) {
  refuse_if_forked();
  bool sent = false;
  auto answer = shared_.pool.run(shared_.now() + patience, 0us, [&](connection& on) {
    ++statements_;
    sent = true;
    return use(on);
  });
  if (answer.result == outcome::failed || answer.result == outcome::unknown) {
    const auto failed = !sent || answer.why.connection ? errc::store_unreachable : errc::store_failed;
    throw store_error(answer.result == outcome::failed ? failed : errc::outcome_unknown,
                      fmt::format("{}: {}", what, shared_.trouble(answer.why)), answer.why.native, answer.why.sqlstate,
                      answer.why.transient);
  }
  return answer;
}

}  // namespace dlock::detail
