// SPDX-License-Identifier: BSL-1.0
#include "simulation/server.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "simulation/trace.hpp"

namespace dlock::simulation {

namespace {

reply contended() {
  reply made;
  made.why = {.native = 1205, .transient = true, .contended = true};
  return made;
}
}  // namespace

void job::due(std::uint64_t turn) {
  const auto me = std::move(itself);
  if (turn == is_answered) {
    if (sender != nullptr) sender->answered();
  } else if (turn == goes_on) {
    to->go_on(me);
  } else {
    to->arrive(me);
  }
}

void job::begin_anew() {
  asks.clear();
  answers.clear();
  to_wake.clear();
  first.clear();
  keys.clear();
  expected.clear();
  rows.clear();
  other = nullptr;
  text = {};
  sessions_then.reset();
  what = kind::keyed;
  begun = done = gave_up_waiting = false;
}

void job::leave() {
  sender = nullptr;
  if (done || what == kind::other || what == kind::text) return;
  if (what == kind::session) {
    record.host = record.label = {};
    return;
  }
  keys.resize(asks.size());
  expected.resize(asks.size());
  rows.resize(asks.size());
  for (std::size_t i = 0; i < asks.size(); ++i) {
    auto& q = asks[i];
    keys[i] = q.resource;
    q.resource = keys[i];
    if (q.expected != nullptr) {
      expected[i] = *q.expected;
      q.expected = &expected[i];
    }
    if (q.row != nullptr) {
      rows[i] = *q.row;
      q.row = &rows[i];
    }
  }
}

// ---- connections ----------------------------------------------------------------------------------------------------

std::uint64_t server::connect() {
  if (!up_) return 0;
  connections_[++last_connection_] = false;
  return last_connection_;
}

void server::close(std::uint64_t connection) {
  if (connections_.erase(connection) == 0) return;
  for (auto& [key, each] : subscribers_) each.erase(connection);
  waiters.ended(connection);
  unlock(connection);
  if (closed) closed(connection);
}

void server::vanished(std::uint64_t connection) {
  if (!connections_.contains(connection)) return;
  world_.after(world_.random.between(1, 12) * second, [this, connection] { close(connection); });
}

void server::kill(std::uint64_t connection) { close(connection); }

std::uint64_t server::any_connection() {
  if (connections_.empty()) return 0;
  auto at = connections_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(world_.random.below(connections_.size())));
  return at->first;
}

void server::restart(moment away, bool as_another) {
  ++faults;
  up_ = false;
  waiting_.clear();
  for (auto& [key, row] : data.locks()) row.locked_by = 0;
  any_locked_ = false;
  subscribers_.clear();
  world_.disturb(away + 15 * second);
  for (const auto& [id, any] : std::exchange(connections_, {})) {
    waiters.ended(id);
    if (closed) closed(id);
  }
  incarnation_ = std::to_string(++starts_);
  if (as_another) name_ = "simulated" + incarnation_;
  world_.tell("server", [&] { return std::string("restarts") + (as_another ? " as another one" : ""); });
  world_.after(away, [this] { up_ = true; });
  for (auto& each : std::exchange(verifiers_waiting_, {})) each();
}

// ---- statements -----------------------------------------------------------------------------------------------------

