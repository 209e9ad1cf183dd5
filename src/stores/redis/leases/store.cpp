// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/leases/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "stores/findings.hpp"
#include "stores/redis/client/protocol.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::redis::leases {

lease_store::lease_store(const lease_settings& settings)
    : server_store(settings, scripts(), settings.prefix + "lock:"),
      by_clock_(settings.by_clock),
      locks_(settings.prefix + "lock:"),
      sessions_(settings.prefix + "session:"),
      index_(settings.prefix + "locks"),
      ends_(settings.prefix + "sessions"),
      meta_(settings.prefix + "meta"),
      done_(settings.prefix + "done:"),
      members_(settings.prefix + "members:") {}

void lease_store::prepare() {
  const auto connection = first_connection();
  fault why;
  if (!introduce(*connection, why)) fail(name(), why);
}

/// Tells each start of the server to the data once, so that tokens of grants that it has lost are not given again.
bool lease_store::introduce(script_connection& to, fault& why) const {
  const auto& server = to.server;
  const auto response = call_script(
      to, script::hello, 1, {meta_, server.run, id128::random().hex(), by_clock_ ? "1" : "0", server.promotion});
  if (!response.is_result()) {
    why = response ? fault_of_error(response.text(), "hello") : lost_connection("hello: no answer in time");
    why.connection = true;
    return false;
  }
  to.name_server(response[0].text());
  to.epoch = response[1].text();
  return true;
}

std::string lease_store::session_name(const id128& id) const { return sessions_ + std::string(name_of(id)); }

// ---- acquire, release, renew ---------------------------------------------------------------------------------------

namespace {

/// How long the hash of a free key stays if tokens come from the clock. After that a token comes from the clock again,
/// and so is greater unless the clock was set back by more.
constexpr std::string_view free_hash_stays_ms = "600000";

/// How many locks of a session one renewal checks, which takes some 200 microseconds of the server.
constexpr std::size_t most_checked = 100;

std::string_view view(const fmt::format_int& number) noexcept { return {number.data(), number.size()}; }

constexpr const char* name_of(verb action) noexcept {
  switch (action) {
    case verb::take: return "take";
    case verb::insert: return "insert";
    case verb::poll: return "poll";
    case verb::take_over: return "take over";
    case verb::extend: return "extend";
    case verb::release: return "release";
    case verb::close: return "close";
    case verb::open: return "open";
    case verb::pass_on: return "downgrade";
    case verb::reserve:
    case verb::cancel: break;
  }
  return "cancel";
}

reply polled(const answer& response) {
  reply found{.result = outcome::yes};
  auto& holder = found.holder;
  holder.holder = id_in(response[0].text());
  holder.fence = fence_in(response[1]);
  holder.kind = response[2].number() == 1 ? lease_kind::expiring : lease_kind::session;
  const bool alive = response[3].number() == 1;
  holder.gone = holder.kind == lease_kind::session && !alive;
  holder.expired = response[4].number() == 1;
  holder.remaining = microseconds{response[5].number()};
  if (response[2].number() == 2) {
    holder.shared = response[9].number() == 1 ? membership::open : membership::closed;
    holder.closing = static_cast<std::uint64_t>(response[10].number());
    holder.stale = holder.shared == membership::closed && microseconds{response[11].number()} >= closed_for / 3;
    if (!holder.holder) holder.gone = holder.expired = false;
    const bool member = alive && !response[6].text().empty();
    if (alive && !member) holder.who = "a caller that waits for the exclusive lock";
    if (!member) return found;
  }
  if (alive) {
    holder.who = detail::describe_process(response[6].text(), response[7].number(), response[8].text());
  }
  return found;
}

reply judged(verb action, const answer& response) {
  if (!response.is_result()) return failure(response, name_of(action));
  switch (action) {
    case verb::take:
    case verb::insert:
    case verb::take_over:
    case verb::pass_on:
      if (response.is_nothing()) return {.result = outcome::no};
      return {.result = outcome::yes, .fence = fence_in(response)};
    case verb::poll: return response.is_nothing() ? reply{.result = outcome::absent} : polled(response);
    case verb::release:
      if (response.number() > 1)
        return {.result = outcome::yes, .waiters = static_cast<unsigned>(response.number() - 1)};
      break;
    case verb::extend:
    case verb::close:
    case verb::open:
    case verb::reserve:
    case verb::cancel: break;
  }
  return {.result = response.number() == 1 ? outcome::yes : outcome::no};
}

}  // namespace

