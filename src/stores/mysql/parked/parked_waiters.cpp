// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/parked/parked_waiters.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>

#include "base/text.hpp"
#include "dlock/store_interface/closing_bell.hpp"
#include "dlock/store_interface/linger_bell.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/deadlock_cycles.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::parked {

namespace {

using namespace std::chrono_literals;

constexpr auto dead_rows_every = 60s;
/// A process that waits for more keys is woken for one of them and asks only which ones are free. It checks the others
/// soon after.
constexpr std::size_t many_keys = 64;
constexpr auto look_soon = 100ms;
/// A listener that was notified takes its key, as a rule, and then there is nothing to sleep for. So the thread sleeps
/// again only when the take is refused, or after this time.
constexpr auto settling = 10ms;
/// A release that has read a row sends its KILL no later than this after the row was deleted, as a rule.
constexpr auto late_kill = 100ms;
/// How many keys one check lets others take first. The rest has to wait for the next check.
constexpr std::size_t most_let_first = 16;
/// How many checks in a row may find keys free without a wake-up; a release and a check may cross. They count only if
/// they come shortly after each other, because a network that stalls may hold up the wake-ups of many keys.
constexpr unsigned most_missed = 5;
constexpr auto between_missed = 1s;
constexpr auto enter_it = "enter a waiter";
/// For how many rows a statement names their whole keys.
constexpr std::size_t most_named = 8;

}  // namespace

/// Rows of this process, as an IN has them.
struct parked_waiters::own_rows {
  std::string keys{};
  std::string since{};
  std::size_t count = 0;
  bool known = true;  // when each of these waits began

  void add(const std::string& key, const parked_key& about) {
    append_literal(keys, mysql_literal(key));
    append_literal(since, std::to_string(about.since));
    ++count;
    known = known && about.since != 0;
  }
};

// ---- for any thread -------------------------------------------------------------------------------------------------

parked_waiters::~parked_waiters() {
  end();
  if (in_child()) link_.leave_to_parent();
}

void parked_waiters::entered(place at) {
  auto& about = at->second;
  if (about.listeners.all.size() == 1) {
    about.missed = false;
    about.stale = notes_.begin(at->first) && about.registered;
  }
  change_entries();
}

/// The thread writes or deletes rows.
void parked_waiters::change_entries() noexcept {
  entries_change_ = true;
  changed_.raise();
}

void parked_waiters::note_done(std::span<const request> requests, std::span<const reply> replies) noexcept {
  for (std::size_t i = 0; i != requests.size(); ++i) {
    if (replies[i].result != outcome::yes) continue;
    switch (requests[i].action) {
      case verb::poll:
        if (notes_.set_polled(requests[i].resource, replies[i].holder.fence)) {
          notes_.set_needs(requests[i].resource, {requests[i].units, requests[i].permits});
          end_settling();
        }
        // Of a service that shares this object.
        if (rings_holder(requests[i], replies[i]) && notes_.set_released(linger_bell(replies[i].holder.holder).view()))
          changed_.raise();
        break;
      case verb::take:
      case verb::insert:
      case verb::take_over: notes_.set_taken(requests[i].resource, true); break;
      case verb::release:
      case verb::cancel:
        if (notes_.set_released(requests[i].resource)) changed_.raise();
        break;
      default: break;
    }
  }
}

void parked_waiters::note_shared(const request& asked, const reply& answer) noexcept {
  if (answer.result != outcome::yes) return;
  switch (asked.action) {
    case verb::take:
    case verb::insert:
    case verb::take_over:
      notes_.set_taken(asked.resource, true);
      if (asked.units == 0) notes_.set_taken(closing_bell(asked.resource).view(), true);
      break;
    case verb::release:
    case verb::cancel:
    case verb::pass_on:
    case verb::open:
      if (answer.waiters == 0 && notes_.set_released(asked.resource)) changed_.raise();
      break;
    default: break;
  }
}

void parked_waiters::bell_heard() noexcept { end_settling(); }

/// A waiter that was notified has polled.
void parked_waiters::end_settling() noexcept {
  if (!settles_) return;
  asked_again_ = true;
  changed_.raise();
}

// ---- on its thread --------------------------------------------------------------------------------------------------

