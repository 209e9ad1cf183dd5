// SPDX-License-Identifier: BSL-1.0
#include "engine/core/service_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/mutex.hpp"
#include "engine/drivers/background_task.hpp"
#include "engine/drivers/blocking_driver.hpp"
#include "engine/operations/clean_up.hpp"
#include "engine/operations/lease_renewal.hpp"
#include "engine/operations/lingering.hpp"
#include "engine/operations/release_operation.hpp"
#include "engine/operations/session_renewal.hpp"
#include "engine/registry/fork_guard.hpp"
#include "engine/registry/owner_state.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
/// All services of this process, for the end of a thread.
struct living_services {
  base::mutex mutex{};
  std::vector<std::weak_ptr<service_core>> cores DLOCK_GUARDED_BY(mutex){};
};

/// A database may start later than the programs that use it.
void prepare(store& store, const service_options& options) {
  auto& time = options.time != nullptr ? *options.time : system_time();
  const auto end = time.now() + options.start_limit;
  for (microseconds rest = 50ms;; rest = std::min<microseconds>(2 * rest, 1s)) {
    try {
      return store.prepare();
    } catch (const store_error& error) {
      if (!error.transient() || time.now() >= end) throw;
    }
    const auto until = std::min(time.now() + rest, end);
    for (wake_signal never(time); time.now() < until;) never.wait(until);
  }
}
}  // namespace

thread_local const service_core* service_core::serving_ = nullptr;

// ---- composition ----------------------------------------------------------------------------------------------------

service_core::service_core(std::shared_ptr<store> store, service_options options)
    : shared_(std::move(options)),
      engine_(shared_.time),
      telling_(shared_.time),
      completing_(shared_.time),
      statements_(std::move(store), shared_.time, shared_.options.connections, *this),
      queue_(shared_.options.max_waiters),
      news_(
          shared_, [this] { telling_.now(); }, [this] { return background_.next_lost(); }, [this] { engine_.now(); }),
      sessions_(shared_, statements_, news_,
                {.lost = [this](const auto& grant, auto why, auto now) { grants_.lost(grant, why, now); },
                 .over = [this](const auto& session, const auto& last, auto why,
                                auto now) { session_over(session, last, why, now); },
                 .renewal_of =
                     [this](const auto& session) {
                       return background_task::prepare(async_, upkeep_.get_token(), renew_session, sessions_, session);
                     },
                 .sooner = [this](instant when) { engine_.due_by(when); }}),
      background_(shared_, statements_, sessions_, news_,
                  {.answered = [this](const auto& grant, const auto& by,
                                      auto now) { note_waiters(services_, grant, by, grant.deferral.unanswered, now); },
                   .released =
                       [this](const auto& grant, auto result, const auto& why, auto now) {
                         grants_.end_release(grant, result, grant->deferral.trusted, why, now, false);
                       },
                   .fewer = [this] { changed(); },
                   .sooner = [this](instant when) { engine_.due_by(when); },
                   .drained = [this] { stop_threads(); }}),
      grants_(
          shared_, table_, sessions_, background_, news_, [this] { changed(); },
          [this](instant when) { engine_.due_by(when); },
          [this](grant& of) {
            return background_task::prepare(async_, std::stop_token(), renew_lease, services_, news_, of);
          },
          [this] { background_task::start(async_, upkeep_.get_token(), watch_lingering, services_); }),
      services_{shared_,
                statements_,
                queue_,
                pauses_,
                sessions_,
                table_,
                readers_,
                grants_,
                background_,
                closed_,
                statements_.where().caps()},
      async_(
          services_, closing_.get_token(), [this] { engine_.now(drives); }, [this] { completing_.now(); }),
      threads_(std::make_shared<thread_group>(shared_.time)),
      connecting_(std::make_shared<thread_group>(shared_.time)),
      generation_(fork_generation()) {}

service_core::~service_core() {
  if (!forked()) where().unlisten(*this);
}

std::shared_ptr<service_core> service_core::start(std::shared_ptr<store> store, service_options options) {
  if (store == nullptr) throw std::invalid_argument("dlock: store = null: a lock_service needs one");
  validate(options);
  const bool lazy = options.lazy;
  if (!lazy) prepare(*store, options);
  auto core = std::make_shared<service_core>(std::move(store), std::move(options));
  core->ready_ = !lazy;
  core->services_.home = core;
  {
    auto& all = one_per_process<living_services>();
    const base::lock_guard lock(all.mutex);
    std::erase_if(all.cores, [](const auto& each) { return each.expired(); });
    all.cores.push_back(core);
  }
  core->where().listen(*core);
  core->run_threads();
  return core;
}

