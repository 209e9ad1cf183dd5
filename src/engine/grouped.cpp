// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/grouped.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

namespace dlock::detail {

namespace {

/// What one statement has in common, then its order.
auto place(const request& one) noexcept {
  return std::tuple(one.row == nullptr ? std::string_view() : std::string_view(one.row->table->table), one.session,
                    one.kind, one.ttl, one.min_hold);
}

}  // namespace

unsigned execute_grouped(store& where, connection& on, std::span<const request> asks, std::span<reply> replies) {
  std::vector<std::size_t> order(asks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return std::tuple(place(asks[left]), asks[left].resource) < std::tuple(place(asks[right]), asks[right].resource);
  });
  const bool together = where.caps().batch;
  unsigned statements = 0;
  std::vector<request> group;
  std::vector<reply> answers;
  for (std::size_t from = 0; from < order.size(); from += group.size()) {
    group.clear();
    group.push_back(asks[order[from]]);
    for (auto at = from + 1; together && at < order.size() && place(asks[order[at]]) == place(group.front()); ++at) {
      group.push_back(asks[order[at]]);
    }
    const reply unsent{.why = {.transient = true, .connection = true, .text = "the connection broke before"}};
    answers.assign(group.size(), on.usable() ? reply{} : unsent);
    if (on.usable()) {
      where.execute(on, group, answers);
      for (const auto& each : answers) statements += each.statements;
    }
    for (std::size_t i = 0; i < group.size(); ++i) replies[order[from + i]] = std::move(answers[i]);
  }
  return statements;
}

}  // namespace dlock::detail