void parked_waiters::wait(clock::time_point until) {
  std::array<pollfd, 2> watched{{{changed_.descriptor(), POLLIN, 0}, {link_.descriptor(), POLLIN, 0}}};
  wait_for(watched, until);
  if (!link_.sleeps()) return;
  if (watched[1].revents != 0 ? !awake() || !wake_next_of_left() : clock::now() >= link_.latest_end()) lost();
}

parked_waiters::clock::time_point parked_waiters::next(clock::time_point served) const {
  const bool wanted =
      std::any_of(keys_.begin(), keys_.end(), [](const auto& each) { return !each.second.listeners.all.empty(); });
  if (wanted && settles_) return settles_until_;
  if (!wanted || !link_.sleeps()) return served;  // a row must still be deleted
  return std::min({look_at_, second_look_at_, link_.latest_end()});
}

/// Notifies waiters at once of keys that this process itself has released.
void parked_waiters::hear_notes() {
  if (!notes_.any_released()) return;
  for (auto& [key, about] : keys_) {
    if (notes_.released(key) && about.listeners.informed) about.listeners.notify(true, true);
  }
}

bool parked_waiters::serve(const std::stop_token& stop) {
  hear_notes();
  if (!connected(stop)) return false;
  const bool rung = std::exchange(killed_, false), many = keys_.size() > many_keys;
  // Somebody may wait for the key, so the check comes before the next sleep.
  if (rung && !many && !look(clock::now(), look_at::all_keys, true)) return false;
  if (rung_awake_ && !at_server([this](fault& why) { return link_.free_wake_id(why); })) return false;
  const bool changed = std::exchange(entries_change_, false);
  if (changed) settles_ = false;
  if (changed && !leave_old()) return false;
  if (keys_.empty()) return true;
  const bool falls_asleep = !link_.sleeps();
  if (falls_asleep && settles(clock::now())) return true;
  if (falls_asleep && !fall_asleep()) return false;
  seen_asleep_ = false;
  if (changed && (!enter_new() || !enter_held())) return false;
  if (falls_asleep) {
    // As a rule the sleep has begun before the statement that checks the keys, which says so.
    if (!seen_asleep_ && new_sleep_ && !(rung && many) && !look(clock::now())) return false;
    if (!seen_asleep_) {
      if (!at_server([this](fault& why) { return link_.confirm(why); })) return false;
      begin_new_sleep();
    }
    if (rung && many) {
      if (!look_for_free()) return false;
      look_at_ = clock::now() + look_soon;
    }
  }
  inform_new();
  const auto now = clock::now();
  if (now >= look_at_ && !look(now)) return false;
  if (now >= second_look_at_ && !look(now, look_at::second_keys)) return false;
  return drop_dead_rows(now);
}

/// Whether a listener that was notified may be taking its key.
bool parked_waiters::settles(clock::time_point now) {
  settles_ = settles_ && now < settles_until_ && !asked_again_;
  return settles_;
}

/// Called before the listener of a free key is notified.
void parked_waiters::begin_settling() {
  asked_again_ = false;
  settles_until_ = clock::now() + settling;
  settles_ = true;
}

bool parked_waiters::any_informed() const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [](const auto& each) { return each.second.registered && each.second.listeners.informed; });
}

/// Keys that are known to be waited for are checked once it sleeps: a KILL may have come too early.
bool parked_waiters::fall_asleep() {
  if (!at_server([this](fault& why) { return link_.sleep(why); })) return false;
  rung_awake_ = false;
  begin_new_sleep();
  return true;
}

void parked_waiters::begin_new_sleep() {
  new_sleep_ = any_informed();
  if (new_sleep_) look_at_ = {};
}

/// Notifies listeners that don't know yet that notifications work, and poll now.
void parked_waiters::inform_new() {
  for (auto& [key, about] : keys_) {
    if (about.registered && !about.stale && !about.listeners.all.empty() && !about.listeners.informed)
      about.listeners.notify(true);
  }
}

/// `lacks_table`: the waiter table does not fit, which has been reported.
bool parked_waiters::failed(const fault& why, bool lacks_table) {
  if (lacks_table) note_said(why.text);  // a release may have reported it before
  if (lasts(why)) return give_up(why.text);
  return false;
}

/// Unlocks the mutex, so that watch() does not wait for the network.
template <class Step>
bool parked_waiters::at_server(Step step) {
  fault why;
  bool done = false, lacks_table = false;
  {
    const base::unlocked others(mutex_);
    done = step(why);
    lacks_table = !done && link_.connected() && table_.lacks_table(link_.helper(), why);
  }
  return done || failed(why, lacks_table);
}