bool lease_store::concerns_members(const request& asked) noexcept {
  return asked.units != 0 || asked.action == verb::close || asked.action == verb::open ||
         (asked.expected != nullptr && asked.expected->shared != membership::none);
}

void lease_store::add_about_members(script_calls& to, const request& asked, std::string_view epoch) const {
  const auto lock = locks_ + std::string(asked.resource), members = members_ + std::string(asked.resource);
  const auto ours = name_of(asked.session);
  const fmt::format_int nonce(asked.nonce), units(asked.units), permits(asked.permits), closed(closed_for.count());
  const std::string_view by_clock = by_clock_ ? "1" : "0";
  switch (asked.action) {
    case verb::take:
      if (asked.units == 0) {
        const fmt::format_int time(asked.ttl.count());
        const auto ttl = asked.kind == lease_kind::session ? std::string_view{} : view(time);
        return to.add(script::take_closed, 3,
                      {lock, index_, members, ours, view(nonce), ttl, epoch, by_clock, asked.resource,
                       view(fmt::format_int(asked.expected->fence)), view(fmt::format_int(asked.expected->closing))});
      }
      return to.add(script::join, 3,
                    {lock, members, index_, ours, view(nonce), view(units), view(permits), view(closed), by_clock,
                     asked.resource});
    case verb::insert:
      return to.add(script::join_new, 4,
                    {lock, members, index_, meta_, ours, view(nonce), view(units), view(permits), view(closed),
                     by_clock, asked.resource});
    case verb::take_over: {
      const auto& seen = *asked.expected;
      if (seen.shared != membership::none)
        return to.add(script::remove_dead, 2, {members, session_name(seen.holder), name_of(seen.holder)});
      return to.add(script::join_dead, 4,
                    {lock, members, index_, session_name(seen.holder), ours, view(nonce), view(units), view(permits),
                     view(closed), by_clock, asked.resource, name_of(seen.holder), view(fmt::format_int(seen.fence))});
    }
    case verb::poll: return to.add(script::poll, 1, {lock, sessions_, view(units), view(permits), view(closed)});
    case verb::pass_on:
      return to.add(script::downgrade, 3,
                    {lock, members, index_, ours, view(nonce), view(units), view(permits), view(closed), by_clock,
                     asked.resource, view(fmt::format_int(asked.fence))});
    case verb::release:
    case verb::cancel: return to.add(script::leave, 2, {members, lock, ours, view(nonce)});
    case verb::close: return to.add(script::close, 1, {lock, view(nonce)});
    case verb::open: return to.add(script::open, 1, {lock, view(nonce)});
    case verb::extend:
    case verb::reserve: return;  // nobody sends these about members
  }
}

