// SPDX-License-Identifier: BSL-1.0
#include "simulation/checker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stores/waiter_turns.hpp"

namespace dlock::simulation {

namespace {

/// A process that has lost a key to an operator has noticed it after so long. Until then its own threads wait for it.
constexpr moment noticed_after = 7'000'000;

std::string short_id(const id128& id) { return id.hex().substr(0, 6); }

const char* name_of(verb what) {
  switch (what) {
    case verb::take: return "take";
    case verb::insert: return "insert";
    case verb::poll: return "poll";
    case verb::take_over: return "take over";
    case verb::extend: return "extend";
    case verb::release: return "release";
    case verb::cancel: return "cancel";
    case verb::pass_on: return "pass on";
    case verb::reserve: return "reserve";
    case verb::close: return "close";
    case verb::open: return "open";
  }
  return "?";
}

}  // namespace

void checker::fail(const std::string& rule, std::string_view key, const std::string& text) {
  world_.tell("checker", [&] { return rule + ": key " + std::string(key) + ": " + text; });
  world_.fail(fmt::format("{}: key {}: {}", rule, key, text));
}

checker::key_state& checker::state_of(std::string_view key) {
  const auto known = keys_.find(key);
  return known != keys_.end() ? known->second : keys_.try_emplace(std::string(key)).first->second;
}

// ---- operators ------------------------------------------------------------------------------------------------------

void checker::force(std::string_view key, const id128& session, std::uint64_t nonce, std::uint64_t fence) {
  const bool under_way = std::any_of(forcing_.begin(), forcing_.end(),
                                     [&](const auto& each) { return each.second == key && !each.first->dead(); });
  if (!under_way || !session) return;
  forced_[std::string(key)].push_back({session, nonce, fence});
  state_of(key).forced_at = world_.now();
}

void checker::force_begins(const process& by, const std::string& key) {
  forcing_.emplace_back(&by, key);
  const auto at = server_.data.locks().find(key);
  if (at == server_.data.locks().end() || !at->second.expires) return;
  force(key, at->second.session, at->second.nonce, state_of(key).highest);
}

void checker::force_done(const process& by, const std::string& key) {
  forcing_.erase(std::find(forcing_.begin(), forcing_.end(), std::pair(&by, key)));
}

bool checker::is_forced(std::string_view key, const id128& session, std::uint64_t nonce) const {
  const auto at = forced_.find(key);
  return at != forced_.end() && std::any_of(at->second.begin(), at->second.end(), [&](const forced_grant& each) {
           return each.session == session && each.nonce == nonce;
         });
}

bool checker::is_forced(const std::string& key, std::uint64_t fence) const {
  const auto at = forced_.find(key);
  return at != forced_.end() && std::any_of(at->second.begin(), at->second.end(), [&](const forced_grant& each) {
           return fence == 0 || each.fence == fence;  // 0: the store has no fences to show
         });
}

// ---- what the server does -------------------------------------------------------------------------------------------

process* checker::trusting(std::string_view key, key_state& at, const lock_row* of, std::string_view request,
                           those which) {
  std::erase_if(at.holders, [](const held& each) { return each.of.expired() || each.by->dead(); });
  for (const auto& each : at.holders) {
    const auto one = each.of.lock();
    if (which == those::writers && one->mode != exclusive) continue;
    // A fence that is the row's version is raised by ordinary updates too; session and nonce are the grant's for ever.
    if (of != nullptr && (one->nonce != of->nonce || one->pin->id != of->session)) continue;
    if (of == nullptr && !request.empty() && one->owner->request_id == request) continue;
    if (is_forced(key, one->pin->id, one->nonce)) continue;
    if (one->remaining(each.by->now()) > microseconds{0}) return each.by;
  }
  return nullptr;
}

void checker::granted(const request& by, const lock_row* row, std::uint64_t fence) {
  ++grants;
  if (by.action == verb::take_over) ++take_overs;
  auto& at = state_of(by.resource);
  world_.tell("server", [&] {
    return fmt::format("key {}: {} grants fence {} to session {}, nonce {:x}", by.resource, name_of(by.action), fence,
                       short_id(by.session), by.nonce);
  });
  world_.mix(fence);
  const bool own = by.action == verb::pass_on && row != nullptr && row->session == by.session && row->fence == by.fence;
  changes_hands(at, by.resource, row, fence, by.request_id, own);
  const auto whose = sessions_of_.find(by.session);
  at.last = whose == sessions_of_.end() ? nullptr : whose->second;
  if (plan_.in_order && row != nullptr && by.row == nullptr) in_turn(by, *row);
  if (by.kind != lease_kind::session) force(by.resource, by.session, by.nonce, fence);
}

void checker::taken(const std::string& key, const lock_row& row, std::uint64_t fence) {
  world_.tell("server", [&] { return fmt::format("key {}: another program takes it, as fence {}", key, fence); });
  changes_hands(state_of(key), key, &row, fence, {}, false);
}

void checker::changes_hands(key_state& at, std::string_view key, const lock_row* row, std::uint64_t fence,
                            std::string_view request, bool by_holder) {
  const auto& traits = server_.data.traits;
  if (row != nullptr && traits.caps.fence && traits.caps.consecutive_fences && fence != row->fence + 1)
    fail("I2", key, fmt::format("fence {} follows {}", fence, row->fence));
  if (traits.caps.fence && fence <= at.highest) fail("I2", key, fmt::format("fence {} after {}", fence, at.highest));
  at.highest = std::max(at.highest, fence);
  if (row != nullptr) {
    if (const auto since = server_.data.free_since(*row, server_.clock(), world_.now()))
      not_left_free(key, at, *since, nullptr);
  }
  const bool shared = row != nullptr && !request.empty() && row->request == request;
  not_kept_from_members(key, at, nullptr);
  if (const auto living = server_.data.living_members(key, server_.clock()); !living.empty())
    fail("I1", key,
         fmt::format("fence {} is granted beside a member of session {}", fence, short_id(living.front().session)));
  if (row != nullptr && row->shared() == membership::open)
    fail("I1", key, fmt::format("fence {} is granted while members may join", fence));
  const bool of_members = row != nullptr && row->shared() != membership::none;
  if (row != nullptr && !shared && !by_holder && !of_members && !server_.data.over(*row, server_.clock())) {
    fail(
        "I1", key,
        fmt::format("fence {} is taken from session {}, which lives and holds it", row->fence, short_id(row->session)));
  }
  if (const auto* const who = trusting(key, at, nullptr, request)) {
    fail("I5", key, fmt::format("fence {} is granted while {} still trusts its lease", fence, who->name()));
  }
  must_know(key, at, request);
}

void checker::in_turn(const request& by, const lock_row& row) {
  // As acquire_machine has it, by a clock that may go faster.
  constexpr moment longest_turn = 900'000;
  if (plan_.locks_rows()) return;  // it may be free, and its row locked
  const auto registered = server_.waiters.find(by.resource, server_.asking()) != nullptr;
  const auto earlier = server_.waiters.earlier(by.resource, server_.asking(), registered);
  const auto since = takeable_since(state_of(by.resource), row);
  if (earlier.empty() || !since || world_.now() - *since >= longest_turn || world_.quiet_from() > *since) return;
  fail("order", by.resource,
       fmt::format("session {} gets it {} ms after it became free, before session {}, which waits",
                   short_id(by.session), (world_.now() - *since) / millisecond, short_id(earlier.front().session)));
}

void checker::passed_over(const std::string& key, std::uint64_t wake_id, std::uint64_t fence) {
  // By a clock that may go faster.
  constexpr moment shortest_turn = 95 * std::chrono::microseconds{stores::waiter_turns::longest}.count() / 100;
  const auto row = server_.data.locks().find(key);
  const auto sleeper = sleepers_.find(wake_id);
  if (sleeper == sleepers_.end()) return;
  const auto& who = *sleeper->second;
  auto& at = state_of(key);
  at.passed_over.insert_or_assign(&who, passed{.at = world_.now(), .frozen_at = who.frozen_at()});
  if (row == server_.data.locks().end() || row->second.fence != fence) return;
  const auto since = takeable_since(at, row->second);
  if (!since) return;
  const auto free = world_.now() - *since;
  if (free < shortest_turn && server_.stepped() == 0)
    fail("order", key, fmt::format("{} is passed over {} ms after it became free", who.name(), free / millisecond));
  const bool runs = !who.dead() && who.undisturbed(free + second);
  if (plan_.in_order && runs && world_.quiet_from() <= *since && !plan_.locks_rows())
    fail("order", key, fmt::format("{} is passed over, though it runs", who.name()));
}

void checker::note_freed(std::string_view key, const lock_row& row) {
  auto& at = state_of(key);
  at.last_fence = row.fence;
  at.over_since = server_.data.free_since(row, server_.clock(), world_.now()).value_or(world_.now());
}

std::optional<moment> checker::takeable_since(const key_state& at, const lock_row& row) const {
  const auto since = server_.data.free_since(row, server_.clock(), world_.now());
  return since && at.last_fence == row.fence ? std::min(*since, at.over_since) : since;
}

void checker::row_locked(const std::string& key, moment time) {
  auto& at = state_of(key);
  at.found_by = std::max(at.found_by, world_.now() + time + 3 * second);
}

process* checker::deleted(const std::string& key, const lock_row& row) {
  constexpr moment soon = 1'500'000;
  forced_[key].push_back({row.session, row.nonce, row.fence});
  auto& at = state_of(key);
  at.forced_at = world_.now();
  for (const auto& each : at.holders) {
    const auto one = each.of.lock();
    if (one == nullptr || one->nonce != row.nonce || one->pin->id != row.session || each.by->dead()) continue;
    world_.after(soon, [this, key, of = each.of, by = each.by] {
      const auto lost = of.lock();
      if (lost == nullptr || lost->remaining(by->now()) == microseconds{0} || !by->undisturbed(soon)) return;
      fail("I9", key, fmt::format("{} still trusts fence {}, which was deleted", by->name(), lost->fence));
    });
    return each.by;
  }
  return nullptr;
}

// ---- those who hold locks while they wait -------------------------------------------------------------------------

namespace {
/// How long a deadlock cycle may last while nothing fails: the waits are registered, the held locks are written, two
/// searches follow.
constexpr moment cycle_found_after = second;
}  // namespace

bool checker::holds(const nest& other, const nest& wait, const std::string& key) const {
  const auto row = server_.data.locks().find(key);
  const bool by_server = row != server_.data.locks().end() && !server_.data.over(row->second, server_.clock());
  if (other.held
          .empty()) {  // a call for several keys: it may have the turn before other threads, or have been granted it
    if (&other == &wait || std::count(other.waits_for.begin(), other.waits_for.end(), key) == 0) return false;
    if (other.by == wait.by) return true;
    const auto of = by_server ? sessions_of_.find(row->second.session) : sessions_of_.end();
    return of != sessions_of_.end() && of->second == other.by;
  }
  // Of its own threads a process knows what they hold, and may know it longer than the server.
  return std::any_of(other.held.begin(), other.held.end(), [&](const auto& grant) {
    if (grant->key.view() != key) return false;
    if (other.by == wait.by && grant->state.load() == engine::grant_state::held) return true;
    return by_server && grant->pin->id == row->second.session &&
           (grant->nonce == row->second.nonce || grant->fence == row->second.fence);
  });
}

std::vector<checker::nest*> checker::cycle_of(nest& youngest) {
  std::vector<nest*> path{&youngest};
  for (;;) {
    const auto& wait = *path.back();
    const auto next = std::find_if(nests_.begin(), nests_.end(), [&](const nest& each) {
      return !each.held.empty() && holds(each, wait, wait.waits_for.front());
    });
    if (next == nests_.end()) return {};
    if (&*next == &youngest) return path;
    if (std::find(path.begin(), path.end(), &*next) != path.end()) return {};
    path.push_back(&*next);
  }
}

bool checker::may_wait_for(const nest& whose, const nest& from, moment least, std::set<std::uint64_t>& met) const {
  if (!met.insert(from.number).second) return false;
  return std::any_of(from.waits_for.begin(), from.waits_for.end(), [&](const std::string& key) {
    return std::any_of(nests_.begin(), nests_.end(), [&](const nest& each) {
      return each.until >= least && holds(each, from, key) &&
             (&each == &whose || may_wait_for(whose, each, least, met));
    });
  });
}

bool checker::may_be_refused(const nest& wait) const {
  std::set<std::uint64_t> met;
  return may_wait_for(wait, wait, wait.until - unsure(), met);
}

/// Whether a call for several keys, which cycle_of() does not see, may have closed another cycle with that wait, which
/// the wait is the first to leave.
bool checker::closed_by_several(const nest& wait) const {
  const auto least = wait.until - unsure();
  return std::any_of(nests_.begin(), nests_.end(), [&](const nest& each) {
    std::set<std::uint64_t> there, back;
    return each.held.empty() && may_wait_for(each, wait, least, there) && may_wait_for(wait, each, least, back);
  });
}

checker::nest& checker::nest_begins(const process& by, std::vector<std::shared_ptr<engine::grant>> meanwhile,
                                    std::vector<std::string> waits_for, bool certain, std::chrono::microseconds wait) {
  nests_.push_back({.number = ++last_nest_,
                    .by = &by,
                    .held = std::move(meanwhile),
                    .waits_for = std::move(waits_for),
                    .certain = certain,
                    .begun = world_.now(),
                    .until = world_.now() + wait.count()});  // as the table has it, whatever the clock's rate
  auto& mine = nests_.back();
  if (mine.held.empty()) return mine;
  const auto cycle = cycle_of(mine);
  if (cycle.empty()) return mine;
  const auto refused = std::make_shared<unsigned>(0);
  std::vector<std::uint64_t> numbers;
  bool sure = true;
  const auto first =
      std::min_element(cycle.begin(), cycle.end(), [](const nest* a, const nest* b) { return a->until < b->until; });
  for (auto* const each : cycle) {
    each->in_cycle = true;
    each->first_end = std::max(each->first_end, (*first)->until);
    each->refused = refused;
    numbers.push_back(each->number);
    sure = sure && each->certain && !each->by->dead() && (plan_.caps().wakes_one() || each->by == &by);
  }
  world_.tell(by.name(), [&] {
    return fmt::format("key {}: closes a deadlock cycle of {}", mine.waits_for.front(), cycle.size());
  });
  const auto limit = cycle_found_after + 100 * plan_.longest_travel() + 11 * plan_.first_pause * millisecond;
  const auto begun = world_.now();
  if (!sure) return mine;
  world_.after(limit, [this, numbers, begun, waited_for = mine.waits_for.front(), limit] {
    const bool lasts = std::all_of(numbers.begin(), numbers.end(), [&](std::uint64_t number) {
      return std::any_of(nests_.begin(), nests_.end(), [&](const nest& each) { return each.number == number; });
    });
    if (!lasts || world_.quiet_from() > begun) return;
    fail("cycle", waited_for,
         fmt::format("{} waits form a deadlock cycle for {} ms, and none is refused", numbers.size(),
                     limit / millisecond));
  });
  return mine;
}

void checker::cycle_told(const process& by) {
  for (auto& each : nests_) {
    if (each.by != &by || each.in_cycle || !may_be_refused(each)) continue;
    each.in_cycle = true;
    each.first_end = each.until;
    each.refused = std::make_shared<unsigned>(0);
  }
}

void checker::nest_ends(nest& which, bool refused) {
  refused = refused && plan_.about != subject::shared;  // who shares a key, and asks for it exclusively, is refused too
  const auto& key = which.waits_for.front();
  if (refused && which.in_cycle && closed_by_several(which)) which.in_cycle = false;
  if (refused && which.in_cycle && which.until > which.first_end + unsure() && world_.quiet_from() <= which.begun) {
    fail("cycle", key,
         fmt::format("{} is refused, and would have had it: another wait of the cycle ends {} ms before",
                     which.by->name(), (which.until - which.first_end) / millisecond));
  }
  if (refused && !which.in_cycle && !may_be_refused(which))
    fail("cycle", key, fmt::format("{} is refused, and is in no deadlock cycle", which.by->name()));
  if (refused && which.in_cycle && ++*which.refused > 1 && world_.quiet_from() <= world_.now() - 5 * second)
    fail("cycle", key, fmt::format("{} is refused, though another one was", which.by->name()));
  nests_.remove_if([&](const nest& each) { return &each == &which; });
}

// ---- those who wait -------------------------------------------------------------------------------------------------

void checker::wait_begins(const process& by, std::string_view key, const lock_mode& mode) {
  state_of(key).waiters.push_back({&by, world_.now(), mode});
}

void checker::wait_ends(const process& by, std::string_view key, const lock_mode& mode, bool granted) {
  auto& at = state_of(key);
  const auto found = std::find_if(at.waiters.begin(), at.waiters.end(),
                                  [&](const waiter& each) { return each.by == &by && each.mode == mode; });
  if (!granted) {
    not_kept_from_members(key, at, &by);
    const auto row = server_.data.locks().find(key);
    if (row != server_.data.locks().end()) {
      if (const auto since = server_.data.free_since(row->second, server_.clock(), world_.now()))
        not_left_free(key, at, *since, &by);
    }
  }
  at.waiters.erase(found);
  at.left[&by] = world_.now();
}

bool checker::excuses(const process& one, std::string_view key, const key_state& at, moment since) const {
  if (one.dead() || (!one.frozen() && one.thawed_at() < since)) return false;
  if (!one.frozen() || one.frozen_at() >= since - second) return true;  // it may have stopped in the middle of anything
  const auto had_turn = at.passed_over.find(&one);
  if (had_turn != at.passed_over.end() && had_turn->second.frozen_at == one.frozen_at())
    return had_turn->second.at >= since;
  return at.last == &one || std::any_of(sleepers_.begin(), sleepers_.end(), [&](const auto& each) {
           return each.second == &one && server_.waiters.find(key, each.first) != nullptr;
         });
}

moment checker::excused_by_stops(std::string_view key, const key_state& at, moment since, const process& waits) const {
  if (plan_.about != subject::stops) return 0;  // elsewhere it disturbs the whole world
  // Who is behind several others looks as seldom as everybody. All of them by clocks that may go slower.
  constexpr moment last_look = 4 * second, turn = 300 * millisecond;
  std::set<const process*> stopped;
  for (const auto& [session, of] : sessions_of_) {
    if (of != &waits && excuses(*of, key, at, since)) stopped.insert(of);
  }
  return stopped.empty() ? 0 : 21 * (last_look + static_cast<moment>(stopped.size()) * turn) / 20;
}

moment checker::longest_free() const noexcept {
  // Pauses and courtesy, and the statements that follow, beside those of the other keys.
  moment most = 200'000 + 40 * plan_.longest_travel();
  if (!plan_.notifies()) most += 11 * plan_.first_pause * 1'000;
  return plan_.locks_rows() ? most + 3'000'000 : most;
}

void checker::not_left_free(std::string_view key, const key_state& at, moment since, const process* by) {
  // Several keys are asked for while none is held, and a thread that waits for one of them stands behind that call.
  if (plan_.has(hazard::several)) return;
  for (const auto& each : at.waiters) {
    if (each.by->dead() || each.by->frozen() || (by != nullptr && each.by != by)) continue;
    const auto free = world_.now() - std::max({since, each.since, each.by->thawed_at(), world_.quiet_for_all_from(),
                                               at.forced_at + noticed_after, at.found_by});
    if (free <= longest_free() || free <= longest_free() + excused_by_stops(key, at, since, *each.by)) continue;
    fail("liveness", key,
         fmt::format("it is free for {} ms, {} waits for it, and nothing has failed", free / 1'000, each.by->name()));
  }
}

void checker::must_know(std::string_view key, const key_state& at, std::string_view request, those which) {
  for (const auto& each : at.holders) {
    const auto one = each.of.lock();
    if (which == those::writers && one->mode != exclusive) continue;
    if (!request.empty() && one->owner->request_id == request) continue;
    const auto state = one->state.load();
    if (state != engine::grant_state::held && state != engine::grant_state::lost) continue;
    if (!each.by->undisturbed(one->ttl.count()) || is_forced(key, one->pin->id, one->nonce)) continue;
    if (one->lost_token().stop_requested() && each.observed) continue;
    fail("I9", key,
         fmt::format("{} has lost fence {}, somebody else gets the key, and {} was not told", each.by->name(),
                     one->fence, each.observed ? "its holder" : "the observer"));
  }
}

void checker::lost_for_a_margin(std::string_view key, const held& each) {
  const auto one = each.of.lock();
  if (one == nullptr || each.by->dead() || one->state.load() != engine::grant_state::lost) return;
  if (is_forced(key, one->pin->id, one->nonce)) return;
  const auto since = each.by->now() - one->lost_at.load();
  if (since < engine::margin_for(one->ttl, std::chrono::microseconds{0})) {
    fail("I3", key,
         fmt::format("fence {} is freed {} us after {} has lost it", one->fence, since.count(), each.by->name()));
  }
}

void checker::loss_notified(const process& to, std::string_view key, std::uint64_t fence) {
  auto& at = state_of(key);
  std::erase_if(at.losses, [&](const auto& each) { return each.of == &to; });
  at.losses.push_back({&to, fence, to.now()});
  for (auto& each : at.holders) {
    const auto one = each.of.lock();
    if (one == nullptr || each.by != &to) continue;
    if (one->fenced ? one->shown() == fence : one->remaining(to.now()) == microseconds{0}) each.observed = true;
  }
}

void checker::closed(const id128& session) {
  for (const auto& [key, at] : keys_) {
    for (const auto& each : at.holders) {
      const auto one = each.of.lock();
      if (one != nullptr && one->kind == lease_kind::session && one->pin->id == session) lost_for_a_margin(key, each);
    }
  }
}

void checker::freed(const request& by, const lock_row& row) {
  world_.tell("server", [&] {
    return fmt::format("key {}: {} frees fence {} of session {}{}", by.resource, name_of(by.action), row.fence,
                       short_id(row.session), by.wake ? ", and looks for a waiter" : "");
  });
  note_freed(by.resource, row);
  if (by.session != row.session || (by.nonce != 0 && by.nonce != row.nonce)) {
    fail("I6", by.resource,
         fmt::format("a {} of nonce {:x} frees the grant of nonce {:x}", name_of(by.action), by.nonce, row.nonce));
  }
  const auto at = keys_.find(by.resource);
  if (at == keys_.end()) return;
  if (const auto* const who = trusting(by.resource, at->second, &row, {})) {
    fail("I5", by.resource, fmt::format("fence {} is freed while {} still trusts its lease", row.fence, who->name()));
  }
  for (const auto& each : at->second.holders) {
    const auto one = each.of.lock();
    if (one->nonce == row.nonce && one->pin->id == row.session) lost_for_a_margin(by.resource, each);
  }
}

void checker::ended(const std::string& key, const lock_row& row) {
  world_.tell("server", [&] { return fmt::format("key {}: fence {} ends with its session", key, row.fence); });
  note_freed(key, row);
  const auto at = keys_.find(key);
  if (at == keys_.end()) return;
  if (const auto* const who = trusting(key, at->second, &row, {})) {
    fail("I5", key, fmt::format("fence {} ends with its session while {} still trusts it", row.fence, who->name()));
  }
}

/// Where a release wakes one waiter, it wakes none then, and they look at the key every 4 s.
void checker::kept(const request& by, moment time) {
  if (!plan_.caps().wakes_one()) return;
  auto& at = state_of(by.resource);
  at.found_by = std::max(at.found_by, world_.now() + time + 4 * second);
}

void checker::extended(const request& by, const lock_row& row) {
  if (!row.request.empty()) return;  // the row names the last of those that hold it
  if (by.session != row.session || (by.nonce != 0 && by.nonce != row.nonce)) {
    fail("I6", by.resource, "an extension of another program's grant");
  }
}

void checker::reserved(const request& by, const lock_row& row) {
  world_.tell("server", [&] { return fmt::format("key {}: tokens up to {} are reserved", by.resource, row.fence); });
  world_.mix(row.fence);
  auto& at = state_of(by.resource);
  at.highest = std::max(at.highest, row.fence);
}

void checker::opened(const id128& session) {
  world_.tell("server", [&] { return "session " + short_id(session) + " is opened"; });
  if (!opened_.insert(session).second) fail("I6", "-", "session " + short_id(session) + " is opened a second time");
}

void checker::handed_out(process& to, const std::shared_ptr<engine::grant>& one) {
  auto& at = state_of(one->key.view());
  std::erase_if(at.holders, [](const held& each) { return each.of.expired(); });
  // It may have been lost before its caller got it.
  const bool observed = std::any_of(at.losses.begin(), at.losses.end(), [&](const auto& each) {
    return each.of == &to && each.at >= one->granted_at && (!one->fenced || each.fence == one->shown());
  });
  const bool trusted = one->remaining(to.now()) > microseconds{0};
  const auto* const who =
      plan_.about == subject::shared && trusted
          ? trusting(one->key.view(), at, nullptr, {}, one->mode == exclusive ? those::all : those::writers)
          : nullptr;
  if (who != nullptr)
    fail("I5", one->key.view(),
         fmt::format("fence {} is handed out while {} trusts its lease", one->fence, who->name()));
  at.holders.push_back({one, &to, observed});
  if (plan_.about != subject::lingering || one->remaining(to.now()) == microseconds{0}) return;
  const bool forced = is_forced(one->key.view(), one->pin->id, one->nonce);
  if (one->shown() <= at.token && !forced)
    fail("I2", one->key.view(), fmt::format("token {} is handed out after {}", one->shown(), at.token));
  at.token = std::max(at.token, one->shown());
}

bool checker::check(process& of, const lease& lease) {
  auto& one = *detail::access::grant_of(lease);
  const auto key = one.key.view();
  const bool trusted = lease.remaining() > microseconds{0};
  bool ensured = true;
  try {
    lease.ensure_held();
  } catch (const lock_lost&) {
    ensured = false;
  }
  const bool notified = lease.lost_token().stop_requested();
  if (ensured != trusted || (lease.loss() == loss_reason::none) != trusted || (notified && trusted)) {
    fail("I9", key,
         fmt::format("fence {} is {}, ensure_held() {}, loss() is {}, and lost_token() {}", one.fence,
                     trusted ? "trusted" : "lost", ensured ? "returns" : "throws", to_string(lease.loss()),
                     notified ? "was stopped" : "was not"));
  }
  if (one.remaining(of.now()) == microseconds{0}) return false;
  if (one.mode != exclusive) return check_member(of, one);
  if (const auto revoked = revoked_.find(key); revoked != revoked_.end()) {
    const auto& [fence, when] = revoked->second;
    const auto end = when + 2 * one.ttl.count() + 1'000'000;
    if (fence == one.fence && one.kind == lease_kind::session && world_.now() > end) {
      fail("I4", key, fmt::format("fence {} was taken away by an operator, and is held on", fence));
    }
  }
  if (is_forced(key, one.pin->id, one.nonce)) return false;
  const auto at = server_.data.locks().find(key);
  if (at == server_.data.locks().end() || !database::shows(at->second, one.pin->id, one.nonce, one.fence)) {
    fail("I1", key,
         fmt::format("{} trusts fence {}, and the row has {}", of.name(), one.fence,
                     at == server_.data.locks().end() ? 0 : at->second.fence));
  } else if (server_.data.over(at->second, one.pin->id, one.nonce, server_.clock())) {
    fail("I5", key, fmt::format("{} trusts fence {}, and the server may give it away", of.name(), one.fence));
  }
  return true;
}

void checker::write(const std::string& key, std::uint64_t fence) {
  if (!server_.data.traits.caps.fence) return;
  auto& at = state_of(key);
  if (fence < at.written) fail("I1", key, fmt::format("a write of fence {} after one of fence {}", fence, at.written));
  at.written = std::max(at.written, fence);
}

void checker::check_free(const std::map<id128, process*>& sessions_of) {
  for (const auto& [key, row] : server_.data.locks()) {
    if (server_.data.over(row, server_.clock()) || row.shared() != membership::none) continue;
    const auto of = sessions_of.find(row.session);
    if (of != sessions_of.end() && of->second->dead()) continue;
    fail("I4", key, fmt::format("fence {} is held for nobody, by session {}", row.fence, short_id(row.session)));
  }
  for (const auto& [key, all] : server_.data.all_members()) {
    for (const auto& each : server_.data.living_members(key, server_.clock())) {
      const auto of = sessions_of.find(each.session);
      if (of != sessions_of.end() && of->second->dead()) continue;
      fail("I4", key, fmt::format("a member of session {} is held for nobody", short_id(each.session)));
    }
  }
}

// ---- members --------------------------------------------------------------------------------------------------------

namespace {
bool is_member(const engine::grant& one, const member_row& row) {
  return one.mode != exclusive && one.nonce == row.nonce && one.pin->id == row.session;
}
}  // namespace

process* checker::trusting(std::string_view key, key_state& at, const member_row& of) {
  const lock_row row{.session = of.session, .nonce = of.nonce};
  return trusting(key, at, &row, {});
}

std::uint64_t checker::trusted_units(std::string_view key, const key_state& at, const member_row& but) const {
  std::set<std::pair<id128, std::uint64_t>> counted;  // readers of one process share a member
  std::uint64_t units = 0;
  for (const auto& each : at.holders) {
    const auto one = each.of.lock();
    if (one == nullptr || each.by->dead() || one->mode == exclusive || is_member(*one, but)) continue;
    if (is_forced(key, one->pin->id, one->nonce) || one->remaining(each.by->now()) <= microseconds{0}) continue;
    if (counted.insert({one->pin->id, one->nonce}).second) units += one->mode.units;
  }
  return units;
}

void checker::nobody_relies_on(const std::string& key, key_state& at, const lock_row& before) {
  if (const auto since = server_.data.free_since(before, server_.clock(), world_.now()))
    not_left_free(key, at, *since, nullptr);
  if (!server_.data.over(before, server_.clock())) {
    fail("I1", key,
         fmt::format("it is opened to members, and session {} lives and holds it", short_id(before.session)));
  }
  if (const auto* const who = trusting(key, at, nullptr, {}))
    fail("I5", key, fmt::format("it is opened to members while {} still trusts its lease", who->name()));
  must_know(key, at, {});
}

void checker::shared(const std::string& key, const lock_row* before, const lock_row& row) {
  const auto now = row.shared();
  world_.tell("server", [&] {
    return fmt::format("key {}: {} members after fence {}, closing {}", key,
                       now == membership::open     ? "is open to"
                       : now == membership::closed ? "is closed to"
                                                   : "is free of",
                       row.fence, row.closings);
  });
  world_.mix(row.fence);
  world_.mix(row.closings);
  auto& at = state_of(key);
  if (before == nullptr) {
    if (row.fence <= at.highest) fail("I2", key, fmt::format("fence {} after {}", row.fence, at.highest));
  } else {
    if (before->shared() == membership::none) {
      nobody_relies_on(key, at, *before);
    } else if (before->shared() != now) {
      not_kept_from_members(key, at, nullptr);
    }
    if (row.fence != before->fence) fail("I2", key, fmt::format("members raise the fence to {}", row.fence));
  }
  if (!server_.data.living_members(key, server_.clock()).empty() && now == membership::none)
    fail("I1", key, "it is freed while it has members");
  at.highest = std::max(at.highest, row.fence);
  if (before == nullptr || before->shared() != now) at.members_changed = world_.now();
  if (now != membership::open) return;
  const bool lapses = before != nullptr && before->shared() == membership::closed &&
                      server_.clock() - before->acquired >= closed_for.count();
  moment waits = 0;
  if (const auto* const writer = longest_writer(at, at.opened, waits);
      lapses && writer != nullptr && waits > closed_for.count())
    fail("liveness", key, fmt::format("its closing lapses, though {} waits for the exclusive lock", writer->name()));
  at.opened = world_.now();
}

void checker::units_exceeded(const std::string& key, const member_row& who, std::uint64_t units, std::uint32_t permits,
                             const char* which) {
  if (permits == 0 || units + who.units <= permits) return;
  fail("I1", key,
       fmt::format("session {} gets {} of {} units, and {} {}", short_id(who.session), who.units, permits, units,
                   which));
}

void checker::member_joins(const std::string& key, const member_row& who, std::uint32_t permits) {
  ++grants;
  world_.tell("server", [&] {
    return fmt::format("key {}: session {} joins with {} units{}, nonce {:x}, after fence {}", key,
                       short_id(who.session), who.units, permits > 0 ? fmt::format(" of {}", permits) : "", who.nonce,
                       who.fence);
  });
  world_.mix(who.fence);
  world_.mix(who.units);
  auto& at = state_of(key);
  not_kept_from_members(key, at, nullptr);
  const auto row = server_.data.locks().find(key);
  if (row == server_.data.locks().end() || row->second.shared() != membership::open)
    return fail("I1", key, "a member joins, and it is not open");
  if (who.fence != row->second.fence || who.fence < at.highest)
    fail("I2", key, fmt::format("a member gets token {} after {}", who.fence, at.highest));
  if (const auto* const writes = trusting(key, at, nullptr, {}, those::writers))
    fail("I5", key, fmt::format("a member joins while {} still trusts its lease", writes->name()));
  must_know(key, at, {}, those::writers);
  // A writer that gives up opens the key for all. The others close it again.
  moment waits = 0;
  if (const auto* const writer = longest_writer(at, at.opened, waits); writer != nullptr && waits > longest_free()) {
    fail("liveness", key,
         fmt::format("a member joins, though {} waits for the exclusive lock for {} ms, and nothing has failed",
                     writer->name(), waits / millisecond));
  }
  std::uint64_t units = 0;
  for (const auto& each : server_.data.living_members(key, server_.clock())) units += each.units;
  units_exceeded(key, who, units, permits, "are held by living sessions");
  units_exceeded(key, who, trusted_units(key, at, who), permits, "are trusted");
  at.members_changed = world_.now();
  const auto whose = sessions_of_.find(who.session);
  at.last = whose == sessions_of_.end() ? nullptr : whose->second;
}

void checker::member_goes(const std::string& key, const member_row& who) {
  world_.tell("server", [&] {
    return fmt::format("key {}: the member with nonce {:x} of session {} goes", key, who.nonce, short_id(who.session));
  });
  auto& at = state_of(key);
  not_kept_from_members(key, at, nullptr);
  at.members_changed = world_.now();
  if (const auto* const trusts = trusting(key, at, who))
    fail("I5", key,
         fmt::format("a member after fence {} goes while {} still trusts its lease", who.fence, trusts->name()));
  // When its session is gone, closed() has looked.
  if (!server_.data.all_sessions().contains(who.session)) return;
  for (const auto& each : at.holders) {
    const auto one = each.of.lock();
    if (one != nullptr && is_member(*one, who)) lost_for_a_margin(key, each);
  }
}

bool checker::check_member(process& of, const engine::grant& one) {
  const auto key = one.key.view();
  auto& at = state_of(key);
  for (const auto& [who, when] : at.revoked) {
    if (is_member(one, who) && world_.now() > when + 2 * one.ttl.count() + second)
      fail("I4", key, "a member whose session was revoked by an operator is held on");
  }
  const auto row = server_.data.locks().find(key);
  const auto all = server_.data.living_members(key, server_.clock());
  const bool there = std::any_of(all.begin(), all.end(), [&](const member_row& each) { return is_member(one, each); });
  if (!there) fail("I1", key, fmt::format("{} trusts a member after fence {} that is not there", of.name(), one.fence));
  if (row == server_.data.locks().end() || row->second.shared() == membership::none)
    fail("I1", key, fmt::format("{} trusts a member after fence {}, and the key is not shared", of.name(), one.fence));
  return true;
}

void checker::read(const std::string& key, std::uint64_t fence) {
  const auto& at = state_of(key);
  if (fence < at.written)
    fail("I1", key, fmt::format("a member after fence {} reads a write of fence {}", fence, at.written));
}

std::vector<member_row> checker::members(const std::string& key) const {
  const auto at = server_.data.all_members().find(key);
  return at == server_.data.all_members().end() ? std::vector<member_row>{} : at->second;
}

void checker::revoked(const std::string& key, const std::vector<member_row>& before) {
  for (const auto& each : before) state_of(key).revoked.emplace_back(each, world_.now());
}

std::optional<moment> checker::shareable_since(std::string_view key, const key_state& at, const lock_mode& mode) const {
  const auto row = server_.data.locks().find(key);
  if (row == server_.data.locks().end() || row->second.shared() == membership::none) return std::nullopt;
  const auto members = server_.data.all_members().find(key);
  std::uint64_t units = 0;
  if (members != server_.data.all_members().end()) {
    for (const auto& each : members->second) units += each.units;
  }
  auto since = at.members_changed;
  if (mode == exclusive) return units == 0 ? std::optional(since) : std::nullopt;
  if (mode != dlock::shared && units + mode.units > mode.permits) return std::nullopt;
  if (row->second.shared() != membership::closed) return since;
  const bool writes =
      std::any_of(at.writers.begin(), at.writers.end(), [](const process* each) { return !each->dead(); });
  if (!writes) return std::max(since, at.writer_left);      // who closed it must have opened it
  const auto age = server_.clock() - row->second.acquired;  // of the last closing
  return std::max(since, world_.now() - age + closed_for.count());
}

void checker::writer_ends(const process& by, std::string_view key) {
  auto& at = state_of(key);
  at.writers.erase(std::find(at.writers.begin(), at.writers.end(), &by));
  at.writer_left = world_.now();
}

const process* checker::longest_writer(const key_state& at, moment since, moment& waits) const {
  const process* found = nullptr;
  waits = 0;
  if (plan_.has(hazard::several)) return found;
  for (const auto& each : at.waiters) {
    if (each.by->dead() || each.by->frozen()) continue;
    // Behind a thread of its process that wants to be a member it does not ask.
    auto begun = std::max({since, each.by->thawed_at(), world_.quiet_for_all_from(), at.found_by});
    bool asks = true;
    for (const auto& other : at.waiters) {
      if (other.by != each.by) continue;
      asks = asks && other.mode == exclusive;
      begun = std::max(begun, other.since);
    }
    if (const auto left = at.left.find(each.by); left != at.left.end()) begun = std::max(begun, left->second);
    if (!asks || world_.now() - begun <= waits) continue;
    waits = world_.now() - begun;
    found = each.by;
  }
  return found;
}

void checker::not_kept_from_members(std::string_view key, const key_state& at, const process* by) {
  if (plan_.about != subject::shared || plan_.has(hazard::several)) return;
  for (const auto& each : at.waiters) {
    if (each.by->dead() || each.by->frozen() || (by != nullptr && each.by != by)) continue;
    // Threads of one process get it in the order in which they came.
    std::optional<moment> since = shareable_since(key, at, each.mode);
    for (const auto& other : at.waiters) {
      if (other.by != each.by || !since) continue;
      const auto first = shareable_since(key, at, other.mode);
      since = first ? std::optional(std::max({*since, *first, other.since})) : std::nullopt;
    }
    if (!since) continue;
    if (const auto left = at.left.find(each.by); left != at.left.end()) since = std::max(*since, left->second);
    const auto free = world_.now() - std::max({*since, each.since, each.by->thawed_at(), world_.quiet_for_all_from(),
                                               at.forced_at + noticed_after, at.found_by});
    if (free <= longest_free()) continue;
    fail("liveness", key,
         fmt::format("{} waits for {}, which it can have for {} ms, and nothing has failed", each.by->name(),
                     each.mode == exclusive       ? "the exclusive lock"
                     : each.mode == dlock::shared ? "a shared lock"
                                                  : "a permit",
                     free / millisecond));
  }
}

}  // namespace dlock::simulation