bool parked_waiters::ask(const std::string& sql, const char* doing, mysql_rows* rows) {
  return at_server([&](fault& why) { return link_.ask(sql, doing, rows, why); });
}

bool parked_waiters::connected(const std::stop_token& stop) {
  if (link_.alive()) return true;
  lost();
  if (!at_server([&](fault& why) {
        return link_.connect(client_, stop, why) && link_.ask(sql_.fits, "check the waiter table", nullptr, why);
      })) {
    return false;
  }
  table_.set_readable();
  table_.set_own(link_.wake_id());
  return true;
}

void parked_waiters::close() noexcept {
  link_.close();
  killed_ = rung_awake_ = settles_ = false;
  left_.clear();
  entries_change_ = true;  // nobody holds the wake id in their rows any more
}

/// Inserts the rows of new keys. A wait has its place from its beginning on, also if another process passed it over and
/// has deleted its row.
/// If there were any, other connections see that this process sleeps.
bool parked_waiters::enter_new() {
  std::string rows;
  std::vector<std::pair<std::string, microseconds>> keys;
  const auto now = clock::now();
  const bool others = any_informed();
  for (auto& [key, about] : keys_) {
    if (about.registered || about.listeners.all.empty()) continue;
    const bool first = rows.empty();
    const auto waited = std::chrono::duration_cast<microseconds>(now - about.begun);
    rows += fmt::format("{}SELECT {}{},{}{},{}{}", first ? "" : " UNION ALL ", mysql_literal(key),
                        first ? " AS new_key" : "", mysql_literal(about.session), first ? " AS new_session" : "",
                        waited.count(), first ? " AS waited" : "");
    keys.emplace_back(key, waited);
    about.registered = true;
    about.was_rung = false;
    about.fence = 0;
    about.held = {};
  }
  if (rows.empty()) return true;
  // The listeners poll as soon as they know that notifications work.
  look_at_ = others ? std::min(look_at_, now + first_look) : now + first_look;
  look_after_ = 16 * first_look;
  const auto text = sql::write_values(sql_.enter, {{"wake_id", mysql_literal(link_.wake_id())},
                                                   {"new_waiters", rows},
                                                   {"sleeper", std::to_string(link_.sleeper())}});
  bool seen = false;
  std::uint64_t entered_at = 0;
  if (!at_server([&](fault& why) {
        std::uint64_t done = 0;
        if (!link_.change(text, enter_it, done, why)) return false;
        // The sleep begins on another connection, which may be slower.
        if (done == 0 && (!link_.confirm(why) || !link_.change(text, enter_it, done, why))) return false;
        seen = done != 0;
        entered_at = link_.last_id();
        return true;
      })) {
    return false;
  }
  seen_asleep_ = seen;
  for (const auto& [key, waited] : keys) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) continue;
    found->second.since = entered_at == 0 ? 0 : entered_at - static_cast<std::uint64_t>(waited.count());
    found->second.registered = seen;
  }
  if (!seen) change_entries();  // the sleep is over already
  return true;
}

/// Writes the locks that threads hold while they wait for the keys. The last process to write closes a deadlock cycle,
/// so it looks for cycles at once.
bool parked_waiters::enter_held() {
  if (sql_.set_held.empty()) return true;
  for (auto& [key, about] : keys_) {
    if (!about.registered || about.listeners.all.empty()) continue;
    auto held = held_by_waiters(about);
    if (held == about.held) continue;
    about.text = sql::write_held(held, boot_clock::now());
    about.held = std::move(held);
    look_at_ = {};
    look_after_ = first_look;
    // Other threads may change the watched keys meanwhile; the rest is written next time.
    entries_change_ = true;
    changed_.raise();
    return write_held(key, about.text, std::nullopt);
  }
  return true;
}

/// `since`: confirms the row that was written at that time.
bool parked_waiters::write_held(const std::string& key, const std::string& held, std::optional<std::uint64_t> since) {
  return ask(sql::write_values(sql_.set_held, {{"wake_id", mysql_literal(link_.wake_id())},
                                               {"key", mysql_literal(key)},
                                               {"since", since ? mysql_literal(std::to_string(*since) + "+") : "''"},
                                               {"held", held.empty() ? "NULL" : mysql_literal(held)}}),
             "enter what a waiter holds", nullptr);
}

