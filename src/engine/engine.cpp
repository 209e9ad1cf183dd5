// SPDX-License-Identifier: GPL-2.0-or-later
// The engine's life: start, threads, close. engine_acquire.cpp and engine_release.cpp have the rest.
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <thread>

#include "engine/fork_guard.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
/// How long the end of an engine works on releases that were not answered before.
constexpr auto last_round = 2s;
}  // namespace

engine::engine(std::shared_ptr<store> where, service_options options)
    : shared_(std::move(where), std::move(options)),
      keeper_(shared_,
              [this](std::shared_ptr<session> one, std::vector<std::shared_ptr<grant>> held, loss_reason reason) {
                session_over(std::move(one), std::move(held), reason);
              }),
      alarm_(
          shared_, [this](const std::shared_ptr<grant>& one) { ring(one); },
          [this](instant now) { return keeper_.tick(now); }),
      herald_(shared_),
      chores_(shared_, keeper_),
      generation_(fork_generation()) {}

std::shared_ptr<engine> engine::start(std::shared_ptr<store> where, service_options options) {
  if (where == nullptr) throw std::invalid_argument("dlock: store = null: a lock_service needs one");
  where->prepare();
  auto made = std::make_shared<engine>(std::move(where), std::move(options));
  made->shared_.pool.on_connect([raw = made.get()](const connection_identity& to) { raw->keeper_.greeted(to); });
  made->run_threads();
  return made;
}

void engine::run_threads() {
  // Detached, because the last lease may be released, and the engine with it end, on any thread, also on one of these.
  // Each holds the engine; finish() waits for them where that is possible.
  const auto run = [this](auto body) {
    {
      const std::lock_guard lock(mutex_);
      ++threads_;
    }
    std::thread([self = shared_from_this(), body] {
      body(*self);
      self->thread_ended();
    }).detach();
  };
  run([](engine& e) { e.keeper_.run(); });
  run([](engine& e) { e.alarm_.run(); });
  run([](engine& e) { e.herald_.run(); });
  run([](engine& e) {
    e.chores_.run();
    e.herald_.stop();
  });
}

void engine::thread_ended() noexcept {
  const std::lock_guard lock(mutex_);
  --threads_;
  changed_.notify_all();
}

void engine::wind_down_if_done() noexcept {
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    if (!finish_ || wound_down_ || held_ > 0 || under_way_ > 0) return;
    wound_down_ = true;
  }
  // Bodies have ended; now renewals stop, then the background tidies up and ends last.
  keeper_.stop();
  alarm_.stop();
  for (const auto& one : keeper_.live()) {
    chores_.add({.what = chore::kind::close, .by = one, .give_up = shared_.now() + last_round});
  }
  chores_.stop();
}

std::vector<std::string> engine::close(std::chrono::milliseconds limit) {
  closed_.request_stop();
  const auto until = shared_.now() + limit;
  std::unique_lock lock(mutex_);
  while ((held_ > 0 || under_way_ > 0) && shared_.now() < until) shared_.time.wait_until(changed_, lock, until);
  lock.unlock();
  std::vector<std::string> keys;
  keeper_.for_each_grant([&](const grant& one) { keys.emplace_back(one.key.view()); });
  return keys;
}

void engine::finish() noexcept {
  {
    const std::lock_guard lock(mutex_);
    finish_ = true;
  }
  wind_down_if_done();
  std::unique_lock lock(mutex_);
  if (wound_down_) changed_.wait(lock, [this] { return threads_ == 0; });
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
  const auto limit = shared_.now() + 5s;
  fault why;
  const auto on = shared_.pool.get(limit, limit, why);
  if (!on) {
    throw store_error(errc::store_unreachable, fmt::format("{}: {}: {}", what, shared_.where->name(), why.text),
                      why.native, why.sqlstate, why.transient);
  }
  ++statements_;
  auto answer = use(*on);
  if (answer.what == outcome::failed || answer.what == outcome::unknown) {
    throw store_error(answer.what == outcome::failed ? errc::store_failed : errc::outcome_unknown,
                      fmt::format("{}: {}: {}", what, shared_.where->name(), answer.why.text), answer.why.native,
                      answer.why.sqlstate, answer.why.transient);
  }
  return answer;
}

}  // namespace dlock::detail