void lease_store::add(script_calls& to, const request& asked, std::string_view epoch) const {
  if (concerns_members(asked)) return add_about_members(to, asked, epoch);
  const auto lock = locks_ + std::string(asked.resource);
  const auto ours = name_of(asked.session);
  const fmt::format_int nonce(asked.nonce), fence(asked.fence);
  const fmt::format_int time(asked.action == verb::release ? asked.min_hold.count() : asked.ttl.count());
  const auto ttl = asked.kind == lease_kind::session ? std::string_view{} : view(time);
  const std::string_view by_clock = by_clock_ ? "1" : "0";
  const std::string_view free_for = by_clock_ ? free_hash_stays_ms : std::string_view{};
  switch (asked.action) {
    case verb::take:
      return to.add(script::take, 2, {lock, index_, ours, view(nonce), ttl, epoch, by_clock, asked.resource});
    case verb::insert:
      return to.add(script::insert, 3, {lock, index_, meta_, ours, view(nonce), ttl, epoch, by_clock, asked.resource});
    case verb::poll: return to.add(script::poll, 1, {lock, sessions_});
    case verb::take_over: {
      const auto& seen = *asked.expected;
      return to.add(script::take_over, 3,
                    {lock, index_, session_name(seen.holder), ours, view(nonce), ttl, epoch, by_clock, asked.resource,
                     name_of(seen.holder), view(fmt::format_int(seen.fence))});
    }
    case verb::extend: return to.add(script::extend, 1, {lock, ours, view(fence), view(time)});
    case verb::release:
      return to.add(script::release, 2, {lock, index_, ours, view(fence), free_for, asked.resource, view(time)});
    case verb::cancel: return to.add(script::cancel, 2, {lock, index_, ours, view(nonce), free_for, asked.resource});
    case verb::close:
    case verb::open:
    case verb::reserve:
    case verb::pass_on: return;  // without the capability nobody sends them
  }
}

reply lease_store::judge(const request& asked, const answer& response) {
  const auto result = judged(asked.action, response);
  note(asked, result);
  return result;
}

void lease_store::note(const request& asked, const reply& response) noexcept {
  const auto nonce = asked.units != 0 ? asked.nonce : 0;
  switch (asked.action) {
    case verb::pass_on:
      if (response.result != outcome::failed) held_.ended(asked.session, asked.resource, 0);
      [[fallthrough]];
    case verb::take:
    case verb::insert:
    case verb::take_over:
      if (response.result == outcome::yes && asked.kind == lease_kind::session)
        held_.granted(asked.session, asked.resource, nonce, response.fence);
      return;
    case verb::release:
    case verb::cancel:
      if (response.result == outcome::yes || asked.action == verb::release)
        held_.ended(asked.session, asked.resource, nonce);
      return;
    case verb::poll:
    case verb::close:
    case verb::open:
    case verb::reserve:
    case verb::extend: return;
  }
}

reply lease_store::session(connection& on, session_verb action, const session_record& of) noexcept {
  return reply_or_in_doubt(on, [&] {
    auto& link = static_cast<script_connection&>(on);
    const auto name = session_name(of.id);
    const auto id = name_of(of.id);
    answer response;
    switch (action) {
      case session_verb::open:
        response =
            call_script(link, script::open_session, 2,
                        {name, ends_, id, std::to_string(of.ttl.count()), of.host, std::to_string(of.pid), of.label});
        break;
      case session_verb::renew: return renew(link, of);
      case session_verb::remove_expired:
        response = call_script(link, script::remove_session, 2, {name, ends_, id, "1"});
        break;
      case session_verb::close:
        held_.forget(of.id);
        response = call_script(link, script::remove_session, 2, {name, ends_, id, "0"});
        break;
    }
    return yes_or_no(response, "session");
  });
}

reply lease_store::renew(script_connection& on, const session_record& of) {
  const auto name = session_name(of.id);
  const auto ttl = std::to_string(of.ttl.count());
  const auto checked = held_.next(of.id, most_checked);
  std::vector<std::string> fences;
  fences.reserve(checked.size());
  std::vector<std::string_view> words{name, ends_, name_of(of.id), ttl, locks_};
  for (const auto& each : checked) {
    words.push_back(each.key);
    words.push_back(fences.emplace_back((each.nonce != 0 ? ":" : "") + std::to_string(each.number())));
  }
  script_calls calls(on);
  calls.add(script::renew_session, 2, std::span<const std::string_view>(words));
  const auto response = std::move(calls.run().front());
  if (response.size() == 0) return yes_or_no(response, "session");
  for (std::size_t i = 1; i < response.size(); ++i) {
    const auto& gone = checked.at(static_cast<std::size_t>(response[i].number()));
    held_.ended(of.id, gone.key, gone.nonce);
    // The lock may have been released meanwhile, which its lease knows.
    listeners_->lock_deleted(gone.key, of.id, gone.number());
  }
  return {.result = outcome::yes};
}