// ---- what the store notices -----------------------------------------------------------------------------------------

void service_core::renew_now() noexcept {
  suspects_ = true;
  engine_.now();
}

void service_core::lock_deleted(std::string_view key, const id128& session, std::uint64_t fence) noexcept {
  try {
    const base::lock_guard lock(noticed_);
    deleted_.push_back({std::string(key), session, fence, shared_.time.now() + 1s});
  } catch (const std::bad_alloc&) {
    return renew_now();  // the service can't remember which one it was
  }
  engine_.now();
}

void service_core::waiters_poll(std::string_view why) noexcept {
  news_.post(event{.what = event::kind::waiters_poll, .text = why});
}

void service_core::note_store_changes(instant now) noexcept {
  if (suspects_.exchange(false)) sessions_.renew_all(now);
  std::vector<deleted_lock> deleted;
  {
    const base::lock_guard lock(noticed_);
    deleted.swap(deleted_);
  }
  if (deleted.empty()) return;
  // The lists of sessions know no keys, so all are looked for in one pass.
  const auto by_name = [](const auto& a, const auto& b) {
    return std::tie(a.fence, a.session, a.key) < std::tie(b.fence, b.session, b.key);
  };
  std::vector<std::shared_ptr<grant>> ours;
  try {
    std::sort(deleted.begin(), deleted.end(), by_name);
    sessions_.for_each_grant([&](const grant& each) {
      const deleted_lock wanted{std::string(each.key.view()), each.pin->id,
                                each.mode == exclusive ? each.fence : each.nonce};
      const auto at = std::lower_bound(deleted.begin(), deleted.end(), wanted, by_name);
      if (at == deleted.end() || by_name(wanted, *at)) return;
      at->forgotten_at = {};
      if (auto alive = std::const_pointer_cast<grant>(each.weak_from_this().lock())) ours.push_back(std::move(alive));
    });
    std::erase_if(deleted, [&](const auto& each) { return each.forgotten_at <= now; });
    if (!deleted.empty()) {
      engine_.due_by(now + 20ms);
      const base::lock_guard lock(noticed_);
      deleted_.insert(deleted_.end(), deleted.begin(), deleted.end());
    }
  } catch (const std::bad_alloc&) {
    // The rest ends when its holders release it.
  }
  for (const auto& each : ours) grants_.lost(each, loss_reason::taken_over, now);
}

instant service_core::tick(instant now) noexcept {
  note_store_changes(now);
  auto next = std::min({grants_.tick(now), sessions_.tick(now)});
  // After the ticks that may have given it something to do.
  next = std::min(next, background_.tick(now));
  return std::min(next, statements_.tick(now));
}

/// Ends the engine's thread once all that it runs has ended.
instant service_core::drive() noexcept {
  const auto next = async_.drive();
  if (stopping_.load() && !async_.has_background()) engine_.stop();
  return next;
}

void service_core::session_over(const std::shared_ptr<session>& session, const std::shared_ptr<grant>& last,
                                loss_reason reason, instant now) noexcept {
  if (reason != loss_reason::none) {
    std::string id;
    try {
      id = session->id.hex();
    } catch (const std::bad_alloc&) {
      id.clear();
    }
    news_.post({.what = event::kind::session_lost, .reason = reason, .text = id});
  }
  // After the margin no holder trusts its leases any more. Without its row, others can take all keys of the session,
  // also those that the server may still grant it.
  const auto from = reason == loss_reason::none ? now : now + margin_for(session->ttl, shared_.options.margin);
  background_.close(session, last, std::max(from, session->freed_from()), now + background_work::longest_notice,
                    from + 1min, now);
}

// ---- threads --------------------------------------------------------------------------------------------------------

void service_core::run_thread(const std::shared_ptr<thread_group>& in, std::function<void(service_core&)> body) {
  // Detached, because any thread may release the last lease and so destroy the core, also one of these threads. Each of
  // them owns the core, and finish() waits for them if it can.
  thread_group::start(in, [self = shared_from_this(), body = std::move(body)] {
    serving_ = self.get();
    body(*self);
  });
}

