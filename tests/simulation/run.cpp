// SPDX-License-Identifier: BSL-1.0
#include "simulation/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "simulation/application.hpp"
#include "simulation/fibre.hpp"

namespace dlock::simulation {

namespace {

/// Of a process, in runs about stops: some waits end meanwhile, and some last on.
constexpr moment longest_stop = 15 * second;

class run {
 public:
  run(const plan& how, mistake wrong, bool with_story);
  run(const run&) = delete;
  run& operator=(const run&) = delete;
  ~run() { bytes_come_from(nullptr); }

  void play();
  result take();

 private:
  void add_process();
  void make_keys();
  void misfortune();
  void foreign();
  void freeze(process& one);
  void crash(process& one);
  /// False: it takes longer than that.
  bool until_idle(moment limit, const char* what);
  void settle();
  void prove_taken_over();
  void prove_fair();
  void prove_writers();
  void try_keys();
  void bury();
  process& any_process() { return *processes_[world_.random.below(processes_.size())]; }

  const plan plan_;
  world world_;
  random_source bytes_;
  server server_;
  network network_;
  checker checker_;
  scene scene_;
  std::vector<std::unique_ptr<process>> processes_{};
  std::vector<std::unique_ptr<application>> applications_{};
};

run::run(const plan& how, mistake wrong, bool with_story)
    : plan_(how),
      world_(how.seed),
      bytes_(how.seed ^ 0xb17e5ULL),
      server_(world_, plan_),
      network_(world_, server_, plan_),
      checker_(world_, server_, plan_),
      scene_{plan_, world_, server_, network_, checker_} {
  bytes_come_from(&bytes_);
  world_.story.wanted = with_story;
  server_.data.wrong = server_.waiters.wrong = wrong;
  server_.data.sets_in_order = how.seed % 2 == 0;
  make_keys();
  server_.locked = [this](const std::string& key, moment time) { checker_.row_locked(key, time); };
  server_.deleted = [this](const std::string& key, const lock_row& row) {
    const auto* const whose = checker_.deleted(key, row);
    for (const auto& each : applications_) {
      if (&each->of() == whose) each->lock_deleted(key, row);
    }
  };
  for (unsigned i = 0; i < plan_.processes; ++i) add_process();
}

void run::make_keys() {
  const auto table_named = [](const char* name, row_renewal renewal) {
    auto table = std::make_shared<row_table>();
    table->table = table->label = name;
    table->id = {"id"};
    table->owner = "owner";
    table->expires_at = "expires";
    table->fence = "fence";
    table->renewal = renewal;
    return table;
  };
  const auto kept = table_named("t", row_renewal::session);
  const auto shared = table_named("c", row_renewal::column);
  for (unsigned i = 0; i < plan_.keys; ++i) {
    if (!plan_.has(hazard::rows) || i % 2 == 0) {
      scene_.keys.emplace_back(fmt::format("k{}", i));
      continue;
    }
    const bool by_column = plan_.has(hazard::columns) && i % 4 == 1;
    auto row = lock_key::of_row(by_column ? shared : kept, {std::int64_t{i}});
    server_.data.make_row(std::string(row.view()), by_column);
    scene_.keys.push_back(std::move(row));
  }
}

void run::foreign() {
  if (scene_.over) return;
  server_.foreign();
  world_.after(world_.random.between(1'000, second / 2), [this] { foreign(); });
}

void run::add_process() {
  auto& chance = world_.random;
  process::clockwork clock;
  clock.offset = chance.between(0, 1'000 * second);
  if (plan_.has(hazard::drift)) clock.drift_ppm = chance.between(-49'000, 49'000);
  clock.keeps_order = plan_.passes_over();
  if (plan_.has(hazard::late_threads)) {
    clock.late_ppm = 5'000;
    clock.late_by = chance.between(1'000, second / 2);
  }
  if (plan_.has(hazard::distances)) {
    const bool far_or_near = plan_.about == subject::cycles;
    clock.distance = chance.between(1, far_or_near ? 2 : plan_.farthest);
    if (far_or_near && clock.distance == 2) clock.distance = plan_.farthest;
  }
  processes_.push_back(std::make_unique<process>(world_, fmt::format("p{}", processes_.size() + 1), clock));
  applications_.push_back(std::make_unique<application>(scene_, *processes_.back()));
}

// ---- misfortunes ----------------------------------------------------------------------------------------------------

void run::freeze(process& one) {
  if (one.frozen()) return;
  auto& chance = world_.random;
  const auto longest = plan_.about == subject::stops ? longest_stop : 6 * second;
  const auto time = chance.chance(300'000) ? chance.between(second, longest) : chance.between(1'000, second);
  world_.tell(one.name(), [&] { return fmt::format("stands still for {} ms", time / 1'000); });
  ++network_.faults;
  // In runs about stops the checker knows what a process that stands still excuses.
  if (plan_.about != subject::stops) world_.disturb(time + 10 * second);
  one.freeze();
  world_.after(time, [&one] {
    if (!one.dead()) one.thaw();
  });
}

void run::crash(process& one) {
  if (one.dead()) return;
  world_.tell(one.name(), [] { return std::string("is killed"); });
  ++network_.faults;
  // Its connections, and what they have locked, are there for a while, and its leases for a ttl.
  world_.disturb(20 * second);
  one.crash();
  ++scene_.ends;
  network_.vanished(one);
  add_process();
  applications_.back()->begin();
}

void run::misfortune() {
  if (scene_.over) return;
  auto& chance = world_.random;
  const auto may = [&](hazard what, std::uint64_t percent) {
    return plan_.has(what) && chance.chance(percent * 10'000);
  };
  if (may(hazard::freezes, 40)) freeze(any_process());
  if (may(hazard::crashes, 25) && processes_.size() < 12) crash(any_process());
  if (may(hazard::restarts, 10)) server_.restart(chance.between(1'000, 2 * second), may(hazard::failovers, 30));
  if (may(hazard::clock_steps, 10)) server_.step_back(chance.between(1'000, 3 * second));
  if (may(hazard::deletions, 20)) server_.delete_lock();
  if (may(hazard::broken_channels, 20)) network_.break_channel(false);
  if (may(hazard::silent_channels, 20)) network_.break_channel(true);
  if (may(hazard::kills, 50)) {
    if (const auto id = server_.any_connection(); id != 0) {
      world_.disturb(10 * second);
      ++network_.faults;
      server_.kill(id);
    }
  }
  world_.after(chance.between(1, 2 * plan_.mischief), [this] { misfortune(); });
}

// ---- one run --------------------------------------------------------------------------------------------------------

bool run::until_idle(moment limit, const char* what) {
  const auto busy = [this] {
    return std::any_of(applications_.begin(), applications_.end(),
                       [](const auto& each) { return !each->of().dead() && each->busy() > 0; });
  };
  scene_.ends = 1;
  const auto idle = [&] { return scene_.ends > 0 && (scene_.ends = 0, !busy()); };
  if (world_.run(idle, world_.now() + limit)) return true;
  if (!world_.failed()) world_.fail(fmt::format("liveness: {}", what));
  return false;
}

void run::play() {
  for (const auto& each : applications_) each->begin();
  world_.after(plan_.mischief, [this] { misfortune(); });
  if (plan_.has(hazard::foreign)) foreign();
  if (!until_idle(3'600 * second, "a thread of the application never ends")) return;
  scene_.over = true;
  network_.calm();
  settle();
  if (world_.failed()) return;
  for (const auto& each : applications_) {
    if (!each->of().dead()) each->end();
  }
  if (!until_idle(60 * second, "a service does not end")) return;
  for (const auto& each : applications_) {
    if (!each->of().dead() && each->store().watches() > 0)
      return world_.fail(fmt::format("I7: {} has ended, and still watches a key", each->of().name()));
  }
  try_keys();
}

/// Everybody has let go: what is left ends by itself.
void run::settle() {
  const auto never = [] { return false; };
  if (plan_.has(hazard::abandoned)) return;
  // A frozen process goes on at last; deferred releases, and cancellations of what was in doubt, have their time.
  const auto frozen_on = plan_.about == subject::stops ? longest_stop : 0;
  world_.run(never, world_.now() + frozen_on + (server_.stepped() > 0 ? 22 : 16) * second);
  if (world_.failed()) return;
  checker_.check_free(checker_.sessions());
  for (const auto& each : applications_) {
    if (each->of().dead()) continue;
    each->prove_alive();
    if (!until_idle(600 * second, "a thread waits for a key that is free")) return;
  }
  if (world_.random.chance(300'000)) plan_.about == subject::shared ? prove_writers() : prove_fair();
  if (world_.failed()) return;
  if (world_.random.chance(200'000)) prove_taken_over();
  if (world_.failed()) return;
  if (world_.random.chance(100'000)) {
    // A claim whose commit had no answer is cancelled again and again for ten minutes, under its session.
    world_.run(never, world_.now() + (plan_.has(hazard::claims) ? 750 : 150) * second);
    for (const auto& [id, row] : server_.data.all_sessions()) {
      if (row.expires > server_.clock())
        return world_.fail("I7: session " + id.hex().substr(0, 6) + " has no user and goes on");
    }
  }
}

/// I4: what a process held that is killed can be had within a ttl and a pause of a waiter.
void run::prove_taken_over() {
  std::vector<application*> all;
  for (const auto& each : applications_) {
    if (!each->of().dead()) all.push_back(each.get());
  }
  if (all.size() < 2) return;
  const auto first = world_.random.below(scene_.keys.size());
  std::vector<const lock_key*> some;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, scene_.keys.size()); ++i)
    some.push_back(&scene_.keys[(first + i) % scene_.keys.size()]);
  auto& dies = all[0]->of();
  bool holds = false;
  moment death = 0;
  auto dies_as = exclusive, follows_as = exclusive;
  if (plan_.about == subject::shared) {
    const auto permits = static_cast<std::uint32_t>(world_.random.between(1, 3));
    const auto which = world_.random.below(4);
    dies_as = which == 0 ? exclusive : which == 1 ? shared : one_of(permits, permits);
    if (which == 0 && world_.random.chance(500'000)) follows_as = shared;
    if (which == 2) follows_as = one_of(permits);
  }
  all[0]->hold_until_killed(some, dies_as, holds);
  if (!world_.run([&] { return holds; }, world_.now() + 100 * second)) return;
  for (const auto* each : some) all[1]->inherit(*each, follows_as, death);
  world_.run([] { return false; }, world_.now() + world_.random.between(1'000, 3 * second / 2));
  if (world_.failed()) return;
  world_.tell(dies.name(), [] { return std::string("is killed"); });
  death = world_.now();
  dies.crash();
  network_.vanished(dies);
  until_idle(60 * second, "a thread waits for a key of a process that is no more");
}

/// Several processes loop over one key, and none of them is left out.
void run::prove_fair() {
  std::vector<application*> all;
  for (const auto& each : applications_) {
    if (!each->of().dead()) all.push_back(each.get());
  }
  if (all.size() < 2) return;
  const auto& key = scene_.keys[world_.random.below(scene_.keys.size())];
  const auto begun = world_.now();
  std::vector<application::contestant> of(all.size());
  constexpr std::array<moment, 3> holds{2'000, 10'000, 40'000};
  const auto hold = holds[world_.random.below(holds.size())];
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->contest(key, exclusive, begun + 10 * second, hold, of[i]);
  if (!until_idle(100 * second, "a thread that takes a key again and again does not end")) return;
  // A named lock shows no grant and counts no waiters, so a process farther than two others may not get it at all
  // (docs/mysql-schemes.md).
  if (plan_.kind == store_kind::named_lock && plan_.has(hazard::distances)) return;
  // What docs/waiting.md says that was measured on real servers, for short holds.
  const bool notified = plan_.notifies();
  const bool far = plan_.has(hazard::distances);
  const auto base = notified ? (far ? 8 * second : 3 * second / 2) : (far ? 7 * second / 2 : 3 * second);
  const auto bound = base + 4 * hold * static_cast<moment>(all.size());
  const bool equals = notified && !far;
  unsigned grants = 0;
  for (const auto& each : of) grants += each.grants;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (of[i].longest > bound) {
      return world_.fail(fmt::format("fairness: key {}: {} waits {} ms for it while others take it again and again",
                                     key.view(), all[i]->of().name(), of[i].longest / 1'000));
    }
    if (equals && 2 * of[i].grants * of.size() < grants) {
      return world_.fail(fmt::format("fairness: key {}: {} gets {} of the {} grants of {} processes", key.view(),
                                     all[i]->of().name(), of[i].grants, grants, of.size()));
    }
  }
}

/// A writer has its turn beside readers and holders of permits that come and go in all other processes. It closes the
/// key at its first poll; then it waits for those that are there, whose neighbours may enter for local_readers::tenure,
/// and for one pause of its own.
void run::prove_writers() {
  std::vector<application*> all;
  for (const auto& each : applications_) {
    if (!each->of().dead()) all.push_back(each.get());
  }
  if (all.size() < 2) return;
  const auto& key = scene_.keys[world_.random.below(scene_.keys.size())];
  const auto until = world_.now() + 10 * second;
  constexpr std::array<moment, 3> holds{2'000, 10'000, 40'000};
  const auto hold = holds[world_.random.below(holds.size())];
  constexpr std::array modes{shared, shared, shared, one_of(3), one_of(2, 2)};
  std::vector<application::contestant> of(1 + modes.size() * (all.size() - 1));
  all[0]->contest(key, exclusive, until, hold, of[0]);
  for (std::size_t i = 1; i < of.size(); ++i)
    all[1 + (i - 1) / modes.size()]->contest(key, modes[(i - 1) % modes.size()], until, hold, of[i]);
  if (!until_idle(100 * second, "a thread that takes a key again and again does not end")) return;
  constexpr moment pauses = 300 * millisecond, tenure = 20 * millisecond;
  // Threads that get no processor for up to half a second, the writer's and a member's.
  const auto late = plan_.has(hazard::late_threads) ? second : 0;
  const auto bound = pauses + tenure + 4 * hold + 100 * plan_.longest_travel() + late;
  if (of[0].longest <= bound) return;
  world_.fail(fmt::format("fairness: key {}: the writer {} waits {} ms for it while readers come and go", key.view(),
                          all[0]->of().name(), of[0].longest / millisecond));
}

/// I4: a newcomer gets each key.
void run::try_keys() {
  std::vector<lock_mode> modes{exclusive};
  if (plan_.about == subject::shared) modes.insert(modes.end(), {shared, one_of(1), exclusive});
  add_process();
  auto& last = *processes_.back();
  bool done = false;
  last.start_thread([&] {
    const auto where = std::make_shared<simulated_store>(network_, last);
    lock_service locks(where, {.cleanup_interval = std::chrono::milliseconds{0}, .time = &last});
    for (const auto& key : scene_.keys) {
      for (const auto& mode : modes) {
        try {
          auto held = locks.acquire(
              key, applications_.back()->fit(
                       {.ttl = std::chrono::seconds{1}, .wait = std::chrono::seconds{20}, .mode = mode}, {key}));
          held.release();
        } catch (const error& failed) {
          world_.fail(fmt::format("I4: key {}: nobody can have it any more: {}", key.view(), failed.what()));
        }
      }
    }
    done = true;
  });
  if (!world_.run([&] { return done && last.threads() == 0; }, world_.now() + 300 * second) && !world_.failed()) {
    world_.fail("liveness: the last process does not end");
  }
}

/// What has crashed, and what did not end, so that its memory is freed.
void run::bury() {
  scene_.over = true;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    auto& one = *processes_[i];
    if (one.threads() == 0 && !one.dead()) continue;
    one.crash();
    one.bury();
    if (i < applications_.size()) applications_[i]->end();
  }
  const auto gone = [this] {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& each) { return each->threads() == 0; });
  };
  const auto end = world_.now() + 3'600 * second;
  while (!gone() && world_.run(gone, end)) {
  }
}

result run::take() {
  result made;
  made.failure = world_.failure();
  made.acquires = scene_.acquires;
  made.grants = checker_.grants;
  made.take_overs = checker_.take_overs;
  made.statements = network_.statements;
  made.faults = network_.faults + server_.faults;
  made.steps = world_.steps();
  made.digest = world_.story.digest;
  made.longest = scene_.longest;
  made.time = world_.now();
  made.story = std::move(world_.story.lines);
  if (world_.failed()) return made;
  bury();
  const bool left =
      std::any_of(processes_.begin(), processes_.end(), [](const auto& each) { return each->threads() > 0; });
  if (left) made.failure = "liveness: a process without a server does not end";
  return made;
}

}  // namespace

result simulate(const plan& how, mistake wrong, bool with_story) {
  auto one = std::make_unique<run>(how, wrong, with_story);
  one->play();
  auto made = one->take();
  // Of a run that failed the threads stand where they stand, with all that they use.
  if (!made.failure.empty()) static_cast<void>(one.release());
  bytes_come_from(nullptr);
  return made;
}

plan reduced(const plan& failed, mistake wrong) {
  auto least = failed;
  const auto fails = [&](const plan& with) {
    const auto came = simulate(with, wrong);
    return !came.failure.empty();
  };
  for (const auto& each : hazard_names) {
    if (!least.has(each.what)) continue;
    auto without = least;
    without.hazards &= ~static_cast<std::uint64_t>(each.what);
    if (fails(without)) least = without;
  }
  for (auto number : {&plan::processes, &plan::threads, &plan::keys, &plan::rounds}) {
    while (least.*number > 1) {
      auto less = least;
      less.*number = number == &plan::rounds ? less.*number / 2 : less.*number - 1;
      if (!fails(less)) break;
      least = less;
    }
  }
  return least;
}

std::string excerpt(const result& of, std::size_t lines) {
  const auto at = of.failure.find("key ");
  std::string key;
  if (at != std::string::npos) key = of.failure.substr(at, of.failure.find(':', at) - at + 1);
  std::vector<std::string> shown;
  for (auto each = of.story.rbegin(); each != of.story.rend() && shown.size() < lines; ++each) {
    const bool about_keys = each->text.find("key ") != std::string::npos;
    if (about_keys && !key.empty() && each->text.find(key) == std::string::npos) continue;
    shown.push_back(
        fmt::format("{:>12.3f} ms  {:<8} {}\n", static_cast<double>(each->when) / 1'000, each->who, each->text));
  }
  std::string text;
  for (auto each = shown.rbegin(); each != shown.rend(); ++each) text += *each;
  return text + of.failure + "\n";
}

}  // namespace dlock::simulation
