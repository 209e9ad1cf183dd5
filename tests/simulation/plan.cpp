// SPDX-License-Identifier: BSL-1.0
#include "simulation/plan.hpp"

#include <fmt/format.h>

namespace dlock::simulation {

plan plan::of(std::uint64_t seed, std::uint32_t allowed) {
  random_source chance(seed ^ 0x5eedULL);
  plan made;
  made.seed = seed;
  // Some runs have few hazards, some nearly all: what one hides another shows.
  const auto share = chance.between(1, 9) * 100'000;
  for (const auto& each : hazard_names) {
    if (chance.chance(static_cast<std::uint64_t>(share))) made.hazards |= static_cast<std::uint32_t>(each.what);
  }
  made.hazards &= allowed;
  made.processes = static_cast<unsigned>(chance.between(1, 4));
  made.threads = static_cast<unsigned>(chance.between(1, 6));
  made.keys = static_cast<unsigned>(chance.chance(400'000) ? chance.between(1, 4) : chance.between(5, 30));
  made.rounds = static_cast<unsigned>(chance.between(50, 300));
  made.connections = static_cast<unsigned>(chance.between(1, 4));
  made.travel = chance.between(50, 3'000);
  made.mischief = chance.between(100, 3'000) * 1'000;
  made.first_pause = chance.chance(200'000) ? chance.between(1, 5) : chance.between(10, 60);
  made.often = chance.chance(300'000) ? static_cast<std::uint64_t>(chance.between(2, 12)) : 1;
  made.take_waits = chance.chance(300'000);
  return made;
}

std::string plan::describe() const {
  auto text = fmt::format("seed {}: {} processes, {} threads each, {} keys, {} connections, with", seed, processes,
                          threads, keys, connections);
  for (const auto& each : hazard_names) {
    if (has(each.what)) text += fmt::format(" {}", each.name);
  }
  return text;
}

}  // namespace dlock::simulation
