// SPDX-License-Identifier: BSL-1.0
// The default answers to operators' queries, for stores that have no better ones.
#include "dlock/store_interface/store_admin.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t most_looked_at = 1000;

reply out_of_memory() noexcept {
  reply answer;
  answer.why.transient = true;
  return answer;
}

}  // namespace

reply store_admin::overview(connection& connection, std::size_t limit, store_overview& found) noexcept try {
  std::vector<holder_info> holders;
  reply answer = list(connection, {}, most_looked_at, holders);
  if (answer.result != outcome::yes) return answer;
  found.complete = holders.size() < most_looked_at;
  found.held = found.keys = holders.size();
  std::map<id128, session_info> sessions;
  for (const auto& each : holders) {
    found.held_dead += each.dead ? 1 : 0;
    if (!each.session) continue;
    auto& session = sessions[each.session];
    session.id = each.session;
    session.host = each.host;
    session.pid = each.pid;
    session.label = each.label;
    session.remaining = std::max(session.remaining, each.remaining);
    session.revoked = session.revoked || each.revoked;
    session.dead = each.dead;
    ++session.locks;
  }
  for (auto& [id, each] : sessions) {
    (each.dead ? found.sessions_dead : found.sessions_alive) += 1;
    found.sessions.push_back(std::move(each));
  }
  std::stable_sort(found.sessions.begin(), found.sessions.end(),
                   [](const auto& a, const auto& b) { return a.locks > b.locks; });
  std::stable_sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.since > b.since; });
  found.sessions.resize(std::min(limit, found.sessions.size()));
  holders.resize(std::min(limit, holders.size()));
  found.longest = std::move(holders);
  return answer;
} catch (...) {
  return out_of_memory();
}

reply store_admin::waiters(connection&, std::string_view, std::size_t, waiter_overview&) noexcept {
  return {.result = outcome::yes, .statements = 0};
}

reply store_admin::row_tables(connection&, std::string_view name,
                              std::vector<std::shared_ptr<const row_table>>&) noexcept {
  reply answer{.result = name.empty() ? outcome::yes : outcome::failed, .statements = 0};
  if (name.empty()) return answer;
  try {
    answer.why.text = "the store locks no rows of tables";
  } catch (...) {
    return out_of_memory();
  }
  return answer;
}

reply store_admin::held_rows(connection&, const std::shared_ptr<const row_table>&, std::size_t,
                             std::vector<held_row>&) noexcept {
  return {.result = outcome::yes, .statements = 0};
}

reply store_admin::examine(connection&, std::vector<store_finding>&) noexcept {
  return {.result = outcome::yes, .statements = 0};
}

}  // namespace dlock
