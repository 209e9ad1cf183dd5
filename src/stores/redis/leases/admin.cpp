// SPDX-License-Identifier: BSL-1.0
// What operators see, and clean-up.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "stores/findings.hpp"
#include "stores/redis/client/errors.hpp"
#include "stores/redis/leases/store.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::redis::leases {

namespace {

/// Of a step of clean-up. Each window is a separate script, so that others get their turn between two.
constexpr int windows = 10;
/// So many sessions are looked at by one script, and at most so many are remembered as dead at a time.
constexpr std::int64_t window = 500, most_dead = 10'000;

holder_info holder_in(const answer& response) {
  holder_info info{
      .key = std::string(response[0].text()), .session = id_in(response[1].text()), .fence = fence_in(response[2])};
  info.kind = response[3].number() == 1 ? lease_kind::expiring : lease_kind::session;
  info.since = microseconds{response[4].number()};
  info.remaining = microseconds{response[5].number()};
  info.host = std::string(response[6].text());
  info.pid = response[7].number();
  info.label = std::string(response[8].text());
  info.revoked = response[9].number() == 1;
  info.dead = info.kind == lease_kind::session && info.remaining.count() == 0;
  return info;
}

/// How many processes wait for each: those that are subscribed to its channel, on one connection for all their threads.
/// Not set where the user may not ask for that.
void count_waiters(script_connection& on, std::string_view channels, std::span<holder_info> of) {
  if (of.empty()) return;
  command_text ask;
  ask.begin(2 + of.size());
  ask.word("PUBSUB");
  ask.word("NUMSUB");
  for (const auto& each : of) ask.word(std::string(channels) + each.key);
  const auto response = std::move(on.ask(ask).front());
  if (response.size() != 2 * of.size()) return;
  for (std::size_t i = 0; i != of.size(); ++i) of[i].waiters = fence_in(response[2 * i + 1]);
}

session_info session_in(const answer& response) {
  const auto remaining = response[1].number();
  return {.id = id_in(response[0].text()),
          .host = std::string(response[3].text()),
          .pid = response[4].number(),
          .label = std::string(response[5].text()),
          .ttl = microseconds{response[2].number()},
          .age = microseconds{response[7].number()},
          .remaining = microseconds{std::max<std::int64_t>(0, remaining)},
          .revoked = response[6].number() == 1,
          .dead = remaining <= 0,
          .locks = fence_in(response[8])};
}

}  // namespace

reply redis_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    const auto response = call_script(static_cast<script_connection&>(on), script::inspect, 1,
                                      {locks_ + std::string(key.resource), key.resource, sessions_});
    if (!response.is_result()) return failure(response, "inspect");
    if (!response.is_nothing()) found.push_back(holder_in(response));
    return {.result = outcome::yes};
  });
}

reply redis_store::list(connection& on, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    auto& link = static_cast<script_connection&>(on);
    std::string last(after);
    for (bool more = limit > 0; more;) {
      const auto response =
          call_script(link, script::list, 1, {index_, locks_, sessions_, last, std::to_string(limit)});
      if (!response.is_result()) return failure(response, "list");
      const auto known = found.size();
      for (std::size_t i = 2; i < response.size(); ++i, --limit) found.push_back(holder_in(response[i]));
      count_waiters(link, locks_, std::span(found).subspan(known));
      last = response[1].text();
      more = limit > 0 && response[0].number() == 1;
    }
    return {.result = outcome::yes};
  });
}

reply redis_store::revoke(connection& on, const request& key) noexcept {
  return reply_or_in_doubt(on, [&] {
    return yes_or_no(call_script(static_cast<script_connection&>(on), script::revoke, 1,
                                 {locks_ + std::string(key.resource), sessions_}),
                     "revoke");
  });
}

/// One more window of the locks.
reply redis_store::sweep_window(script_connection& on, microseconds idle, std::size_t limit) {
  const auto response = call_script(
      on, script::sweep_keys, 2,
      {index_, meta_, locks_, sessions_, cleanup_cursor_.after, std::to_string(idle.count()), std::to_string(limit)});
  if (!response.is_result()) return failure(response, "clean-up");
  cleanup_cursor_.after = response[1].text();
  for (std::size_t i = 0; i < response[2].size(); ++i) cleanup_cursor_.dead.erase(std::string(response[2][i].text()));
  return {.result = outcome::yes, .fence = fence_in(response[0])};
}

void redis_store::find_dead(script_connection& on) {
  for (std::int64_t examined = 0, last = window; last == window && examined < most_dead; examined += last) {
    const auto response = call_script(on, script::dead_sessions, 1, {ends_, sessions_, std::to_string(examined)});
    last = response[0].number();
    for (std::size_t i = 0; i < response[1].size(); ++i) cleanup_cursor_.dead.emplace(response[1][i].text());
  }
}

