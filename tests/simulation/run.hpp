// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/mistakes.hpp"
#include "simulation/plan.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// What happened, in one run or in several.
struct counts {
  std::uint64_t acquires = 0;
  std::uint64_t grants = 0;
  std::uint64_t take_overs = 0;
  std::uint64_t statements = 0;
  std::uint64_t faults = 0;
  std::uint64_t steps = 0;
  moment longest = 0;  ///< that a call took beyond its wait
  moment time = 0;

  void add(const counts& others) {
    acquires += others.acquires;
    grants += others.grants;
    take_overs += others.take_overs;
    statements += others.statements;
    faults += others.faults;
    steps += others.steps;
    longest = std::max(longest, others.longest);
    time += others.time;
  }
};

/// What came of a run.
struct result : counts {
  std::string failure{};               ///< the first thing that was wrong; empty: nothing
  std::uint64_t digest = 0;            ///< the same for two runs of one plan
  std::vector<journal::line> story{};  ///< if it is wanted
};

/// One run, from the beginning of all processes until nothing is left of them. Always the same for the same plan.
result simulate(const plan& how, mistake wrong = mistake::none, bool with_story = false);

/// The plan of a run that failed, with as few hazards as it still fails with.
plan reduced(const plan& failed, mistake wrong = mistake::none);
/// The end of its story, as far as it is about the key that the failure names.
std::string excerpt(const result& of, std::size_t lines = 40);

/// The run as an SVG: a row for each key of each process, with who held it, who waited, who was killed or stood still,
/// and where trust ended. The run must have its story. So many microseconds of it: the last of one that failed, the
/// first of another.
std::string picture(const result& of, moment window = 3'000'000);

}  // namespace dlock::simulation