void service_core::run_threads() {
  try {
    run_thread(threads_, [](service_core& core) {
      core.async_.serve_here();
      // The tick goes first, so that it waits for one round of the driver at most.
      core.engine_.run([&](instant now) { return core.tick(now); }, [&](instant) { return core.drive(); });
    });
    run_thread(threads_, [](service_core& core) {
      core.telling_.run([&](instant now) { return core.news_.deliver(now) ? instant{} : instant::max(); });
    });
    statements_.start();
    if (shared_.options.cleanup_interval.count() > 0 && where().admin() != nullptr) {
      background_task::start(async_, upkeep_.get_token(), clean_up, shared_, statements_, news_);
    }
  } catch (...) {  // there was no thread or memory, so the threads that run must end
    stop_threads();
    throw;
  }
  engine_.now();
}

async_driver& service_core::asynchronous() {
  if (completes_.load()) return async_;
  const base::lock_guard lock(starting_);
  if (!completes_.load()) {
    run_thread(threads_, [](service_core& core) {
      core.completing_.run([&](instant) {
        core.async_.complete();
        return instant::max();
      });
    });
    completes_ = true;
  }
  return async_;
}

void service_core::drive_after_end() noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (!wound_down_) return;
  }
  const auto drive = [](service_core& core) {
    core.async_.drive();
    core.async_.complete();
  };
  try {
    run_thread(threads_, drive);
  } catch (const std::exception&) {  // no thread could be started
    drive(*this);
  }
}

bool service_core::connect(std::size_t which, fault& why) noexcept {
  try {
    run_thread(connecting_, [which](service_core& core) { core.statements_.connect(which); });
    return true;
  } catch (const std::exception& error) {
    why = passing_fault("no thread could be started to connect", true);
    try {
      why.text += std::string(": ") + error.what();
    } catch (const std::bad_alloc&) {
    }
    return false;
  }
}

void service_core::ensure_ready() {
  if (ready_.load()) return;
  const base::lock_guard lock(preparing_);
  if (ready_.load()) return;
  where().prepare();
  ready_ = true;
}

bool service_core::ready(fault& why) noexcept {
  try {
    ensure_ready();
    return true;
  } catch (const store_error& error) {
    why = passing_fault(error.what(), error.code() == errc::store_unreachable);
    why.native = error.native_code();
    error.sqlstate().copy(why.sqlstate, sizeof why.sqlstate - 1);
    why.transient = error.transient();
  } catch (const std::exception& error) {  // for example a setting that can't work
    why = passing_fault(error.what(), false);
    why.transient = false;
  }
  return false;
}

bool service_core::serve() noexcept {
  try {
    run_thread(threads_, [](service_core& core) { core.statements_.serve(); });
    return true;
  } catch (const std::exception&) {
    return false;  // the workers that exist do it later
  }
}

void service_core::connected(const connection_identity& to) noexcept { sessions_.connected(to, shared_.time.now()); }

void service_core::stop_threads() noexcept {
  statements_.stop();
  stopping_ = true;
  engine_.now(drives);
  telling_.stop();
  completing_.stop();
}

std::vector<std::shared_ptr<service_core>> service_core::living() {
  auto& all = one_per_process<living_services>();
  const base::lock_guard lock(all.mutex);
  std::vector<std::shared_ptr<service_core>> found;
  for (const auto& each : all.cores) {
    if (auto alive = each.lock()) found.push_back(std::move(alive));
  }
  return found;
}

// ---- how a service ends --------------------------------------------------------------------------------------------

namespace {
/// How long the destructor of the service waits for its threads. They own the core, so they may end later.
constexpr auto last_join_limit = 10s;
}  // namespace

service_core::call::call(service_core& core) : core_(core.shared_from_this()) { ++core_->calls_; }

service_core::call::~call() {
  --core_->calls_;
  core_->changed();
}

void service_core::wake_closing() noexcept {
  if (!closed_.load()) return;  // nothing waits before that
  const base::lock_guard lock(mutex_);
  shared_.time.notify(changed_);
}

void service_core::changed() noexcept {
  if (!closed_.load()) return;
  wake_closing();
  wind_down_if_done();
}

void service_core::must_not_wait_for_itself(const char* doing) const {
  if (!application_code::runs_for(shared_)) return;
  throw std::logic_error(fmt::format(
      "dlock: {} on a thread that runs a handler, an observer or a callback on a lost token of this service, for which "
      "it would wait: call close(0ms) there, and let another thread wait for the end and destroy the service",
      doing));
}