/// Breaks the deadlock cycles that this process has to break, and confirms those that others have to.
bool parked_waiters::look_for_cycles(clock::time_point now) {
  if (!any_held()) return true;
  mysql_rows rows;
  if (!ask(sql_.nested, "find cycles of waiters", &rows)) return false;
  std::vector<sql::nested_waiter> waiters;
  std::map<std::string, std::uint64_t, std::less<>> sleepers;
  std::string keys;
  for (const auto& row : rows) {
    sql::nested_waiter waiter{
        .process = row.at(0).value_or(""),
        .who = row.at(3) ? detail::describe_process(*row.at(3), integer_of(row.at(4)), row.at(5).value_or(""))
                         : std::string(sql::unknown_process),
        .waits_for = row.at(1).value_or("")};
    if (!sql::read_held(row.at(2).value_or(""), waiter)) continue;
    for (const auto& each : waiter.held) {
      if (each.nonce == 0) append_literal(keys, mysql_literal(each.key));
    }
    sleepers[waiter.process] = unsigned_of(row.at(6));
    waiters.push_back(std::move(waiter));
  }
  rows.clear();
  // Read after the waiters, so that a lock that was released meanwhile does not count as held.
  if (!keys.empty() &&
      !ask(sql::write_values(sql_.present_grants, {{"keys", keys}}), "find cycles of waiters", &rows)) {
    return false;
  }
  std::map<std::string, sql::present_grant> grants;
  for (const auto& row : rows) grants[row.at(0).value_or("")] = {id_of(row.at(1).value_or("")), unsigned_of(row.at(2))};
  const auto cycles = sql::find_cycles(waiters, grants, bytes_of(link_.wake_id()));
  break_cycles(cycles.to_break);
  for (const auto& [key, since] : cycles.to_confirm) {
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.listeners.all.empty()) continue;
    if (held_by_waiters(found->second) == found->second.held && !write_held(key, found->second.text, since))
      return false;
  }
  if (cycles.to_ask.empty()) return true;
  look_at_ = std::min(look_at_, now + first_look);
  // Wakes them, so that they look for cycles at once.
  const base::unlocked others(mutex_);
  for (const auto& each : cycles.to_ask) {
    if (const auto sleeper = sleepers.at(each); sleeper != 0) link_.wake(sleeper);  // otherwise it is awake
  }
  return link_.usable();
}

/// A statement about these rows.
std::string parked_waiters::with_rows(const std::string& sql, const own_rows& rows) const {
  const bool named = rows.known && rows.count <= most_named;
  return sql::write_values(
      sql, {{"wake_id", mysql_literal(link_.wake_id())},
            {"keys", rows.keys},
            {"and_since", named ? sql::write_values(sql_.and_since, {{"since", rows.since}}) : std::string()}});
}

/// Deletes the rows of keys that nobody watches any more, and stale rows. Until its row is deleted, a release may have
/// taken this process for the next waiter; then this wakes the one behind it. If this process sleeps on, it learns that
/// from the KILL; if one has just come, for the only key, that was it.
bool parked_waiters::leave_old(bool ends) {
  std::string left, woken;
  own_rows rows;
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& [key, about] = *at;
    if (!about.listeners.all.empty()) {
      if (std::exchange(about.stale, false)) {
        append_literal(left, mysql_literal(key));
        rows.add(key, about);
        about.registered = false;
      }
      ++at;
      continue;
    }
    const bool taken = notes_.end(key);
    if (about.registered) {
      append_literal(about.was_rung && !taken ? woken : left, mysql_literal(key));
      rows.add(key, about);
    }
    at = keys_.erase(at);
  }
  if (rows.count == 0) return true;
  if (!ask(with_rows(sql_.leave, rows), "remove a waiter", nullptr)) return false;
  const bool learns = !ends && (link_.sleeps() || rung_awake_);
  if (!left.empty() && !learns && !wake_next(left, false)) return false;
  if (!left.empty() && learns && link_.sleeps()) {
    const auto now = clock::now();
    if (now - left_at_ > late_kill) left_.clear();
    append_literal(left_, left);
    left_at_ = now;
  }
  return woken.empty() || wake_next(woken, true);
}

/// The KILL that has ended the sleep may have come for a key that this process had left.
bool parked_waiters::wake_next_of_left() {
  const auto left = std::exchange(left_, {});
  if (left.empty() || clock::now() - left_at_ > late_kill) return true;
  return wake_next(left, false);
}

