// SPDX-License-Identifier: BSL-1.0
#include "annotations/suggestion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace dlock_gen {

namespace {

/// How many characters to insert, remove or replace.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const auto replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view wrong, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  auto least = wrong.size() / 3 + 1;  // another word is no mistake in writing this one
  for (const auto& each : known) {
    const auto far = distance(wrong, each);
    if (!each.empty() && far < least) {
      best = &each;
      least = far;
    }
  }
  return best == nullptr ? std::string() : fmt::format("; did you mean '{}'?", *best);
}

}  // namespace dlock_gen
