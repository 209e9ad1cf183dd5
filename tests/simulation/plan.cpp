// SPDX-License-Identifier: BSL-1.0
#include "simulation/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

namespace dlock::simulation {

namespace {

store_kind kind_of(std::uint64_t seed, std::uint32_t kinds) {
  random_source chance(seed ^ 0x510eULL);
  std::vector<store_kind> some;
  for (const auto& each : store_kind_names) {
    if ((kinds & bit_of(each.what)) == 0) continue;
    // That of most users, with the most that can be done with it.
    some.insert(some.end(), each.what == store_kind::lease_table || each.what == store_kind::waiter_table ? 3 : 1,
                each.what);
  }
  return some.empty() ? store_kind::lease_table : some[chance.below(some.size())];
}

/// Those that mean something to such a store.
std::uint64_t fitting(store_kind kind) {
  const auto caps = traits_of(kind).caps;
  auto made = all_hazards;
  const auto only_if = [&](bool fits, std::initializer_list<hazard> those) {
    for (const auto each : those) made &= fits ? all_hazards : ~static_cast<std::uint64_t>(each);
  };
  only_if(caps.rows, {hazard::transactions, hazard::rows, hazard::columns, hazard::claims});
  only_if(traits_of(kind).locks_rows, {hazard::foreign});
  only_if(caps.expiring_leases, {hazard::unkept});
  only_if(caps.tells_free() || caps.wakes_one(), {hazard::late_notifications, hazard::broken_channels});
  // Those that wait in a queue at the server are never forgotten.
  only_if((caps.tells_free() && !traits_of(kind).queues) || caps.wakes_one(),
          {hazard::lost_notifications, hazard::silent_channels});
  only_if(caps.tells_free() && !traits_of(kind).queues, {hazard::repeated_notifications});
  only_if(!traits_of(kind).queues, {hazard::nested});
  only_if(caps.request_ids, {hazard::requests});
  only_if(traits_of(kind).notices_deletions, {hazard::deletions});
  return made;
}

/// Each of those with its chance, in percent.
std::uint64_t some_of(std::initializer_list<std::pair<hazard, std::uint64_t>> those, random_source& chance) {
  std::uint64_t made = 0;
  for (const auto& [what, percent] : those) {
    if (chance.chance(percent * 10'000)) made |= static_cast<std::uint64_t>(what);
  }
  return made;
}

}  // namespace

plan plan::of(std::uint64_t seed, const allowed& may) {
  random_source chance(seed ^ 0x5eedULL);
  plan made;
  made.seed = seed;
  // Some runs have few hazards, some nearly all: what one hides another shows.
  const auto share = chance.between(1, 9) * 100'000;
  for (const auto& each : hazard_names) {
    if (chance.chance(static_cast<std::uint64_t>(share))) made.hazards |= static_cast<std::uint64_t>(each.what);
  }
  made.kind = kind_of(seed, may.kinds);
  made.hazards &= may.hazards & fitting(made.kind);
  // In some runs nothing fails, so that nothing excuses a slow call, a lost lease, or a key that stays free.
  if (chance.chance(150'000)) made.hazards &= ~fault_hazards;
  made.processes = static_cast<unsigned>(chance.between(1, 4));
  made.threads = static_cast<unsigned>(chance.between(1, 6));
  made.keys = static_cast<unsigned>(chance.chance(400'000) ? chance.between(1, 4) : chance.between(5, 30));
  // Thirty keys on one connection far away are too much work for the checker's limits, though nothing is wrong.
  if (made.has(hazard::distances)) made.keys = std::min(made.keys, 8U);
  made.rounds = static_cast<unsigned>(chance.between(50, 300));
  made.connections = static_cast<unsigned>(chance.between(1, 4));
  made.travel = chance.between(50, 3'000);
  made.mischief = chance.between(100, 3'000) * 1'000;
  made.first_pause = chance.chance(200'000) ? chance.between(1, 5) : chance.between(10, 60);
  made.often = chance.chance(300'000) ? static_cast<std::uint64_t>(chance.between(2, 12)) : 1;
  made.take_waits = chance.chance(300'000) && traits_of(made.kind).locks_rows;
  made.in_order = chance.chance(300'000) && made.caps().keeps_order;
  // Rows and lists have no order, and who asks for them overtakes.
  constexpr auto without_order = static_cast<std::uint64_t>(hazard::rows) | static_cast<std::uint64_t>(hazard::several);
  if (made.in_order) made.hazards &= ~without_order;
  made.about = may.about;
  switch (may.about) {
    case subject::everything: break;
    case subject::cycles: made.be_about_cycles(chance); break;
    case subject::lingering: made.be_about_lingering(chance); break;
    case subject::shared: made.be_about_shared(chance); break;
    case subject::stops: made.be_about_stops(chance); break;
  }
  made.hazards &= may.hazards;
  return made;
}

/// Few keys, taken one inside the other, and waits that are cancelled. A process far from the server deletes its row
/// late, so others see a wait that has ended. All locks are kept by their sessions, and none belongs to a list, so that
/// the checker knows each cycle exactly.
void plan::be_about_cycles(random_source& chance) {
  hazards = some_of({{hazard::nested, 100},
                     {hazard::cancels, 100},
                     {hazard::distances, 80},
                     {hazard::drift, 20},
                     {hazard::long_holds, 20},
                     {hazard::asynchronous, 20}},
                    chance);
  kind = store_kind::waiter_table;
  in_order = chance.chance(500'000);
  processes = static_cast<unsigned>(chance.between(2, 4));
  threads = static_cast<unsigned>(chance.between(1, 3));
  keys = static_cast<unsigned>(chance.between(2, 4));
  rounds = static_cast<unsigned>(chance.between(50, 200));
  nested = 90;
  before_nested = chance.between(1, 30) * millisecond;
  travel = chance.between(50, 200);
  farthest = 40;
  first_pause = chance.between(1, 5);
  cancelled = 60;
}

/// Few keys that each process takes again and again, and all that ends a session or a lease.
void plan::be_about_lingering(random_source& chance) {
  hazards = some_of(
      {{hazard::slow_statements, 30}, {hazard::lost_replies, 40}, {hazard::ghosts, 40},     {hazard::hangs, 20},
       {hazard::refusals, 20},        {hazard::kills, 30},        {hazard::restarts, 20},   {hazard::failovers, 20},
       {hazard::freezes, 30},         {hazard::crashes, 20},      {hazard::drift, 50},      {hazard::late_threads, 30},
       {hazard::transactions, 30},    {hazard::several, 30},      {hazard::unkept, 20},     {hazard::limits, 30},
       {hazard::asynchronous, 40},    {hazard::cancels, 30},      {hazard::reentry, 20},    {hazard::closes, 30},
       {hazard::force, 40},           {hazard::cleanup, 30},      {hazard::one_by_one, 20}, {hazard::abandoned, 20},
       {hazard::long_holds, 20},      {hazard::distances, 20},    {hazard::nested, 20}},
      chance);
  if (chance.chance(300'000)) hazards &= ~fault_hazards;
  kind = store_kind::waiter_table;
  in_order = take_waits = false;
  keys = static_cast<unsigned>(chance.between(1, 4));
}

/// Few keys, which all processes take in all modes, and all that ends a session, a lease or a wait. In some runs
/// nothing fails, so that nothing excuses a call that waits for long.
void plan::be_about_shared(random_source& chance) {
  hazards = some_of(
      {{hazard::slow_statements, 30}, {hazard::lost_replies, 40}, {hazard::ghosts, 40},     {hazard::hangs, 20},
       {hazard::refusals, 20},        {hazard::kills, 30},        {hazard::restarts, 20},   {hazard::failovers, 10},
       {hazard::freezes, 30},         {hazard::crashes, 30},      {hazard::drift, 50},      {hazard::late_threads, 20},
       {hazard::transactions, 20},    {hazard::several, 10},      {hazard::limits, 30},     {hazard::asynchronous, 30},
       {hazard::cancels, 40},         {hazard::closes, 30},       {hazard::force, 30},      {hazard::cleanup, 30},
       {hazard::contention, 20},      {hazard::abandoned, 10},    {hazard::long_holds, 20}, {hazard::clock_steps, 20},
       {hazard::long_waits, 40},      {hazard::distances, 20},    {hazard::reentry, 10}},
      chance);
  if (chance.chance(300'000)) hazards &= ~fault_hazards;
  kind = store_kind::lease_table;  // whose waiters poll: how members wake waiters is not simulated
  in_order = take_waits = false;
  processes = static_cast<unsigned>(chance.between(2, 4));
  threads = static_cast<unsigned>(chance.between(1, 5));
  keys = static_cast<unsigned>(chance.between(1, 3));
  rounds = static_cast<unsigned>(chance.between(30, 100));
  connections = static_cast<unsigned>(chance.between(2, 4));
}

/// Several processes that wait for few keys, by the waiter table.
void plan::be_about_stops(random_source& chance) {
  hazards = some_of({{hazard::freezes, 100},
                     {hazard::long_waits, 80},
                     {hazard::distances, 20},
                     {hazard::drift, 30},
                     {hazard::asynchronous, 30},
                     {hazard::cancels, 20},
                     {hazard::long_holds, 20}},
                    chance);
  kind = store_kind::waiter_table;
  in_order = chance.chance(700'000);
  processes = static_cast<unsigned>(chance.between(3, 5));
  threads = static_cast<unsigned>(chance.between(1, 3));
  keys = static_cast<unsigned>(chance.between(1, 3));
  rounds = static_cast<unsigned>(chance.between(50, 200));
  connections = static_cast<unsigned>(chance.between(2, 4));
  travel = chance.between(50, 1'000);
  mischief = chance.between(200, 1'500) * millisecond;
}

std::string plan::describe() const {
  auto text = fmt::format("seed {}", seed);
  for (const auto& each : subject_names) {
    if (each.what == about && about != subject::everything) text += fmt::format(" about {}", each.name);
  }
  text += fmt::format(": {}, {} processes, {} threads each, {} keys, {} connections, with", name_of(kind), processes,
                      threads, keys, connections);
  for (const auto& each : hazard_names) {
    if (has(each.what)) text += fmt::format(" {}", each.name);
  }
  if (in_order) text += " in order";
  return text;
}

}  // namespace dlock::simulation