/// At the end of the way: no lock names them.
reply redis_store::forget_dead(script_connection& on, std::size_t limit) {
  reply result{.result = outcome::yes};
  auto& dead = cleanup_cursor_.dead;
  while (!dead.empty() && result.fence < limit) {
    const auto name = *dead.begin();
    const auto removed =
        yes_or_no(call_script(on, script::remove_session, 2, {sessions_ + name, ends_, name, "1"}), "clean-up");
    if (removed.result != outcome::yes && removed.result != outcome::no) return removed;
    result.fence += removed.result == outcome::yes ? 1 : 0;
    dead.erase(dead.begin());
  }
  return result;
}

reply redis_store::cleanup(connection& on, microseconds idle, std::size_t limit) noexcept {
  return reply_or_in_doubt(on, [&] {
    const base::lock_guard lock(cleanup_mutex_);
    auto& link = static_cast<script_connection&>(on);
    if (cleanup_cursor_.after.empty() && cleanup_cursor_.dead.empty()) find_dead(link);
    reply result{.result = outcome::yes};
    std::uint64_t gone = 0;
    for (int i = 0; i < windows && gone < limit; ++i) {
      result = sweep_window(link, idle, limit - gone);
      if (result.result != outcome::yes) return result;
      gone += result.fence;
      if (cleanup_cursor_.after.empty()) {
        result = forget_dead(link, limit);
        gone += result.fence;
        break;
      }
    }
    result.fence = gone;
    result.more = !cleanup_cursor_.after.empty() || !cleanup_cursor_.dead.empty();
    return result;
  });
}

reply redis_store::overview(connection& on, std::size_t limit, store_overview& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    const auto most = std::min<std::size_t>(limit, window);
    const auto response = call_script(static_cast<script_connection&>(on), script::overview, 2,
                                      {index_, ends_, locks_, sessions_, std::to_string(most)});
    if (!response.is_result()) return failure(response, "overview");
    store_overview made{
        .keys = fence_in(response[0]), .sessions_alive = fence_in(response[1]), .sessions_dead = fence_in(response[2])};
    made.complete = response[3].number() < window;
    for (std::size_t i = 0; i < response[4].size(); ++i) made.sessions.push_back(session_in(response[4][i]));
    for (std::size_t i = 0; i < response[5].size(); ++i) made.longest.push_back(holder_in(response[5][i]));
    made.held = made.longest.size();
    made.held_dead = static_cast<std::uint64_t>(
        std::count_if(made.longest.begin(), made.longest.end(), [](const auto& each) { return each.dead; }));
    // Where a free key leaves the index at once, it has held keys alone, and some whose own expiry has passed.
    if (by_clock_ && !made.complete) made.held = made.keys;
    std::stable_sort(made.sessions.begin(), made.sessions.end(),
                     [](const auto& a, const auto& b) { return a.locks > b.locks; });
    std::stable_sort(made.longest.begin(), made.longest.end(),
                     [](const auto& a, const auto& b) { return a.since > b.since; });
    made.longest.resize(std::min(limit, made.longest.size()));
    found = std::move(made);
    return {.result = outcome::yes};
  });
}

reply redis_store::waiters(connection& on, std::string_view key, std::size_t, waiter_overview& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    // A process that waits is subscribed to the key's channel, on one connection for all its threads.
    const auto response = static_cast<script_connection&>(on).ask({"PUBSUB", "NUMSUB", locks_ + std::string(key)});
    if (response.size() != 2) return yes_or_no(response, "waiters");
    found = {.known = true, .count = fence_in(response[1])};
    return {.result = outcome::yes};
  });
}

reply redis_store::examine(connection& on, std::vector<store_finding>& out) noexcept {
  return reply_or_in_doubt(on, [&] {
    auto result = examine_server(static_cast<script_connection&>(on), client_.settings(), false, out);
    if (result.result != outcome::yes) return result;
    store_overview all;
    result = overview(on, 0, all);
    if (result.result != outcome::yes) return result;
    findings found(out);
    found.good("size",
               fmt::format("keys in the index: {}, sessions: {}", all.keys, all.sessions_alive + all.sessions_dead));
    if (all.sessions_dead == 0) {
      found.good("dead holders", "none");
    } else {
      found.note("dead holders", fmt::format("dead sessions: {}", all.sessions_dead),
                 "A program that asks for a key of theirs gets it at once. Clean-up deletes them.",
                 "dlock gc deletes them now.");
    }
    return result;
  });
}

}  // namespace dlock::stores::redis::leases