void service_core::wind_down_if_done() noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (!finish_ || wound_down_ || grants_.any() || calls_ > 0) return;
    wound_down_ = true;
  }
  // No code runs under a lock any more. Renewals stop first. Then the background frees what remains, in the time that a
  // release has, and ends last.
  const auto now = shared_.time.now();
  const auto end = now + shared_.options.release_limit;
  upkeep_.request_stop();
  statements_.end_by(end);
  sessions_.retire_all(loss_reason::none, now);
  background_.begin_end(now, end);
}

void service_core::join_threads(std::chrono::milliseconds limit) noexcept {
  if (serving_ == this) return;
  auto& clock = threads_->join_clock();
  const auto end = clock.now() + shared_.options.release_limit;
  threads_->wait(limit);
  const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock.now());
  // A thread that connects can't always be ended; then it is left behind.
  connecting_->wait(std::max<std::chrono::milliseconds>(remaining, 50ms));
  connecting_->detach();
}

void service_core::join_if_last() noexcept {
  if (!closed_.load()) return;
  {
    const base::lock_guard lock(mutex_);
    if (!wound_down_) return;
  }
  join_threads(shared_.options.release_limit);
}

std::vector<std::string> service_core::close(std::chrono::milliseconds limit) {
  if (limit.count() > 0) must_not_wait_for_itself("close(): called");
  closed_.store(true);
  closing_.request_stop();
  const auto until = shared_.time.now() + limit;
  for (const auto& each : grants_.lingering().close()) grants_.give_back(each, shared_.time.now());
  // Also those that another process has made it give up just before.
  const auto frees = [&] { return grants_.lingering().used() && background_.open_releases() > 0; };
  base::unique_lock lock(mutex_);
  while ((grants_.any() || calls_ > 0 || frees()) && shared_.time.now() < until) {
    shared_.time.wait_until(changed_, lock.native(), until);
  }
  lock.unlock();
  std::vector<std::string> keys;
  sessions_.for_each_grant([&](const grant& grant) {
    if (grant.state.load() == grant_state::held) keys.emplace_back(grant.key.view());
  });
  std::sort(keys.begin(), keys.end());
  return keys;
}

void service_core::revoke_all() {
  sessions_.refuse_grants();  // a grant that comes now is in the list below, or is given back
  std::vector<std::shared_ptr<grant>> held;
  sessions_.for_each_grant([&](const grant& grant) {
    if (auto alive = std::const_pointer_cast<engine::grant>(grant.weak_from_this().lock()))
      held.push_back(std::move(alive));
  });
  microseconds margin{0};
  const auto now = shared_.time.now();
  for (const auto& grant : held) {
    margin = std::max(margin, margin_for(grant->ttl, shared_.options.margin));
    grants_.lost(grant, loss_reason::closed, now);
  }
  if (held.empty()) return;
  const auto until = now + margin + background_work::longest_notice + shared_.options.release_limit;
  base::unique_lock lock(mutex_);
  while (background_.open_releases() > 0 && shared_.time.now() < until) {
    shared_.time.wait_until(changed_, lock.native(), until);
  }
}

void service_core::end(std::chrono::milliseconds limit) noexcept {
  must_not_wait_for_itself("a lock_service is destroyed");  // std::terminate, and its text says why
  try {
    close(0ms);  // nothing new from here on
    bool wait = calls_ > 0;
    // Leases of calls of this thread can't end while it waits here. Keys that are being released become free.
    sessions_.for_each_grant([&](const grant& grant) {
      wait = wait || grant.state.load() != grant_state::held || !on_own_stack(grant.anchor.load());
    });
    if (wait && limit.count() > 0) {
      tell_held(fmt::format("the service ends, and waits up to {} ms for it", limit.count()));
      close(limit);
    }
    tell_held("the service has ended; it stays held until it is let go, or for at most its ttl after the process");
  } catch (const std::bad_alloc&) {
    // Then it waits less, and reports less.
  }
  finish();
}

void service_core::tell_held(const std::string& text) {
  std::vector<std::pair<lock_key, std::uint64_t>> held;
  sessions_.for_each_grant([&](const grant& grant) {
    if (grant.state.load() == grant_state::held) held.emplace_back(grant.key, grant.fence_shown());
  });
  for (const auto& [key, fence] : held) {
    shared_.notify({.what = event::kind::still_held, .key = key.view(), .fence = fence, .text = text});
  }
}

void service_core::finish() noexcept {
  {
    const base::lock_guard lock(mutex_);
    finish_ = true;
  }
  wind_down_if_done();
  if (grants_.held() > 0 || calls_ > 0) return;
  join_threads(last_join_limit);
}

}  // namespace dlock::engine
