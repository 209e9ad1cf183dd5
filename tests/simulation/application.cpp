// SPDX-License-Identifier: BSL-1.0
#include "simulation/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <stop_token>

#include "simulation/trace.hpp"
#include "simulation/transactions.hpp"

namespace dlock::simulation {

using namespace std::chrono_literals;

namespace {
/// What a call may take longer than its wait. A statement that is under way at its end has 2 s, and so have those that
/// must follow: on a server that is slow again and again a session is opened, a take is refused, a poll follows, an
/// attempt is undone.
constexpr moment grace = 16'000'000;
/// Where nothing fails: its statements alone, of which one may be for 30 keys. Another transaction may have a row
/// locked for a second.
constexpr moment quiet_grace = 1'000'000;
constexpr moment locked_grace = 3'000'000;

const std::shared_ptr<engine::grant>& grant_of(const lease& held) { return detail::access::grant_of(held); }
/// Of a store without fences the number of the grant.
std::uint64_t fence_of(const lease& held) { return grant_of(held)->shown(); }
}  // namespace

application::timed::timed(application& in, const char* what, std::chrono::microseconds wait)
    : in_(in), what_(what), wait_(wait.count()), begun_(in.scene_.in.now()), lost_(in.process_.time_lost()) {}

application::timed::~timed() {
  auto& world = in_.scene_.in;
  if (in_.process_.buried()) return;
  const auto took = world.now() - begun_ - (in_.process_.time_lost() - lost_);
  in_.scene_.longest = std::max(in_.scene_.longest, took - wait_);
  // The process waits by its own clock.
  const auto waited = took - wait_ - wait_ * 6 / 100;
  const bool quiet = world.quiet_from() <= begun_;
  if (waited > (!quiet ? grace : in_.scene_.how.locks_rows() ? locked_grace : quiet_grace)) {
    world.fail(fmt::format("liveness: {}: {} with a wait of {} ms took {} ms{}", in_.process_.name(), what_,
                           wait_ / millisecond, took / millisecond, quiet ? ", and nothing had failed" : ""));
  }
}

application::application(scene& on, process& of)
    : scene_(on), process_(of), store_(std::make_shared<simulated_store>(on.by, of)) {}

application::service_pointer application::make_service() {
  store_->known().service_begins();
  service_options how{
      .label = process_.name(), .connections = scene_.how.connections, .observer = news_, .time = &process_};
  how.close_limit = 2s;
  how.cleanup_interval = has(hazard::cleanup) ? 1s : 0s;
  how.key_retention = 500ms;
  if (often(20)) how.break_verified_after = 1s;
  return std::make_shared<lock_service>(store_, how);
}

void application::news::on(const event& what) {
  auto& in = of_.scene_.in;
  in.mix(static_cast<std::uint64_t>(what.what));
  trace(in, what.key);
  in.mix(what.fence);
  if (what.what == event::kind::lost) {
    in.tell(of_.process_.name(),
            [&] { return fmt::format("key {}: loses fence {}: {}", what.key, what.fence, to_string(what.reason)); });
    of_.scene_.sees.loss_notified(of_.process_, what.key, what.fence);
    // By an operator, who revokes the session or deletes the lock, it may be lost at any time.
    const bool by_force = what.reason == loss_reason::renewal_refused || what.reason == loss_reason::taken_over;
    const bool by_fault = what.reason == loss_reason::unreachable || what.reason == loss_reason::abandoned ||
                          what.reason == loss_reason::server_changed ||
                          (by_force && !of_.has(hazard::force) && !of_.has(hazard::deletions));
    const bool stood_still = of_.scene_.how.about == subject::stops && !of_.process_.undisturbed(10 * second);
    if (by_fault && !stood_still && in.quiet_from() <= in.now() && !of_.process_.dead()) {
      in.fail(fmt::format("I4: key {}: {} loses fence {} ({}), and nothing has failed", what.key, of_.process_.name(),
                          what.fence, to_string(what.reason)));
    }
  }
  const bool alarm =
      what.what == event::kind::split_brain && !of_.scene_.sees.is_forced(std::string(what.key), what.fence);
  if (alarm) in.fail(fmt::format("I1: key {}: a release of fence {} finds another holder", what.key, what.fence));
}

void application::begin() {
  for (unsigned i = 0; i < scene_.how.threads; ++i) {
    ++busy_;
    process_.start_thread([this] {
      run_thread();
      thread_ends();
    });
  }
}

void application::run_thread() {
  if (service_ == nullptr) service_ = make_service();
  std::optional<owner_scope> named;
  if (has(hazard::requests) && often(60)) {
    named.emplace(owner(often(50) ? "one" : "another"));
  } else if (has(hazard::reentry)) {
    named.emplace();
  }
  for (unsigned i = 0; i < scene_.how.rounds && goes_on(); ++i) {
    try {
      one_round();
    } catch (const dlock::error& error) {
      scene_.in.mix(static_cast<std::uint64_t>(error.code().value()));
      scene_.in.tell(process_.name(), [&] { return std::string("gets ") + error.what(); });
    }
    if (often(5)) linger(200 * millisecond);
  }
}

void application::prove_alive() {
  for (int i = 0; i < 2; ++i) {
    ++busy_;
    process_.start_thread([this] {
      for (const auto& key : scene_.keys) {
        const auto begun = scene_.in.now();
        try {
          lock_options how{.ttl = 1s, .wait = 20s};
          share(how);
          const auto held = service_->acquire(key, fit(how, {key}));
          process_.sleep(5 * millisecond);
        } catch (const dlock::error& failed) {
          scene_.in.fail(
              fmt::format("I4: key {}: {} can't have it any more: {}", key.view(), process_.name(), failed.what()));
        }
        if (scene_.in.now() - begun > 3'000 * millisecond) {
          scene_.in.fail(
              fmt::format("liveness: key {}: {} gets it long after it is free", key.view(), process_.name()));
        }
      }
      thread_ends();
    });
  }
}

void application::lock_deleted(const std::string& key, const lock_row& row) {
  process_.post(scene_.by.travel(process_),
                [this, key, session = row.session, fence = row.fence] { store_->lock_deleted(key, session, fence); });
}

void application::hold_until_killed(const std::vector<const lock_key*>& keys, const lock_mode& mode, bool& holds) {
  ++busy_;
  process_.start_thread([this, keys, mode, &holds] {
    std::vector<lease> held;
    try {
      for (const auto* each : keys)
        held.push_back(service_->acquire(*each, fit({.ttl = 2s, .wait = 20s, .mode = mode}, {*each})));
      holds = true;
      process_.sleep(3'600'000 * millisecond);
    } catch (const dlock::error& failed) {
      scene_.in.fail(fmt::format("I4: {} can't have keys that are free: {}", process_.name(), failed.what()));
    }
    held.clear();
    thread_ends();
  });
}

void application::inherit(const lock_key& key, const lock_mode& mode, const moment& death) {
  ++busy_;
  process_.start_thread([this, &key, mode, &death] {
    const auto how = fit({.ttl = 2s, .wait = 30s, .mode = mode}, {key});
    // The first pause of a row by its column, whose seconds are whole, and the longest pause of others.
    const moment pause = key.row() != nullptr && key.row()->table->renewal == row_renewal::column ? 2'500 : 300;
    const auto most = (how.ttl->count() + pause) * millisecond + 100 * millisecond + 40 * scene_.how.longest_travel();
    try {
      const auto held = service_->acquire(key, how);
      const auto took = scene_.in.now() - death;
      if (death == 0 || took > most) {
        scene_.in.fail(fmt::format("I4: key {}: {} gets it {} ms after its holder was killed, whose ttl was {} ms",
                                   key.view(), process_.name(), took / millisecond, how.ttl->count()));
      }
    } catch (const dlock::error& failed) {
      scene_.in.fail(fmt::format("I4: key {}: {} can't have it: {}", key.view(), process_.name(), failed.what()));
    }
    thread_ends();
  });
}

void application::contest(const lock_key& key, const lock_mode& mode, moment until, moment hold, contestant& of) {
  ++busy_;
  process_.start_thread([this, &key, mode, until, hold, &of] {
    const auto how = fit({.ttl = 2s, .wait = 60s, .mode = mode}, {key});
    while (scene_.in.now() < until) {
      const auto begun = scene_.in.now();
      try {
        const auto held = service_->acquire(key, how);
        of.longest = std::max(of.longest, scene_.in.now() - begun);
        ++of.grants;
        process_.sleep(scene_.in.random.between(hold / 2, 3 * hold / 2));
      } catch (const dlock::error& failed) {
        scene_.in.fail(fmt::format("I4: key {}: {} can't have it: {}", key.view(), process_.name(), failed.what()));
      }
    }
    thread_ends();
  });
}

void application::end() {
  ++busy_;
  process_.start_thread([this] {
    while (busy_ > 1) process_.sleep(100 * millisecond);  // of a crashed one the others are still in their calls
    abandoned_.clear();
    if (service_ != nullptr) bounded("the service's end", 8s, [&] { service_.reset(); });
    thread_ends();
  });
}

// ---- rounds ---------------------------------------------------------------------------------------------------------

lock_options application::options_by_chance() {
  auto& chance = scene_.in.random;
  lock_options how{.ttl = 1s, .wait = std::chrono::milliseconds{chance.between(0, 2'500)}};
  if (often(20)) how.ttl = std::chrono::milliseconds{chance.between(1'000, 6'000)};
  if (has(hazard::long_waits) && often(10)) how.wait = std::chrono::milliseconds{chance.between(2'500, 20'000)};
  how.reentry = reentry::busy;  // of a lease that was abandoned; what is meant to enter again says so
  how.retry = {.pause = std::chrono::milliseconds{scene_.how.first_pause},
               .max_pause = std::chrono::milliseconds{10 * scene_.how.first_pause}};
  if (has(hazard::unkept) && often(25)) {
    how.renewal = often(50) ? renewal::none : renewal::manual;
    // Some so short that of several keys one may end before the last is granted.
    how.ttl = std::chrono::milliseconds{chance.between(100, often(40) ? 130 : 3'000)};
  }
  if (has(hazard::limits) && often(10)) how.min_hold = std::chrono::milliseconds{chance.between(1, 300)};
  if (has(hazard::limits) && often(10)) how.max_hold = std::chrono::milliseconds{chance.between(300, 1'500)};
  if (has(hazard::cancels) && often(scene_.how.cancelled)) {
    std::stop_source cancel;
    how.cancel = cancel.get_token();
    scene_.in.after(chance.between(0, often(50) ? 5 * scene_.how.travel : 500 * millisecond),
                    [cancel]() mutable { cancel.request_stop(); });
  }
  share(how);
  return how;
}

void application::share(lock_options& how) {
  if (scene_.how.about != subject::shared || often(35)) return;
  how.renewal.reset();
  how.min_hold.reset();
  if (how.max_hold)
    how.max_hold = std::chrono::milliseconds{scene_.in.random.between(10, 300)};  // beside other readers
  if (often(50)) {
    how.mode = shared;
    return;
  }
  const auto permits = static_cast<std::uint32_t>(scene_.in.random.between(1, 4));
  how.mode = one_of(permits, static_cast<std::uint32_t>(scene_.in.random.between(1, permits)));
}

bool application::for_request() { return engine::in_owner_scope() && !engine::current_owner()->request_id.empty(); }

lock_options application::fit(lock_options how, const std::vector<lock_key>& keys) const {
  const auto caps = scene_.how.caps();
  if (scene_.how.in_order) how.fairness = fairness::fifo;
  if (!caps.min_hold) how.min_hold.reset();
  if (!caps.expiring_leases) how.renewal.reset();
  if (for_request()) {  // other threads enter it again, which must not ask for anything else
    how.reentry = reentry::allow;
    how.renewal = renewal::manual;
    how.max_hold.reset();
  }
  const bool in_rows = std::any_of(keys.begin(), keys.end(), [](const auto& key) { return key.row() != nullptr; });
  const bool kept = !how.renewal || *how.renewal == renewal::automatic;
  if (caps.lingers && !in_rows && kept && !how.min_hold && scene_.in.random.chance(800'000))
    how.linger = std::chrono::milliseconds{scene_.in.random.between(1, 1'000)};
  for (const auto& key : keys) {
    if (key.row() == nullptr) continue;
    how.min_hold.reset();
    if (key.row()->table->renewal == row_renewal::column) how.ttl = std::max<std::chrono::milliseconds>(*how.ttl, 5s);
  }
  return how;
}

void application::one_round() {
  auto how = options_by_chance();
  const auto once = often(8);
  if (once) how.wait.reset();
  for (const auto& each : abandoned_) scene_.sees.check(process_, each);
  if (has(hazard::closes) && often(2)) return restart_service();
  if (often(2)) return operate();
  if (has(hazard::claims) && has(hazard::rows) && often(15)) return claim(how);
  if (has(hazard::several) && often(20)) return lock_several(how, once);
  if (has(hazard::asynchronous) && often(40)) return lock_async(how, once);
  lock(how, once);
}

application::asking::asking(application& in, const lock_key& key, bool waits, const lock_options& how)
    : in_(in), key_(key), waits_(waits), mode_(how.mode.value_or(exclusive)) {
  if (waits_) in_.scene_.sees.wait_begins(in_.process_, key_.view(), mode_);
  if (mode_ == exclusive) in_.scene_.sees.writer_begins(in_.process_, key_.view());
  in_.scene_.in.tell(in_.process_.name(), [&] {
    return fmt::format("key {}: asks{}{}", key_.view(),
                       mode_ == exclusive ? ""
                       : mode_ == shared  ? " as a reader"
                                          : fmt::format(" for {} of {}", mode_.units, mode_.permits),
                       waits_ ? fmt::format(", and waits for {} ms", how.wait.value_or(0ms).count()) : "");
  });
}

application::asking::~asking() {
  if (mode_ == exclusive && !has_it_) in_.scene_.sees.writer_ends(in_.process_, key_.view());
  trace(in_.scene_.in, key_.view());
  in_.scene_.in.mix(std::uint64_t{has_it_});
  if (has_it_) return;
  if (waits_) in_.scene_.sees.wait_ends(in_.process_, key_.view(), mode_, false);
  in_.scene_.in.tell(in_.process_.name(), [&] { return fmt::format("key {}: gets nothing", key_.view()); });
}

void application::took(const lease& held) {
  ++scene_.acquires;
  trace(scene_.in, held.key());
  scene_.in.mix(fence_of(held));
  if (!held.reentered()) scene_.sees.handed_out(process_, grant_of(held));
  scene_.in.tell(process_.name(), [&] { return fmt::format("key {}: has fence {}", held.key(), fence_of(held)); });
}

void application::took_after_wait(const lease& held, const lock_options& how, instant begun) {
  if (how.fairness != fairness::fifo && !how.cancel && !held.reentered() && grant_of(held)->mode == exclusive)
    store_->known().handed_out(*grant_of(held), begun, begun + *how.wait);
}

void application::lock(const lock_options& how, bool once) {
  const auto& key = key_by_chance();
  const auto service = service_;
  const auto options = fit(how, {key});
  asking now(*this, key, !once, options);
  const bool quiet = often(80);  // no exception says that it was busy: those take most of a run's time
  const auto begun = process_.now();
  auto held = bounded(once ? "try_acquire" : "acquire", once ? 0ms : *how.wait, [&] {
    return once || quiet ? service->try_acquire(key, options) : service->acquire(key, options);
  });
  if (!held) return;
  now.has_it();
  took(held);
  if (!once) took_after_wait(held, options, begun);
  if (engine::in_owner_scope() && often(20)) {
    const auto again = bounded("re-entry", 0ms, [&] {
      return service->try_acquire(
          key, fit({.ttl = options.ttl, .renewal = options.renewal, .reentry = reentry::allow, .mode = options.mode},
                   {key}));
    });
    if (again && fence_of(again) != fence_of(held) && held.remaining() > 0us) {
      scene_.in.fail(
          fmt::format("re-entry: {} gets fence {} while it has {}", process_.name(), fence_of(again), fence_of(held)));
    }
    hold(held);
  }
  if (has(hazard::nested) && !engine::in_owner_scope() && often(scene_.how.nested)) nest(held);
  hold(held);
  let_go(std::move(held));
}

void application::nest(const lease& outer) {
  const auto& key = key_by_chance();
  if (key.view() == outer.key()) return;
  const auto service = service_;
  auto how = fit(options_by_chance(), {key});
  if (often(50)) how.wait = std::chrono::milliseconds{scene_.in.random.between(1'000, 8'000)};
  const auto& grant = grant_of(outer);
  const bool certain =
      grant->kind != lease_kind::expiring && (grant->deadline == nullptr || grant->deadline->cap == instant::max());
  if (scene_.how.before_nested > 0) linger(scene_.how.before_nested);
  asking now(*this, key, true, how);
  auto& waits = scene_.sees.nest_begins(process_, {grant}, {std::string(key.view())}, certain, *how.wait);
  bool refused = false;
  lease inner;
  try {
    inner = bounded("a nested acquire", *how.wait, [&] { return service->acquire(key, how); });
  } catch (const lock_deadlock& cycle) {
    refused = true;
    scene_.in.tell(process_.name(), [&] { return std::string("gets ") + cycle.what(); });
  } catch (const lock_timeout&) {
  } catch (...) {
    scene_.sees.nest_ends(waits, false);
    throw;
  }
  scene_.sees.nest_ends(waits, refused);
  if (!inner) return;
  now.has_it();
  took(inner);
  hold(inner);
  let_go(std::move(inner));
}

void application::lock_async(const lock_options& how, bool once) {
  struct call {
    bool over = false;
    std::exception_ptr failure{};
    lease held{};
    std::function<void()> wake{};
  };
  const auto& key = key_by_chance();
  const auto service = service_;
  const auto options = fit(how, {key});
  asking now(*this, key, !once, options);
  const auto mine = std::make_shared<call>();
  auto handler = [mine, this](std::exception_ptr failure, lease held) {
    if (mine->over) scene_.in.fail("a handler is called a second time");
    mine->over = true;
    mine->failure = std::move(failure);
    mine->held = std::move(held);
    if (const auto wake = std::exchange(mine->wake, nullptr)) wake();
  };
  const auto begun = process_.now();
  bounded("an asynchronous call", once ? 0ms : *how.wait, [&] {
    if (once || often(80)) {
      service->async_try_acquire(key, options, std::move(handler));
    } else {
      service->async_acquire(key, options, std::move(handler));
    }
    if (mine->over) return;
    mine->wake = process_.waker();
    process_.wait_for_waker();
  });
  if (!mine->held) return;  // an exception that it may have got instead says nothing more
  now.has_it();
  auto held = std::move(mine->held);
  took(held);
  if (!once) took_after_wait(held, options, begun);
  hold(held);
  if (often(70)) {
    let_go_async(std::move(held));
  } else {
    let_go(std::move(held));
  }
}

std::vector<lock_key> application::keys_by_chance() {
  auto& chance = scene_.in.random;
  std::vector<std::size_t> order(scene_.keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[chance.below(i)]);
  order.resize(1 + chance.below(order.size()));
  std::vector<lock_key> some;
  for (const auto each : order) some.push_back(scene_.keys[each]);
  return some;
}

void application::lock_several(const lock_options& how, bool once) {
  const auto keys = keys_by_chance();
  const auto service = service_;
  const auto options = fit(how, keys);
  const bool quiet = often(80);
  std::vector<std::string> names;
  for (const auto& key : keys) names.emplace_back(key.view());
  auto& waits = scene_.sees.nest_begins(process_, {}, names, false, how.wait.value_or(0ms));
  multi_lease held;
  try {
    held = bounded(once ? "try_acquire_all" : "acquire_all", once ? 0ms : *how.wait, [&] {
      return once || quiet ? service->try_acquire_all(keys, options) : service->acquire_all(keys, options);
    });
  } catch (const lock_deadlock&) {
    scene_.sees.nest_ends(waits, true);
    throw;
  } catch (...) {
    scene_.sees.nest_ends(waits, false);
    throw;
  }
  scene_.sees.nest_ends(waits, false);
  if (!held) return;
  for (const auto& key : keys) took(held[key]);
  linger(20 * millisecond);
  for (const auto& key : keys) scene_.sees.check(process_, held[key]);
  scene_.in.tell(process_.name(), [] { return std::string("lets several keys go"); });
  bounded("the release of several", 0ms, [&] { held.release(); });
}

void application::restart_service() {
  const auto before = std::exchange(service_, make_service());
  if (before == nullptr) return;
  scene_.in.tell(process_.name(), [] { return std::string("closes its service"); });
  if (often(50)) {
    bounded("close", 3s, [&] { before->close(300ms, release_all); });
  } else {
    bounded("close", 300ms, [&] { before->close(300ms); });
  }
}

void application::operate() {
  const auto& key = key_by_chance();
  const auto service = service_;
  if (has(hazard::force) && often(50)) {
    const std::string name(key.view());
    const auto at = scene_.at.data.locks().find(key.view());
    const auto fence = at == scene_.at.data.locks().end() ? 0 : at->second.fence;
    const struct forcing {
      application& in;
      const std::string& key;
      forcing(application& by, const std::string& of) : in(by), key(of) {
        in.scene_.sees.force_begins(in.process_, key);
      }
      ~forcing() { in.scene_.sees.force_done(in.process_, key); }
    } now(*this, name);
    const auto members = scene_.sees.members(name);
    const bool of_members = at != scene_.at.data.locks().end() && at->second.shared() != membership::none;
    if (!bounded("force_release", 0ms, [&] { return service->force_release(key); })) return;
    if (of_members) {
      scene_.sees.revoked(name, members);
    } else {
      scene_.sees.revoked(name, fence);
    }
  } else if (often(50)) {
    bounded("holder", 0ms, [&] { static_cast<void>(service->holder(key)); });
  } else {
    bounded("held_keys", 0ms, [&] { static_cast<void>(service->held_keys()); });
  }
}

// ---- with a lease ---------------------------------------------------------------------------------------------------

void application::linger(moment most) { process_.sleep(scene_.in.random.between(1, most)); }

void application::hold(lease& held) {
  const auto grant = grant_of(held);
  const auto length = often(has(hazard::long_holds) ? 10 : 1) ? 1'500 * millisecond
                      : often(30)                             ? 50 * millisecond
                                                              : 2 * millisecond;
  for (auto polls = scene_.in.random.between(1, 2); polls > 0; --polls) {
    linger(length);
    if (process_.buried()) return;
    // Processes that hold a key for one request write in any order.
    if (scene_.sees.check(process_, held) && grant->owner->request_id.empty()) {
      if (grant->mode == exclusive) {
        scene_.sees.write(std::string(held.key()), fence_of(held));
      } else {
        scene_.sees.read(std::string(held.key()), fence_of(held));
      }
    }
    if (grant->renewable && often(40)) bounded("renew", 0ms, [&] { held.renew(); });
  }
  if (has(hazard::transactions) && grant->mode == exclusive && often(30)) write_verified(held);
}

void application::write_verified(const lease& held) {
  open_transaction in(scene_.by, process_);
  if (!in.verify(held)) return;
  linger(often(5) ? 2'000 * millisecond : 20 * millisecond);
  const auto key = std::string(held.key());
  in.at_commit([&sees = scene_.sees, key, fence = fence_of(held)] { sees.write(key, fence); });
  in.commit();
}

std::string application::note_release(const lease& held) {
  if (!held.reentered() && held.remaining() > 0us && grant_of(held)->mode == exclusive)
    store_->known().lets_go(*grant_of(held));
  return std::string(held.key());
}

void application::let_go(lease held) {
  scene_.in.tell(process_.name(), [&] { return fmt::format("key {}: lets fence {} go", held.key(), fence_of(held)); });
  if (has(hazard::abandoned) && often(3)) {
    abandoned_.push_back(std::move(held));  // until the end of the service
    return;
  }
  if (has(hazard::transactions) && grant_of(held)->mode == exclusive && often(10)) {
    open_transaction in(scene_.by, process_);
    const bool verified = in.verify(held);
    bounded("release in a transaction", 0ms, [&] { const auto ends = std::move(held); });
    linger(20 * millisecond);
    if (verified) in.commit();
    return;
  }
  const auto key = note_release(held);
  if (often(50)) {
    bounded("release", 0ms, [&] { held.release(); });
  } else {
    bounded("a lease's end", 0ms, [&] { const auto ends = std::move(held); });
  }
  store_->known().has_let_go(key);
}

void application::let_go_async(lease held) {
  struct call {
    bool over = false;
    std::function<void()> wake{};
  };
  const auto mine = std::make_shared<call>();
  const auto key = note_release(held);
  bounded("an asynchronous release", 0ms, [&] {
    async_release(std::move(held), [mine, key, store = store_](const std::exception_ptr&) {
      store->known().has_let_go(key);
      mine->over = true;
      if (const auto wake = std::exchange(mine->wake, nullptr)) wake();
    });
    if (mine->over || often(50)) return;
    mine->wake = process_.waker();
    process_.wait_for_waker();
  });
}

}  // namespace dlock::simulation