// ---- what the sessions of this process hold ------------------------------------------------------------------------

void held_locks::granted(const id128& session, std::string_view key, std::uint64_t nonce,
                         std::uint64_t fence) noexcept {
  try {
    const base::lock_guard lock(mutex_);
    sessions_[session].locks.insert_or_assign(name(key, nonce), fence);
  } catch (const std::exception&) {
    // If memory ran out, this lock is not checked.
  }
}

void held_locks::ended(const id128& session, std::string_view key, std::uint64_t nonce) noexcept {
  const base::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  auto& locks = found->second.locks;
  if (const auto at = locks.find(name_seen(key, nonce)); at != locks.end()) locks.erase(at);
  if (locks.empty()) sessions_.erase(found);
}

void held_locks::forget(const id128& session) noexcept {
  const base::lock_guard lock(mutex_);
  sessions_.erase(session);
}

std::vector<held_locks::held> held_locks::next(const id128& session, std::size_t most) {
  const base::lock_guard lock(mutex_);
  std::vector<held_locks::held> some;
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return some;
  auto& [locks, last] = found->second;
  const auto count = std::min(most, locks.size());
  some.reserve(count);
  for (auto at = locks.upper_bound(last); some.size() < count; ++at) {
    if (at == locks.end()) at = locks.begin();
    some.push_back({at->first.first, at->first.second, at->second});
  }
  if (!some.empty()) last = {some.back().key, some.back().nonce};
  return some;
}

// ---- what operators see, and clean-up ------------------------------------------------------------------------------

namespace {

/// The windows of one step of clean-up. Each is a separate script, so that other clients get their turn in between.
constexpr int windows = 10;
/// How many sessions one script reads, and how many are remembered as dead at a time.
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

/// The number of processes that wait for each, which are subscribed to its channel on one connection for all their
/// threads. Not set if the user has no right to ask.
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

reply lease_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    const auto response = call_script(static_cast<script_connection&>(on), script::inspect, 1,
                                      {locks_ + std::string(key.resource), key.resource, sessions_});
    if (!response.is_result()) return failure(response, "inspect");
    for (std::size_t i = 0; i < response.size(); ++i) found.push_back(holder_in(response[i]));
    return {.result = outcome::yes};
  });
}

reply lease_store::list(connection& on, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    auto& link = static_cast<script_connection&>(on);
    std::string last(after);
    for (bool more = limit > 0; more;) {
      const auto response =
          call_script(link, script::list, 1, {index_, locks_, sessions_, last, std::to_string(limit)});
      if (!response.is_result()) return failure(response, "list");
      const auto known = found.size();
      for (std::size_t i = 3; i < response.size(); ++i) found.push_back(holder_in(response[i]));
      limit -= std::min(limit, static_cast<std::size_t>(response[2].number()));
      count_waiters(link, locks_, std::span(found).subspan(known));
      last = response[1].text();
      more = limit > 0 && response[0].number() == 1;
    }
    return {.result = outcome::yes};
  });
}

reply lease_store::revoke(connection& on, const request& key) noexcept {
  return reply_or_in_doubt(on, [&] {
    return yes_or_no(call_script(static_cast<script_connection&>(on), script::revoke, 1,
                                 {locks_ + std::string(key.resource), sessions_}),
                     "revoke");
  });
}