/// How long it stays between its clock and its execution, behind locks of tables or a slow disk.
moment server::stall_of(const job& one) {
  if (calm || !plan_.has(hazard::slow_statements)) return 0;
  auto& chance = world_.random;
  // Renewals out of order take more luck than one run has.
  if (one.what == job::kind::session && chance.chance(30'000 * plan_.often)) return chance.between(1, 3 * second / 2);
  if (!chance.chance(10'000 * plan_.often)) return 0;
  return chance.chance(100'000) ? chance.between(100'000, 3 * second) : chance.between(1, 50'000);
}

void server::arrive(const std::shared_ptr<job>& one) {
  if (!alive(one->connection)) {  // nobody is there to answer; the client learns of it
    if (one->sender != nullptr) one->sender->lost();
    return;
  }
  one->begun = true;
  one->clock = clock();
  world_.mix(one->connection);
  for (const auto& each : one->asks) trace(world_, each);
  if (one->what == job::kind::session) trace(world_, one->action, one->record);
  auto stall = stall_of(*one);
  if (stall > 0) {
    ++faults;
    world_.disturb(stall + 5 * second);
  }
  if (one->what == job::kind::text) {
    trace(world_, one->text);
    if (one->text.what->reads_unlocked) {
      one->text.then = std::make_shared<const database::snapshot>(data.all());
      stall += world_.random.between(1, 50);
    }
  }
  if (stall == 0) return execute(one);
  if (one->what == job::kind::keyed && one->asks.front().action == verb::take_over)
    one->sessions_then = data.all_sessions();
  one->itself = one;
  world_.at(world_.now() + stall, *one, job::goes_on);
}

bool server::is_locked(const request& q) const {
  const auto at = data.locks().find(q.resource);
  return at != data.locks().end() && at->second.locked_by != 0;
}

bool server::waits_for_lock(const job& one) {
  if (any_locked_ && one.what == job::kind::text) return is_locked({.resource = sql::locked_key(one.text)});
  if (!any_locked_ || one.what != job::kind::keyed || one.asks.front().action == verb::poll) return false;
  return std::any_of(one.asks.begin(), one.asks.end(), [&](const request& q) { return is_locked(q); });
}

/// All but those that `fails` names, which are contended.
void server::run_but(job& one, const std::function<bool(std::size_t)>& fails) {
  std::vector<request> rest;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < one.asks.size(); ++i) {
    one.answers[i] = contended();
    if (fails(i)) continue;
    rest.push_back(one.asks[i]);
    positions.push_back(i);
  }
  std::vector<reply> answers(rest.size());
  if (!rest.empty()) data.run_batch(rest, {one.clock, one.sessions_then ? &*one.sessions_then : nullptr}, answers);
  for (std::size_t i = 0; i < positions.size(); ++i) one.answers[positions[i]] = std::move(answers[i]);
}

/// Those that meet a locked row, or all, are told so. False: they wait for it.
bool server::fail_contended(job& one) {
  if (one.what == job::kind::text) {
    if (one.if_locked == row_wait::accept && !one.gave_up_waiting) return false;
    one.answers.front() = contended();
    return true;
  }
  const auto& asked = one.asks.front();
  const bool alone = one.asks.size() == 1;
  const bool waits =
      asked.if_locked == row_wait::accept || (asked.if_locked == row_wait::avoid && alone && plan_.take_waits);
  if (waits && !one.gave_up_waiting) return false;
  const bool pass_over = !alone && (!plan_.has(hazard::contention) || asked.action == verb::extend);
  run_but(one, [&](std::size_t i) { return !pass_over || is_locked(one.asks[i]); });
  return true;
}

/// Deadlocks, and rows that other statements have locked for the moment.
bool server::fail_by_chance(job& one) {
  auto& chance = world_.random;
  if (calm || !plan_.has(hazard::contention) || one.asks.front().action == verb::poll) return false;
  if (chance.chance(2'000)) {
    world_.disturb(2 * second);
    run_but(one, [](std::size_t) { return true; });
    return true;
  }
  if (one.asks.size() == 1 || !chance.chance(50'000)) return false;
  world_.disturb(2 * second);
  const auto which = chance.below(one.asks.size());
  run_but(one, [which](std::size_t i) { return i == which; });
  return true;
}

/// A take in order is refused while others come first.
bool server::waits_for_others(job& one) {
  const auto& asked = one.asks.front();
  const bool grants = asked.action == verb::take || asked.action == verb::take_over;
  if (!asked.in_order || !grants || data.wrong == mistake::order_ignored) return false;
  if (waiters.earlier(asked.resource, one.wake_id, asked.registered).empty()) return false;
  one.answers.front() = {};
  one.answers.front().result = outcome::no;
  return true;
}

/// A release says whom to wake, and so does a poll that lets others go first.
void server::look_for_waiters(job& one) {
  one.to_wake.assign(one.asks.size(), 0);
  one.first.assign(one.asks.size(), std::nullopt);
  if (!data.traits.caps.wakes_one()) return;
  for (std::size_t i = 0; i < one.asks.size(); ++i) {
    const auto& asked = one.asks[i];
    auto& answer = one.answers[i];
    if (answer.result != outcome::yes) continue;
    const bool frees = asked.action == verb::release || asked.action == verb::cancel;
    if (frees && asked.wake && asked.min_hold.count() <= 0) one.to_wake[i] = waiters.first(asked.resource, one.wake_id);
    auto& holder = answer.holder;
    if (asked.action != verb::poll || !asked.in_order || (holder.holder && !holder.gone && !holder.expired)) continue;
    one.first[i] = waiters.first_of_others(asked.resource, one.wake_id, asked.registered);
    holder.others_first = one.first[i].has_value();
  }
}

void server::pass_over(const std::string& key, const waiter_table::row& first, std::uint64_t fence) {
  world_.tell("server", [&] { return "key " + key + ": a waiter loses its row, which it will enter again"; });
  if (data.observer != nullptr) data.observer->passed_over(key, first.wake_id, fence);
  waiters.pass_over(key, first);
}

/// A deadlock may fail a statement that locks rows.
void server::execute_text(job& one) {
  const bool reads = one.text.what->what == sql::statement::kind::select;
  if (!reads && !calm && plan_.has(hazard::contention) && world_.random.chance(2'000)) {
    world_.disturb(2 * second);
    one.answers.front() = contended();
    return;
  }
  one.answers.front() = sql::execute(one.text, data, one.clock);
}

void server::execute(const std::shared_ptr<job>& one) {
  if (one->done || !up_ || !connections_.contains(one->connection)) return;
  // A statement that has waited since before the clock was set back is not promised anything (docs/guarantees.md).
  one->clock = std::min(one->clock, clock());
  asking_ = one->wake_id;
  if (waits_for_lock(*one)) {
    if (!fail_contended(*one)) {
      waiting_.push_back(one);
      world_.after(lock_wait, [this, one] {
        one->gave_up_waiting = true;
        if (std::erase(waiting_, one) > 0) execute(one);
      });
      return;
    }
  } else if (one->what == job::kind::keyed) {
    if (!fail_by_chance(*one) && !waits_for_others(*one)) {
      data.run_batch(one->asks, {one->clock, one->sessions_then ? &*one->sessions_then : nullptr}, one->answers);
    }
    notify_of(*one);
    look_for_waiters(*one);
  } else if (one->what == job::kind::text) {
    execute_text(*one);
  } else if (one->what == job::kind::session) {
    end_own_session(*one);
  } else {
    one->answers.front() = one->other(one->clock);
  }
  if (one->what == job::kind::keyed && one->asks.front().action == verb::poll && !calm) {
    for (auto& each : one->answers) {
      if (each.result == outcome::yes && each.holder.holder && plan_.has(hazard::stale_polls) &&
          world_.random.chance(20'000)) {
        world_.disturb(second);
        each.holder.expired = true;
        each.holder.remaining = microseconds{0};
      }
    }
  }
  one->done = true;
  for (const auto& each : one->answers) trace(world_, each);
  if (one->sender != nullptr) one->sender->done(*one);
}

void server::wake_waiting() {
  for (auto& each : std::exchange(waiting_, {})) {
    world_.after(world_.random.between(1, 50), [this, each] { execute(each); });
  }
  for (auto& each : std::exchange(verifiers_waiting_, {})) each();
}

void server::unlock(std::uint64_t connection) {
  if (!any_locked_) return;
  bool any = false;
  any_locked_ = false;
  for (auto& [key, row] : data.locks()) {
    if (row.locked_by == connection) {
      row.locked_by = 0;
      any = true;
    }
    any_locked_ = any_locked_ || row.locked_by != 0;
  }
  if (any || !verifiers_waiting_.empty()) wake_waiting();
}

// ---- transactions ---------------------------------------------------------------------------------------------------

std::optional<outcome> server::verify(transaction& in, const request& of, const std::function<void()>& again) {
  if (!alive(in.connection)) return outcome::failed;
  const auto found = data.locks().find(of.resource);
  if (found == data.locks().end()) return outcome::no;
  auto& row = found->second;
  if (row.locked_by != 0 && row.locked_by != in.connection) {
    verifiers_waiting_.push_back(again);
    return std::nullopt;
  }
  if (!database::holds(row, of)) return outcome::no;
  if (data.wrong == mistake::verify_without_lock) return outcome::yes;
  row.mark = !row.mark;
  row.locked_by = in.connection;
  any_locked_ = true;
  return outcome::yes;
}

std::vector<std::string> server::lock_free_rows(transaction& in, bool by_column, std::size_t most) {
  std::vector<std::string> found;
  for (auto& [key, row] : data.locks()) {
    const bool fits = row.of_table && row.by_column == by_column && row.locked_by == 0;
    if (!fits || (row.held() && !row.passed(clock())) || found.size() == most) continue;
    found.push_back(key);
    if (data.wrong == mistake::claim_without_lock) continue;
    row.locked_by = in.connection;
    any_locked_ = true;
  }
  return found;
}

std::uint64_t server::claim(transaction& in, const request& q) {
  // A clock that is set back between its read and its commit may give the row back to its holder. Nothing is promised
  // then (docs/guarantees.md), and the simulated transaction, which holds no real row lock for it, fails.
  in.still_so.push_back([this, key = std::string(q.resource)] {
    const auto& row = data.locks().find(key)->second;
    return data.wrong == mistake::claim_without_lock || !row.held() || row.passed(clock());
  });
  in.at_commit.push_back([this, q = request(q), key = std::string(q.resource), then = clock()]() mutable {
    q.resource = key;
    q.row = nullptr;
    data.claim(q, std::min(then, clock()));
  });
  return data.locks().find(q.resource)->second.fence + 1;
}

void server::foreign() {
  auto& chance = world_.random;
  std::vector<std::string> all;
  std::vector<std::string> lockable;
  for (const auto& [key, row] : data.locks()) {
    if (row.locked_by != 0) continue;
    if (row.by_column) all.push_back(key);
    if (data.traits.locks_rows) lockable.push_back(key);
  }
  if (!up_) return;
  if (!lockable.empty() && chance.chance(200'000)) {
    // Its transaction locks some rows, and frees them soon or late.
    const auto by = connect();
    const auto time = chance.chance(100'000) ? chance.between(second, 8 * second) : chance.between(1'000, second / 3);
    for (auto most = chance.between(1, 12); most > 0; --most) {
      const auto& key = lockable[chance.below(lockable.size())];
      data.locks().at(key).locked_by = by;
      locked(key, time);
    }
    any_locked_ = true;
    world_.disturb_some(time + 3 * second);  // all other keys go on
    world_.after(time, [this, by] { close(by); });
  }
  if (all.empty()) return;
  const auto& key = all[chance.below(all.size())];
  if (data.locks().at(key).locked_by != 0) return;
  if (chance.chance(300'000)) {
    ++data.locks().at(key).fence;  // an ordinary update
  } else if (!data.plain_release(key, "another", clock()) || chance.chance(500'000)) {
    data.plain_take(key, "another", chance.between(0, 3), clock());
  }
}

// ---- the clock ------------------------------------------------------------------------------------------------------

void server::step_back(moment by) noexcept {
  if (stepped_ > 0 && world_.now() - stepped_at_ < 10 * second) return;
  stepped_at_ = world_.now();
  ++faults;
  stepped_ += by;
  world_.disturb(by + 5 * second);
  world_.tell("server", [&] { return "its clock goes back by " + std::to_string(by / 1'000) + " ms"; });
}

// ---- notifications --------------------------------------------------------------------------------------------------

void server::unsubscribe(std::uint64_t connection, const std::string& key) {
  if (const auto found = subscribers_.find(key); found != subscribers_.end()) found->second.erase(connection);
}

unsigned server::publish(const std::string& key) {
  const auto found = subscribers_.find(key);
  if (found == subscribers_.end()) return 0;
  const auto all = found->second;
  for (const auto each : all) published(each, key);
  return static_cast<unsigned>(all.size());
}

/// A release that keeps the key for min_hold publishes, too: those who hear it learn until when.
void server::notify_of(job& one) {
  if (!data.traits.caps.tells_free()) return;
  const auto action = one.asks.front().action;
  if (action != verb::release && action != verb::cancel) return;
  for (std::size_t i = 0; i < one.asks.size(); ++i) {
    if (one.answers[i].result != outcome::yes) continue;
    const std::string key(one.asks[i].resource);
    const auto heard = publish(key);
    if (action == verb::release && data.traits.counts_waiters) one.answers[i].waiters = heard;
    promote(key);
  }
}

void server::end_own_session(job& one) {
  const auto id = one.record.id;
  one.answers.front() = data.run(one.action, one.record, one.clock);
  if (!data.traits.ends_sessions) return;
  if (one.action == session_verb::open) watch_session(id);
  if (one.action != session_verb::close || one.answers.front().result != outcome::yes) return;
  end_session(id);
}

/// By its expiry, or because its owner has closed it: the server frees what it held, and its positions in queues.
void server::end_session(const id128& id) {
  auto freed = data.end_session(id, clock());
  for (auto& [key, queue] : queues_) {
    for (const auto& each : queue) {
      if (each.session == id) reached(each.position, 0);
    }
    std::erase_if(queue, [&](const queued& each) { return each.session == id; });
  }
  for (const auto& key : freed) {
    publish(key);
    promote(key);
  }
}

void server::watch_session(const id128& id) {
  const auto found = data.all_sessions().find(id);
  if (found == data.all_sessions().end()) return;
  const auto left = found->second.expires - clock();
  if (left <= 0) return end_session(id);
  world_.after(left, [this, id] { watch_session(id); });
}

bool server::delete_lock() {
  std::vector<std::string> held;
  for (const auto& [key, row] : data.locks()) {
    // What a position in a queue has got is no lock yet.
    if (row.session && row.nonce != 0) held.push_back(key);
  }
  if (!up_ || held.empty()) return false;
  const auto& key = held[world_.random.below(held.size())];
  auto& row = data.locks().at(key);
  ++faults;
  world_.tell("server", [&] { return "key " + key + ": somebody deletes fence " + std::to_string(row.fence); });
  deleted(key, row);
  data.free(row, clock());
  publish(key);
  promote(key);
  return true;
}

// ---- the queue of a key ---------------------------------------------------------------------------------------------

bool server::enqueue(const std::string& key, const id128& session, std::uint64_t position) {
  if (!data.all_sessions().contains(session)) return false;
  queues_[key].push_back({position, session});
  promote(key);
  return true;
}

void server::promote(const std::string& key) {
  const auto found = queues_.find(key);
  if (found == queues_.end() || found->second.empty()) return;
  const auto row = data.locks().find(key);
  if (row != data.locks().end() && row->second.held()) return;
  const auto next = found->second.front();
  found->second.pop_front();
  data.grant_position(key, next.session, next.position, clock());
  reached(next.position, data.locks().find(key)->second.fence);
}

void server::leave_queue(const std::string& key, std::uint64_t position) {
  if (const auto found = queues_.find(key); found != queues_.end()) {
    std::erase_if(found->second, [&](const queued& each) { return each.position == position; });
  }
  if (!data.leave_position(key, position, clock())) return;
  publish(key);
  promote(key);
}

bool server::commit(transaction& in) {
  if (!alive(in.connection)) return false;
  if (!std::all_of(in.still_so.begin(), in.still_so.end(), [](const auto& each) { return each(); })) {
    roll_back(in);
    return false;
  }
  for (auto& each : std::exchange(in.at_commit, {})) each();
  unlock(in.connection);
  return true;
}

void server::roll_back(transaction& in) {
  in.still_so.clear();
  in.at_commit.clear();
  if (alive(in.connection)) unlock(in.connection);
}

std::uint64_t server::verifier_of(std::string_view key) const {
  const auto at = data.locks().find(key);
  return at == data.locks().end() ? 0 : at->second.locked_by;
}

}  // namespace dlock::simulation