/// Wakes the next waiters of these keys. `held_too`: even of those that are not free, because their holder may not know
/// of waiters.
bool parked_waiters::wake_next(const std::string& keys, bool held_too) {
  mysql_rows rows;
  if (!ask(sql::write_values(
               sql_.first,
               {{"wake_id", mysql_literal(link_.wake_id())}, {"keys", keys}, {"held_too", held_too ? "1" : "0"}}),
           "read the waiters", &rows)) {
    return false;
  }
  const base::unlocked others(mutex_);
  const std::optional<std::string>* last = nullptr;
  for (const auto& row : rows) {
    if (last == nullptr || *last != row.at(0)) link_.wake(unsigned_of(row.at(1)));
    last = &row.at(0);
  }
  return link_.usable();
}

/// Handles the end of the sleep: a wake-up, its full length, or a broken connection.
bool parked_waiters::awake() {
  auto end = parked_connection::sleep_end::broken;
  {
    const base::unlocked others(mutex_);
    end = link_.read_end();
  }
  if (end != parked_connection::sleep_end::rung) return end == parked_connection::sleep_end::over;
  missed_ = 0;
  killed_ = true;
  for (auto& [key, about] : keys_) about.was_rung = true;
  if (!has_one_listener()) return true;
  // The wake-up can only be for the key of that one.
  killed_ = false;
  rung_awake_ = true;
  for (auto& [key, about] : keys_) {
    if (!about.listeners.informed) continue;
    begin_settling();
    about.listeners.notify(true, true);
    break;
  }
  return true;
}

/// One key, or one and its closing_bell.
bool parked_waiters::has_one_listener() const noexcept {
  if (keys_.size() != 2) return keys_.size() == 1;
  const auto& first = keys_.begin()->second.listeners.all;
  return first.size() == 1 && std::next(keys_.begin())->second.listeners.all == first;
}

/// Checks which of the keys are free. Notifies listeners that don't know yet that notifications work. `rung`: a release
/// has taken this process for the next waiter.
bool parked_waiters::look(clock::time_point now, look_at which, bool rung) {
  own_rows asked;
  for (auto& [key, about] : keys_) {
    about.asked = about.registered && !about.listeners.all.empty() && (which == look_at::all_keys || about.second);
    if (about.asked) asked.add(key, about);
  }
  second_look_at_ = clock::time_point::max();
  bool new_sleep = false;
  if (which == look_at::all_keys) {
    new_sleep = link_.sleeps() && std::exchange(new_sleep_, false);
    look_at_ = now + look_after_;
    look_after_ = std::min(4 * look_after_, last_look);
  }
  if (asked.count == 0) return true;
  mysql_rows rows;
  if (!ask(with_rows(sql_.look, asked), "poll keys", &rows)) return false;
  std::vector<std::pair<std::string, std::uint64_t>> behind;  // free keys that another process may take first
  for (const auto& row : rows) {
    const auto found = keys_.find(row.at(0).value_or(""));
    if (found == keys_.end()) continue;
    auto& about = found->second;
    about.asked = false;
    seen_asleep_ = seen_asleep_ || unsigned_of(row.at(1)) == link_.sleeper();
    about.second = !sql_.others_first.empty() && unsigned_of(row.at(6)) == 1;
    if (about.second) second_look_at_ = now + waiter_turns::second_look;
    // A stale row is not about the present wait, which would otherwise get that row's place in the order.
    if (about.listeners.all.empty() || about.stale) continue;
    const bool released = row.at(2).value_or("0") == "1", dead = row.at(3).value_or("0") == "1";
    // The lock tables don't show whether a row of the application is free, so its waiter polls at each check.
    const bool known = row.at(4).has_value();
    // A key is free for a moment whenever it passes to the waiters before.
    const bool missed = released && known && about.listeners.informed && !about.was_rung && link_.sleeps() &&
                        !sql_.others_release && row.at(5).value_or("0") == "1";
    if (missed && !std::exchange(about.missed, true) && now - missed_at_ >= between_missed) {
      ++missed_;
      missed_at_ = now;
    }
    // A wake-up for this key may have come before the sleep that it should end.
    const auto fence = unsigned_of(row.at(4));
    const auto seen = std::max(about.fence, notes_.polled(found->first));
    const bool other = new_sleep && about.listeners.informed && seen != 0 && fence != 0 && seen != fence;
    about.fence = fence;
    if (released && known && !rung && !sql_.others_first.empty() && about.listeners.informed &&
        row.at(5).value_or("0") != "1") {
      behind.emplace_back(found->first, fence);
      continue;
    }
    if (released || dead || other || (link_.sleeps() && !about.listeners.informed)) about.listeners.notify(true, rung);
  }
  for (auto& [key, about] : keys_) {
    if (!std::exchange(about.asked, false)) continue;
    about.registered = false;  // another process took its row for a dead one's
    entries_change_ = true;
    changed_.raise();
  }
  if (!let_first(behind) || !look_for_room(rung)) return false;
  if (which == look_at::all_keys && !look_for_cycles(now)) return false;
  if (missed_ < most_missed) return true;
  missed_ = 0;
  return give_up(
      "keys become free and no waiter is woken: another user may lack the right to do it, or the network is slow");
}