/// Cleans up one more window of the locks.
reply lease_store::sweep_window(script_connection& on, microseconds idle, std::size_t limit) {
  const auto response = call_script(
      on, script::sweep_keys, 2,
      {index_, meta_, locks_, sessions_, cleanup_cursor_.after, std::to_string(idle.count()), std::to_string(limit)});
  if (!response.is_result()) return failure(response, "clean-up");
  cleanup_cursor_.after = response[1].text();
  for (std::size_t i = 0; i < response[2].size(); ++i) cleanup_cursor_.dead.erase(std::string(response[2][i].text()));
  return {.result = outcome::yes, .fence = fence_in(response[0])};
}

void lease_store::find_dead(script_connection& on) {
  for (std::int64_t examined = 0, last = window; last == window && examined < most_dead; examined += last) {
    const auto response = call_script(on, script::dead_sessions, 1, {ends_, sessions_, std::to_string(examined)});
    last = response[0].number();
    for (std::size_t i = 0; i < response[1].size(); ++i) cleanup_cursor_.dead.emplace(response[1][i].text());
  }
}

/// Deletes dead sessions at the end of a pass, when no lock names them.
reply lease_store::forget_dead(script_connection& on, std::size_t limit) {
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

reply lease_store::cleanup(connection& on, microseconds idle, std::size_t limit) noexcept {
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

reply lease_store::overview(connection& on, std::size_t limit, store_overview& found) noexcept {
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
    made.held = fence_in(response[6]);
    made.held_dead = static_cast<std::uint64_t>(
        std::count_if(made.longest.begin(), made.longest.end(), [](const auto& each) { return each.dead; }));
    // If free keys leave the index at once, it has only held keys, and some whose own expiry has passed.
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

reply lease_store::waiters(connection& on, std::string_view key, std::size_t, waiter_overview& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    // A waiting process is subscribed to the key's channel, on one connection for all its threads.
    const auto response = static_cast<script_connection&>(on).ask({"PUBSUB", "NUMSUB", locks_ + std::string(key)});
    if (response.size() != 2) return yes_or_no(response, "waiters");
    found = {.known = true, .count = fence_in(response[1])};
    return {.result = outcome::yes};
  });
}

reply lease_store::examine(connection& on, std::vector<store_finding>& out) noexcept {
  return reply_or_in_doubt(on, [&] {
    auto result = examine_server(static_cast<script_connection&>(on), settings(), out);
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

// ---- what was done once --------------------------------------------------------------------------------------------

reply lease_store::find_mark(connection& on, std::string_view key, done_mark& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    const auto mark = done_ + std::string(key);
    const auto response = call_script(static_cast<script_connection&>(on), script::find_mark, 1, {mark});
    if (response.is_nothing()) return {.result = outcome::absent};
    if (!response.is_result()) return failure(response, "find a mark");
    found = {.since = microseconds{response[0].number()},
             .fence = fence_in(response[2]),
             .by = std::string(response[3].text())};
    if (const auto remaining = response[1].number(); remaining >= 0) found.remaining = microseconds{remaining};
    return {.result = outcome::yes};
  });
}

reply lease_store::set_mark(connection& on, const request& grant, std::optional<microseconds> valid,
                            std::string_view by) noexcept {
  return reply_or_in_doubt(on, [&] {
    const auto lock = locks_ + std::string(grant.resource), mark = done_ + std::string(grant.resource);
    const auto fence = std::to_string(grant.fence), time = valid ? std::to_string(valid->count()) : std::string();
    return yes_or_no(call_script(static_cast<script_connection&>(on), script::set_mark, 2,
                                 {lock, mark, name_of(grant.session), fence, time, by}),
                     "set a mark");
  });
}

reply lease_store::delete_mark(connection& on, std::string_view key) noexcept {
  return reply_or_in_doubt(on, [&] {
    return yes_or_no(static_cast<script_connection&>(on).ask({"DEL", done_ + std::string(key)}), "delete a mark");
  });
}

}  // namespace dlock::stores::redis::leases
