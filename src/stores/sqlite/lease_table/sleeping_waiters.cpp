// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/sleeping_waiters.hpp"

#include <algorithm>
#include <exception>
#include <new>

namespace dlock::stores::sqlite::lease_table {

namespace {

using namespace std::chrono_literals;

/// How long waiters poll where wake-ups can't work.
constexpr auto off_for = 60s;
/// How long slot and thread are kept while no caller waits.
constexpr auto kept_idle = 60s;

}  // namespace

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

void sleeping_waiters::say_once(const std::string& why) noexcept try {
  {
    const base::lock_guard lock(said_mutex_);
    if (said_ == why) return;
    said_ = why;
  }
  if (says_) says_(why);
} catch (const std::exception&) {
  // Memory ran out; the reason is reported another time.
}

bool sleeping_waiters::give_up(const std::string& why) {
  off_until_ = clock::now() + off_for;
  say_once(why);
  return false;
}

/// Takes a slot, and starts a thread that sleeps on it.
bool sleeping_waiters::begin() {
  if (slot_ != nullptr) return true;
  if (clock::now() < off_until_) return false;
  if (const auto why = unfit_(); !why.empty()) return give_up(why);
  std::string why;
  auto opened = file_.open(true, why);
  if (opened == nullptr) return give_up("waiters poll: " + why);
  if (!opened->claim_slot()) return give_up("waiters poll: no slot of the wake file is free, or can be locked");
  slot_ = std::move(opened);
  try {
    thread_.start([this](const std::stop_token& stop) { run(stop); },
                  [file = std::weak_ptr(slot_)] {
                    const auto slot = file.lock();
                    // If the file can't be written, a sleep that is about to begin must still be ended.
                    while (slot != nullptr && !slot->wake_self()) std::this_thread::sleep_for(1ms);
                  });
  } catch (const std::exception&) {
    slot_->leave_slot();
    slot_.reset();
    throw;
  }
  return true;
}

void sleeping_waiters::watch(std::string_view key, const id128& session, key_listener& listener) noexcept {
  if (thread_.in_child()) return;
  try {
    const base::lock_guard lock(mutex_);
    if (!begin()) return;
    const auto place = keys_.try_emplace(std::string(key)).first;
    auto& about = place->second;
    about.listeners.all.reserve(about.listeners.all.size() + 1);  // throws before the key has an entry
    if (about.entry < 0) {
      notes_.begin(key);
      about.entry = slot_->enter(hash_of(key), session);
      if (about.entry < 0) {  // the slot is full, so waiters poll this key
        keys_.erase(place);
        notes_.end(key);
        say_once("waiters poll: this process waits for as many keys as its slot has room for");
        return;
      }
      if (keys_.size() == 1) file_at_ = clock::now() + slice;
    }
    about.look_after = first_look;
    about.look_at = clock::now() + first_look;
    about.second_look_at = clock::time_point::max();
    about.listeners.add(listener);
    write_held(place->first, about);
    slot_->wake_self();
  } catch (const std::exception&) {
    // Memory or threads ran out: no waiter is notified, so waiters poll.
  }
}

void sleeping_waiters::unwatch(std::string_view key, key_listener& listener) noexcept {
  if (thread_.in_child()) return;
  const base::lock_guard lock(mutex_);
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  std::erase(found->second.listeners.all, &listener);
  if (!found->second.listeners.all.empty()) return;
  const bool taken = notes_.end(key);
  const int entry = found->second.entry;
  keys_.erase(found);
  if (slot_ == nullptr || entry < 0) return;
  if (keys_.empty()) idle_since_ = clock::now();
  // A waiter that was woken and leaves without the key wakes the next one.
  if (slot_->leave(entry) && !taken) slot_->ring(hash_of(key));
}

void sleeping_waiters::changed(std::string_view key) noexcept {
  if (notes_.empty() || thread_.in_child()) return;
  try {
    const base::lock_guard lock(mutex_);
    if (const auto found = keys_.find(key); found != keys_.end()) write_held(found->first, found->second);
  } catch (const std::exception&) {
    // Memory ran out, so a deadlock cycle may not be found.
  }
}

/// Writes at once, so that a thread whose wait has ended is in no deadlock cycle any more. The last process to write
/// closes a cycle.
void sleeping_waiters::write_held(const std::string& key, watched_key& about) {
  if (slot_ == nullptr || about.listeners.all.empty()) return;
  held_meanwhile all;
  about.listeners.all.front()->list_held(all);
  std::vector<wake_file::opened::held_lock> held;
  for (const auto& each : all.locks) {
    const bool row = each.nonce != 0;
    held.push_back({.key = hash_of(each.key, row),
                    .number = row ? each.nonce : each.fence,
                    .session = each.session,
                    .until = each.until.time_since_epoch().count()});
  }
  if (held == about.held && (held.empty() || all.row == about.row)) return;
  slot_->set_held(about.entry, key, held, all.row);
  about.held = std::move(held);
  about.row = all.row;
  cycles_at_ = {};
  cycles_after_ = first_look;
  if (!about.held.empty()) slot_->wake_self();
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

bool sleeping_waiters::others_first(std::string_view key, bool registered) noexcept try {
  const auto file = file_if_there("waiters are served in no order: ");
  return file != nullptr && file->first_other(hash_of(key), registered, false) != 0;
} catch (const std::exception&) {
  return false;  // memory ran out; the order is not kept this time
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
  if (thread_.in_child()) return {};
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
/// write_held().
void sleeping_waiters::break_cycles(clock::time_point now) try {
  const auto nested = [](const auto& each) { return !each.second.held.empty(); };
  if (std::none_of(keys_.begin(), keys_.end(), nested)) {
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
  for (const auto& cycle : cycles_.found(std::move(found), now)) {
    const auto about = keys_.find(cycle.waits_for);
    if (about != keys_.end() && !about->second.listeners.all.empty())
      about->second.listeners.all.front()->closes_cycle(cycle.held, cycle.others);
  }
  if (!cycles_.empty()) cycles_at_ = now + cycles_.lasts;
} catch (const std::bad_alloc&) {
  // The next check finds it.
}

void sleeping_waiters::run(const std::stop_token& stop) noexcept {
  const base::lock_guard lock(mutex_);
  while (serve(stop)) continue;
  slot_->leave_slot();
  slot_.reset();
}

/// Notifies listeners of what has happened, then sleeps. Returns false at the end.
bool sleeping_waiters::serve(const std::stop_token& stop) {
  const auto now = clock::now();
  std::uint32_t word = 0;
  // Reads the word before the rings, and before end() may change it.
  if (!slot_->word(word) || stop.stop_requested()) {
    lost();
    return false;
  }
  // Another process may have closed a deadlock cycle that this one has to break.
  if (std::exchange(word_, word) != word) cycles_at_ = std::min(cycles_at_, now);
  const bool looks = now >= file_at_;
  auto next = clock::time_point::max();
  for (auto& [key, about] : keys_) {
    if (looks && !slot_->stands(about.entry, hash_of(key))) {
      lost();
      return false;
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
    if (rung || asks || first_is_deaf || !about.listeners.informed) about.listeners.notify(true);
    next = std::min({next, about.look_at, about.second_look_at});
  }
  if (looks) {
    file_at_ = now + slice;
    std::string why;
    if (!keys_.empty() && file_.open(false, why) != slot_) {
      lost();  // another file has its name now
      return false;
    }
  }
  if (now >= cycles_at_) break_cycles(now);
  if (keys_.empty() && now >= idle_since_ + kept_idle) return false;
  next = keys_.empty() ? idle_since_ + kept_idle : std::min({next, file_at_, cycles_at_});
  const auto& file = *slot_;  // only this thread drops it
  bool slept = false;
  {
    const base::unlocked others(mutex_);
    slept = file.sleep(word, next - clock::now());
  }
  if (!slept) lost();
  return slept;
}

}  // namespace dlock::stores::sqlite::lease_table