/// Notifies callers that wait to become members of a key, and may do so now.
bool parked_waiters::look_for_room(bool rung) {
  if (sql_.room.empty()) return true;
  std::string keys;
  for (const auto& [key, about] : keys_) {
    if (about.registered && !about.stale && notes_.needs(key).units != 0) append_literal(keys, mysql_literal(key));
  }
  if (keys.empty()) return true;
  mysql_rows rows;
  if (!ask(sql::write_values(sql_.room, {{"keys", keys}}), "poll members", &rows)) return false;
  for (const auto& row : rows) {
    const auto found = keys_.find(row.at(0).value_or(""));
    if (found == keys_.end() || !found->second.listeners.informed) continue;
    const auto need = notes_.needs(found->first);
    if (need.permits == 0 || unsigned_of(row.at(1)) + need.units <= need.permits)
      found->second.listeners.notify(true, rung);
  }
  return true;
}

/// Notifies the listeners of keys that are free, after a release has taken this process for the next waiter.
bool parked_waiters::look_for_free() {
  mysql_rows rows;
  if (!ask(sql::write_values(sql_.look_for_free, {{"wake_id", mysql_literal(link_.wake_id())}}), "poll keys", &rows))
    return false;
  for (const auto& row : rows) {
    const auto found = keys_.find(row.at(0).value_or(""));
    if (found != keys_.end() && !found->second.stale && found->second.listeners.informed)
      found->second.listeners.notify(true);
  }
  return true;
}

/// Leaves free keys to processes that have waited longer, but not for ever.
bool parked_waiters::let_first(const std::vector<std::pair<std::string, std::uint64_t>>& keys) {
  for (std::size_t i = 0; i != std::min(keys.size(), most_let_first); ++i) {
    const auto& [key, fence] = keys[i];
    bool others = false;
    if (!at_server([&, &key = key, fence = fence](fault& why) {
          auto said = table_.others_first(link_.helper(), key, fence, true, others);
          why = std::move(said.why);
          return said.result == outcome::yes;
        })) {
      return false;
    }
    const auto found = keys_.find(key);
    if (found != keys_.end() && !others && found->second.listeners.informed) found->second.listeners.notify(true);
  }
  if (!keys.empty()) look_at_ = std::min(look_at_, clock::now() + waiter_turns::longest);
  return true;
}

bool parked_waiters::drop_dead_rows(clock::time_point now) {
  if (now < dead_rows_at_) return true;
  dead_rows_at_ = now + dead_rows_every;
  mysql_rows rows;
  if (!ask(sql_.dead, "find dead waiters", &rows)) return false;
  std::string which;
  for (const auto& row : rows) {
    which += fmt::format("{}({})", which.empty() ? "" : " OR ",
                         sql::write_values(sql_.one_dead, {{"key", mysql_literal(row.at(0).value_or(""))},
                                                           {"since", row.at(1).value_or("0")},
                                                           {"wake_id", mysql_literal(row.at(2).value_or(""))}}));
  }
  if (which.empty()) return true;
  return ask(sql::write_values(sql_.remove_dead, {{"which", which}}), "remove dead waiters", nullptr);
}

/// Deletes the rows, so that they draw no more wake-ups. Other processes delete later what fails here.
void parked_waiters::wind_up() noexcept {
  try {
    if (link_.can_ask()) {
      for (auto& [key, about] : keys_) about.listeners.all.clear();
      link_.end_sleep();
      leave_old(true);
    }
  } catch (const std::exception&) {
    // no memory
  }
  lost();
}

}  // namespace dlock::stores::mysql::parked
