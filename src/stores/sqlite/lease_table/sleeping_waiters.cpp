// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/sleeping_waiters.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <set>

namespace dlock::stores::sqlite::lease_table {

using namespace std::chrono_literals;

/// FNV-1a of the tables' prefix and the key. Two keys with one hash only cost a wake-up. A row has another hash than a
/// key only as a lock that is held.
wake_file::hash sleeping_waiters::hash_of(std::string_view key, bool row) const noexcept {
  wake_file::hash hash = 0xcbf29ce484222325U;
  const auto add = [&hash](std::string_view text) {
    for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  };
  add(tables_);
  add(std::string_view("\0", 1));
  add(key);
  if (row) add(std::string_view("\0row", 4));
  return hash == 0 ? 1 : hash;
}

/// Takes a slot.
bool sleeping_waiters::begin() {
  if (slot_ != nullptr) return true;
  if (clock::now() < off_until_) return false;
  if (const auto why = unfit_(); !why.empty()) return give_up(why);
  std::string why;
  auto opened = file_.open(true, why);
  if (opened == nullptr) return give_up("waiters poll: " + why);
  if (!opened->claim_slot() || !opened->word(word_))
    return give_up("waiters poll: no slot of the wake file is free, or can be locked");
  slot_ = std::move(opened);
  changed_.raise();  // the thread may wait without a slot
  return true;
}

void sleeping_waiters::entered(place at) {
  auto& [key, about] = *at;
  if (about.entry < 0) {
    about.entry = slot_->enter(hash_of(key), about.session);
    if (about.entry < 0) {  // the slot is full, so waiters poll this key
      keys_.erase(at);
      return say_once("waiters poll: this process waits for as many keys as its slot has room for");
    }
    notes_.begin(key);
    if (keys_.size() == 1) file_at_ = clock::now() + slice;
  }
  about.look_after = first_look;
  about.look_at = clock::now() + first_look;
  about.second_look_at = clock::time_point::max();
  held_changed(at);
  wake();
}

void sleeping_waiters::left(place at) noexcept {
  const auto hash = hash_of(at->first);
  const bool taken = notes_.end(at->first);
  const int entry = at->second.entry;
  keys_.erase(at);
  try {
    // A waiter that was woken and leaves without the key wakes the next one.
    if (entry >= 0 && slot_->leave(entry) && !taken) slot_->ring(hash);
  } catch (const std::bad_alloc&) {
    // The next one polls soon.
  }
}

/// Writes at once, so that a thread whose wait has ended is in no deadlock cycle any more. The last process to write
/// closes a cycle.
void sleeping_waiters::held_changed(place at) {
  auto& [key, about] = *at;
  auto held = held_by_waiters(about);
  if (held == about.held) return;
  std::vector<wake_file::opened::held_lock> locks;
  for (const auto& each : held.locks) {
    const bool row = each.nonce != 0;
    locks.push_back({.key = hash_of(each.key, row),
                     .number = row ? each.nonce : each.fence,
                     .session = each.session,
                     .until = each.until.time_since_epoch().count()});
  }
  slot_->set_held(about.entry, key, locks, held.row);
  about.held = std::move(held);
  cycles_at_ = {};
  cycles_after_ = first_look;
  if (!locks.empty()) wake();
}

void sleeping_waiters::wake() noexcept {
  if (slot_ != nullptr)
    slot_->wake_self();
  else
    changed_.raise();
}

/// Returns null if no process has waited yet, or if the file can't be used, which it reports with `without` before the
/// reason; if `without` is null, it reports nothing.
std::shared_ptr<wake_file::opened> sleeping_waiters::file_if_there(const char* without) {
  std::string why;
  auto file = file_.open(false, why);
  if (!why.empty() && without != nullptr) say_once(without + why);
  return file;
}

unsigned sleeping_waiters::released(std::string_view key, bool says) noexcept try {
  const auto file = file_if_there(says ? "a release wakes no waiter: " : nullptr);
  const auto rung = file != nullptr ? file->ring(hash_of(key)) : wake_file::opened::rung::none;
  // This process itself is the first waiter. If it leaves without the key, although it may have had it, it wakes the
  // next one.
  if (rung == wake_file::opened::rung::own) notes_.set_taken(key, false);
  return rung == wake_file::opened::rung::other ? 1 : 0;
} catch (const std::exception&) {
  return 0;  // memory ran out; the waiters poll soon
}

bool sleeping_waiters::anyone(std::string_view key) noexcept try {
  const auto file = file_if_there("a release wakes no waiter: ");
  return file != nullptr && file->anyone(hash_of(key));
} catch (const std::exception&) {
  return false;  // memory ran out; the waiters poll soon
}

void sleeping_waiters::wake_other(std::string_view key, bool behind) noexcept try {
  const auto file = file_if_there("a release wakes no waiter: ");
  if (file == nullptr) return;
  if (behind) {
    file->ring_behind(hash_of(key));
  } else {
    file->first_other(hash_of(key), false, true);
  }
} catch (const std::exception&) {
  // memory ran out; the waiters poll soon
}

bool sleeping_waiters::others_first(std::string_view key, bool registered) noexcept try {
  const auto file = file_if_there("waiters are served in no order: ");
  return file != nullptr && file->first_other(hash_of(key), registered, false) != 0;
} catch (const std::exception&) {
  return false;  // memory ran out; the order is not kept this time
}

std::string sleeping_waiters::find_others(std::span<const request> keys, std::span<reply> replies) {
  std::string why;
  const auto file = file_.open(false, why);
  if (file == nullptr) return why.empty() ? unfit_() : why;  // no process has waited yet, or none can
  std::set<wake_file::hash> entered;
  for (const auto& each : file->waiters()) entered.insert(each.key);
  for (std::size_t i = 0; i != keys.size(); ++i) {
    const auto hash = hash_of(keys[i].resource);
    if (entered.contains(hash) && file->first_other(hash, false, false) != 0) replies[i].waiters = 1;
  }
  return {};
}

bool sleeping_waiters::let_first(std::string_view key, bool registered, std::uint64_t fence) noexcept try {
  const auto file = file_if_there("waiters are served in no order: ");
  if (file == nullptr) return false;
  const auto hash = hash_of(key);
  for (;;) {
    const auto first = file->first_other(hash, registered, true);
    if (first == 0) return false;
    if (!turns_.is_over(key, fence, std::to_string(first), clock::now())) return true;
    file->pass_over(hash, first);
  }
} catch (const std::exception&) {
  return false;  // memory ran out; the order is not kept this time
}

/// Returns nothing if the file does not exist yet or can't be read.
std::vector<wake_file::opened::waiter> sleeping_waiters::all_waiters() {
  if (in_child()) return {};
  std::string why;
  const auto file = file_.open(false, why);
  return file == nullptr ? std::vector<wake_file::opened::waiter>{} : file->waiters();
}

std::vector<wake_file::opened::waiter> sleeping_waiters::of_key(std::string_view key) {
  auto found = all_waiters();
  std::erase_if(found, [of = hash_of(key)](const auto& each) { return each.key != of; });
  return found;
}

void sleeping_waiters::count(std::vector<holder_info>& of) {
  std::map<wake_file::hash, std::uint64_t> counts;
  for (const auto& each : all_waiters()) ++counts[each.key];
  for (auto& each : of) {
    const auto found = counts.find(hash_of(each.key));
    each.waiters = found == counts.end() ? 0 : found->second;
  }
}

void sleeping_waiters::session_ended() noexcept try {
  std::string why;
  if (const auto file = file_.open(false, why)) file->ring_all();
} catch (const std::exception&) {
  // As if the file did not exist.
}

// ---- on its thread --------------------------------------------------------------------------------------------------

/// Listeners must learn that they are not notified any more, or never will be.
void sleeping_waiters::lost() noexcept {
  for (auto& [key, about] : keys_) about.listeners.notify(false);
  keys_.clear();
  cycles_.clear();
  notes_.clear();
  if (slot_ != nullptr) slot_->leave_slot();
  slot_.reset();
}

/// The waiters in the file that hold locks. A lock for whose key none of them waits is in no deadlock cycle, and left
/// out.
std::vector<sql::nested_waiter> sleeping_waiters::nested_waiters() {
  auto all = slot_->nested_waiters();
  std::erase_if(all, [this](const auto& each) { return hash_of(each.name) != each.key; });
  std::map<wake_file::hash, const wake_file::opened::nested_waiter*> waited_for;
  for (const auto& each : all) waited_for.emplace(hash_of(each.name, bool{each.row}), &each);
  std::vector<sql::nested_waiter> waiters;
  for (const auto& each : all) {
    auto& waiter = waiters.emplace_back();
    waiter.process = std::to_string(each.slot);
    waiter.waits_for = each.name;
    waiter.since = static_cast<std::uint64_t>(each.since);
    waiter.row = each.row;
    for (const auto& lock : each.held) {
      const auto found = waited_for.find(lock.key);
      if (found == waited_for.end()) continue;
      auto& held = waiter.held.emplace_back();
      held.key = found->second->name;
      held.session = lock.session;
      held.until = instant{microseconds{lock.until}};
      (found->second->row ? held.nonce : held.fence) = lock.number;
    }
  }
  return waiters;
}

/// Replaces the waiters' claims by the holders in the database, and adds the names of their processes.
bool sleeping_waiters::look_up_holders(std::vector<sql::nested_waiter>& waiters,
                                       std::map<std::string, sql::present_grant>& grants) {
  std::map<std::string, seen> holders;
  for (const auto& [key, claimed] : grants) holders[key];
  std::map<id128, std::string> sessions;
  for (const auto& waiter : waiters) {
    for (const auto& lock : waiter.held) sessions[lock.session] = sql::unknown_process;
  }
  bool known = false;
  {
    const base::unlocked others(mutex_);  // callers of watch() must not wait for the database
    known = polls_(holders, sessions);
  }
  for (const auto& [key, holder] : holders) {
    const bool lives = holder.holder && !holder.gone && !holder.expired;
    grants[key] = lives ? sql::present_grant{holder.holder, holder.fence} : sql::present_grant{};
  }
  for (auto& waiter : waiters) {
    for (const auto& lock : waiter.held) waiter.who = sessions[lock.session];
  }
  return known;
}

/// Breaks lasting deadlock cycles that this process has to break. It reads the database only if the file shows a cycle.
/// Processes need not confirm their waits, because each is in the file only while its call has not returned: see
/// held_changed().
void sleeping_waiters::look_for_cycles(clock::time_point now) {
  if (!any_held()) {
    cycles_at_ = clock::time_point::max();
    cycles_.clear();
    return;
  }
  cycles_at_ = now + cycles_after_;
  const bool first = cycles_after_ == first_look;  // the first check since something was written
  cycles_after_ = std::min<std::chrono::milliseconds>(4 * cycles_after_, slice);
  auto waiters = nested_waiters();
  std::map<std::string, sql::present_grant> grants;
  for (const auto& waiter : waiters) {
    for (const auto& lock : waiter.held) {  // if several claim it, at most the last grant is valid
      if (lock.nonce != 0) continue;
      auto& grant = grants[lock.key];
      if (lock.fence >= grant.fence) grant = {lock.session, lock.fence};
    }
  }
  const auto me = std::to_string(slot_->slot());
  const auto all = sql::find_cycles(waiters, grants, me);
  if (first) {  // otherwise two processes could wake each other for ever
    for (const auto& each : all.to_ask) slot_->wake(std::stoul(each));
  }
  auto found = all.to_break;
  if (!found.empty()) {
    if (!look_up_holders(waiters, grants)) return;
    found = sql::find_cycles(waiters, grants, me).to_break;
  }
  break_cycles(cycles_.found(std::move(found), now));
  if (!cycles_.empty()) cycles_at_ = now + cycles_.lasts;
}

bool sleeping_waiters::serve(const std::stop_token&) {
  const auto now = clock::now();
  const bool looks = now >= file_at_;
  if (looks) {
    file_at_ = now + slice;
    std::string why;
    if (file_.open(false, why) != slot_) {  // another file has its name now
      lost();
      return true;
    }
  }
  for (auto& [key, about] : keys_) {
    if (about.entry < 0) continue;  // memory ran out
    if (looks && !slot_->stands(about.entry, hash_of(key))) {
      lost();
      return true;
    }
    const bool rung = slot_->was_rung(about.entry);
    const bool asks = now >= about.look_at;
    if (asks) {
      about.look_after = std::min<std::chrono::milliseconds>(4 * about.look_after, slice);
      about.look_at = now + about.look_after;
    }
    bool first_is_deaf = false;
    if (asks || now >= about.second_look_at) {
      const auto ahead = slot_->ahead(hash_of(key));
      first_is_deaf = ahead.deaf;
      about.second_look_at = first_is_deaf      ? now + waiter_turns::longest + 1ms
                             : ahead.count == 1 ? now + waiter_turns::second_look
                                                : clock::time_point::max();
    }
    if (rung || asks || first_is_deaf || !about.listeners.informed) about.listeners.notify(true, rung);
  }
  if (now >= cycles_at_) look_for_cycles(now);
  return true;
}

sleeping_waiters::clock::time_point sleeping_waiters::next(clock::time_point) const {
  auto next = std::min(file_at_, cycles_at_);
  for (const auto& [key, about] : keys_) next = std::min({next, about.look_at, about.second_look_at});
  return next;
}

/// The word is read before the rings, so no ring is missed by the next sleep.
void sleeping_waiters::wait(clock::time_point until) {
  if (slot_ == nullptr) return key_waiters::wait(until);
  const auto& file = *slot_;  // only this thread drops it
  const auto before = word_;
  bool slept = false;
  {
    const base::unlocked others(mutex_);
    slept = file.sleep(before, until - clock::now());
  }
  if (!slept || !file.word(word_)) return lost();
  // Another process may have closed a deadlock cycle that this one has to break.
  if (word_ != before) cycles_at_ = std::min(cycles_at_, clock::now());
}

}  // namespace dlock::stores::sqlite::lease_table
