// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/parked/parked_waiters.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <optional>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/client/unlocked.hpp"
#include "stores/sql/holder_rows.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::parked {

namespace {

using namespace std::chrono_literals;

/// Between two attempts to have connections.
constexpr auto retry = 500ms;
/// So long it does without wake-ups where they can't work.
constexpr auto off_for = 60s;
/// So long both connections are kept while nobody waits.
constexpr auto kept_idle = 60s;
constexpr auto dead_rows_every = 60s;
/// So many keys, one after the other, may be found free without a ring: a release and a look may cross.
constexpr unsigned most_missed = 3;
/// The server answers the parked statement later than its sleep ends.
constexpr auto grace = 5s;
/// A sleep that fails sooner will fail again.
constexpr auto shortest_sleep = 100ms;
constexpr int most_confirmations = 500;
/// Of the name of the lock that the process has as long as it waits.
constexpr std::string_view held_suffix = ".p";

void append_literal(std::string& list, const std::string& literal) {
  if (!list.empty()) list += ',';
  list += literal;
}

}  // namespace

// ---- for any thread -------------------------------------------------------------------------------------------------

/// A child of fork() has the mutex as it was at that moment, maybe locked, and none of the other threads.
bool parked_waiters::in_child() const noexcept {
  const auto process = process_.load();
  return process != 0 && process != ::getpid();
}

parked_waiters::~parked_waiters() {
  if (in_child()) {
    mutex_.assert_held();                      // as far as anybody can be in the way
    if (thread_.joinable()) thread_.detach();  // it runs in the parent only
    leave_to_parent(parked_, process_);
    leave_to_parent(helper_, process_);
    return;
  }
  stop_.request_stop();
  changed_.raise();
  mutex_.lock();
  auto thread = std::move(thread_);
  mutex_.unlock();
  if (thread.joinable()) thread.join();
}

void parked_waiters::watch(std::string_view key, const id128& session, key_listener& listener) noexcept {
  if (in_child()) return;
  try {
    const base::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      process_ = ::getpid();
      thread_ = std::thread([this, stop = stop_.get_token()] { run(stop); });
    }
    auto& about = keys_[std::string(key)];
    about.listeners.push_back(&listener);
    if (about.listeners.size() == 1) {
      about.session = session;
      about.works = about.missed = false;
      const base::lock_guard noting(notes_mutex_);
      auto& note = notes_[std::string(key)];
      about.stale = about.registered && note.taken;
      note = {};
      watched_ = notes_.size();
    }
    about.works = false;  // the new one has not heard yet that it works
    look_at_ = {};
    changed_.raise();
  } catch (const std::exception&) {
    // Without memory, or a thread: no waiter is notified, and the key is polled.
  }
}

void parked_waiters::unwatch(std::string_view key, key_listener& listener) noexcept {
  if (in_child()) return;
  const base::lock_guard lock(mutex_);
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  std::erase(found->second.listeners, &listener);
  if (found->second.listeners.empty()) changed_.raise();  // its row goes in the background
}

void parked_waiters::changed(std::string_view key) noexcept {
  if (watched_.load(std::memory_order_relaxed) == 0 || in_child()) return;
  const base::lock_guard lock(mutex_);
  if (keys_.contains(key)) changed_.raise();
}

void parked_waiters::note(std::string_view key, bool noted::*what, bool wakes) noexcept {
  if (watched_.load(std::memory_order_relaxed) == 0) return;
  const base::lock_guard noting(notes_mutex_);
  const auto found = notes_.find(key);
  if (found == notes_.end()) return;
  found->second.*what = true;
  if (wakes) changed_.raise();
}

id128 parked_waiters::bell() const noexcept {
  const base::lock_guard noting(notes_mutex_);
  return bell_;
}

parked_waiters::rung parked_waiters::interrupt(mysql_connection& by, std::uint64_t sleeper) noexcept {
  constexpr int not_owner = 1095;
  try {
    fault why;
    const auto said = by.query(fmt::format("KILL QUERY {}", sleeper), "wake a waiter", nullptr, nullptr, why);
    if (said == outcome::yes) return rung::woken;
    return why.native == not_owner ? rung::refused : rung::gone;
  } catch (const std::exception&) {
    return rung::gone;  // no memory: it looks by itself in a while
  }
}

bool parked_waiters::note_unreadable(const fault& why) {
  if (!lacks_table(why)) return false;
  unreadable_ = true;
  return true;
}

bool parked_waiters::lacks_table(const fault& why) {
  const bool lacks = why.native == 1146 || why.native == 1142 || why.native == 1143;
  if (lacks && !said_lacks_.exchange(true)) says_(why.text);
  return lacks;
}

bool parked_waiters::ring(mysql_connection& by, std::uint64_t sleeper) noexcept {
  const auto said = interrupt(by, sleeper);
  if (said == rung::refused && !cannot_ring_.exchange(true)) {
    says_("a release may not wake a waiter whose connection is another user's");
  }
  return said == rung::woken;
}

void parked_waiters::wake_first(mysql_connection& by, std::span<const request> requests, std::span<reply> replies,
                                bool held_too) noexcept {
  static_cast<void>(reply_or_in_doubt(by, "wake", [&] {
    std::string keys;
    for (std::size_t i = 0; i != requests.size(); ++i) {
      if (replies[i].result == outcome::yes && looks(by, requests[i])) {
        append_literal(keys, mysql_literal(requests[i].resource));
      }
    }
    if (!keys.empty()) wake_first(by, keys, requests, replies, held_too);
    return reply{};
  }));
}

void parked_waiters::wake_first(mysql_connection& by, const std::string& keys, std::span<const request> requests,
                                std::span<reply> replies, bool held_too) {
  mysql_rows rows;
  fault why;
  ++replies.front().statements;
  const auto text = sql::write_values(
      sql_.first, {{"bell", mysql_literal(bytes_of(bell()))}, {"keys", keys}, {"held_too", held_too ? "1" : "0"}});
  if (by.query(text, "read the waiters", &rows, nullptr, why) != outcome::yes) {
    note_unreadable(why);
    return;
  }
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto first =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.at(0) == requests[i].resource; });
    if (first == rows.end()) continue;
    ++replies.front().statements;
    if (ring(by, unsigned_of(first->at(1)))) replies[i].waiters = 1;
  }
}

void parked_waiters::note_done(std::span<const request> requests, std::span<const reply> replies) noexcept {
  for (std::size_t i = 0; i != requests.size(); ++i) {
    if (replies[i].result != outcome::yes) continue;
    switch (requests[i].action) {
      case verb::take:
      case verb::insert:
      case verb::take_over: note(requests[i].resource, &noted::taken, false); break;
      case verb::release:
      case verb::cancel: note(requests[i].resource, &noted::released, true); break;
      default: break;
    }
  }
}

reply parked_waiters::count(mysql_connection& by, std::vector<holder_info>& of) {
  reply answer{.result = outcome::yes};
  if (of.empty() || !can_read(by)) return answer;
  std::string keys;
  for (const auto& each : of) append_literal(keys, mysql_literal(each.key));
  mysql_rows rows;
  answer.result =
      by.query(sql::write_values(sql_.count, {{"keys", keys}}), "count the waiters", &rows, nullptr, answer.why);
  if (answer.result != outcome::yes) return note_unreadable(answer.why) ? reply{.result = outcome::yes} : answer;
  answer.statements = 2;
  for (auto& each : of) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.at(0) == each.key; });
    each.waiters = row == rows.end() ? 0 : unsigned_of(row->at(1));
  }
  return answer;
}

// ---- on its thread --------------------------------------------------------------------------------------------------

std::string parked_waiters::bell_name(std::string_view suffix) const {
  auto digits = own_bell_.hex();
  std::transform(digits.begin(), digits.end(), digits.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format("'dlock.{}{}'", digits, suffix);
}

void parked_waiters::run(const std::stop_token& stop) noexcept {
  while (!stop.stop_requested()) {
    try {
      const base::lock_guard lock(mutex_);
      serve(stop);
    } catch (const std::exception&) {
      std::this_thread::sleep_for(retry);  // no memory
    }
  }
  const base::lock_guard lock(mutex_);
  wind_up();
}

void parked_waiters::tell(watched_key& about, bool works) noexcept {
  about.works = works;
  for (auto* const listener : about.listeners) listener->may_be_free(works);
}

bool parked_waiters::wanted() const noexcept {
  return std::any_of(keys_.begin(), keys_.end(), [](const auto& each) { return !each.second.listeners.empty(); });
}

/// Does what is due, then waits for whatever happens first.
void parked_waiters::serve(const std::stop_token& stop) {
  hear_notes();
  if (clock::now() >= off_until_ && !keys_.empty() && !work(stop)) {
    lost();
    off_until_ = std::max(off_until_, clock::now() + retry);
  }
  if (keys_.empty() && !sleeps_ && parked_ != nullptr && clock::now() - idle_since_ >= kept_idle) lost();
  std::array<pollfd, 2> watched{
      {{changed_.descriptor(), POLLIN, 0}, {sleeps_ ? mysql_socket(parked_->handle()) : -1, POLLIN, 0}}};
  const auto next = next_time();
  {
    const unlocked others(mutex_);
    const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(next - clock::now()).count();
    ::poll(watched.data(), watched.size(),
           next == clock::time_point::max() ? -1 : static_cast<int>(std::clamp<long>(remaining, 0, 60'000)));
    changed_.clear();
  }
  if (!sleeps_) return;
  if (watched[1].revents != 0 ? !awake() : clock::now() >= sleeps_until_ + grace) lost();
}

parked_waiters::clock::time_point parked_waiters::next_time() const {
  auto next = clock::time_point::max();
  if (keys_.empty()) {
    if (parked_ != nullptr) next = sleeps_ ? sleeps_until_ + grace : idle_since_ + kept_idle;
    return next;
  }
  const auto now = clock::now();
  if (now < off_until_) return off_until_;
  if (!wanted() || !sleeps_) return now;  // a row has still to go
  next = std::min(look_at_, sleeps_until_ + grace);
  return next;
}

/// What this process itself has released it hears at once.
void parked_waiters::hear_notes() {
  for (auto& [key, about] : keys_) {
    bool released = false;
    {
      const base::lock_guard noting(notes_mutex_);
      const auto found = notes_.find(key);
      if (found != notes_.end()) released = std::exchange(found->second.released, false);
    }
    if (released && about.works) tell(about, true);
  }
}

bool parked_waiters::work(const std::stop_token& stop) {
  if (!connected(stop)) return false;
  // The key may be wanted in a hurry: the look comes before the next sleep.
  if (std::exchange(killed_, false) && !look(clock::now())) return false;
  if (!leave_old() || !enter_new() || !enter_held()) return false;
  if (keys_.empty()) {
    idle_since_ = clock::now();
    return true;
  }
  if (!sleeps_) {
    if (!park()) return false;
    new_sleep_ = true;
    look_at_ = {};
  }
  const auto now = clock::now();
  if (now >= look_at_ && !look(now)) return false;
  return drop_dead_rows(now);
}

bool parked_waiters::failed(const fault& why) {
  if (lacks_table(why)) said_ = why.text;  // a release may have met it before
  // Nothing that a new connection mends.
  if (!why.connection && !why.transient && !why.contended) return give_up(why.text);
  return false;
}

bool parked_waiters::give_up(const std::string& why) {
  off_until_ = clock::now() + off_for;
  if (std::exchange(said_, why) != why && says_) says_(why);
  return false;
}

bool parked_waiters::ask(const std::string& sql, const char* doing, mysql_rows* rows) {
  fault why;
  bool done = false;
  {
    const unlocked others(mutex_);  // who watches a key must not wait for the network
    done = helper_->query(sql, doing, rows, nullptr, why) == outcome::yes;
  }
  return done || failed(why);
}

bool parked_waiters::connected(const std::stop_token& stop) {
  if (parked_ != nullptr && helper_ != nullptr && parked_->usable() && helper_->usable() &&
      (sleeps_ || parked_->alive()) && helper_->alive()) {
    return true;
  }
  lost();
  fault why;
  std::unique_ptr<mysql_connection> parked, helper;
  {
    const unlocked others(mutex_);
    const auto limit = client_.settings().connect_timeout;
    helper = client_.open<mysql_connection>(limit, stop, why);
    if (helper != nullptr) parked = client_.open<mysql_connection>(limit, stop, why);
  }
  if (parked == nullptr) return false;
  if (is_cluster(client_.server())) return give_up("the server is a node of a cluster, and a wake-up reaches one node");
  const auto &one = helper->identity(), &other = parked->identity();
  if (one.server != other.server || one.incarnation != other.incarnation) return false;  // a fail-over between the two
  own_bell_ = id128::random();
  parked_ = std::move(parked);
  helper_ = std::move(helper);
  // Who keeps the order sees by this lock that the process is there, also between two sleeps.
  if (!ask(fmt::format("DO GET_LOCK({}, 0)", bell_name(held_suffix)), "show that this process waits", nullptr))
    return false;
  const base::lock_guard noting(notes_mutex_);
  bell_ = own_bell_;
  return true;
}

/// Whoever relies on notifications must learn when they stop.
void parked_waiters::lost() noexcept {
  if (sleeps_ && parked_ != nullptr) parked_->interrupt();  // a server that sleeps reads no farewell
  parked_.reset();
  helper_.reset();
  sleeps_ = has_bell_ = killed_ = false;
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& about = at->second;
    about.registered = false;  // its row has a bell that nobody holds any more
    if (about.works) tell(about, false);
    at = about.listeners.empty() ? keys_.erase(at) : std::next(at);
  }
}

/// The rows of keys that are new.
bool parked_waiters::enter_new() {
  std::string rows;
  for (auto& [key, about] : keys_) {
    if (about.registered || about.listeners.empty()) continue;
    const bool first = rows.empty();
    rows +=
        fmt::format("{}SELECT {}{},{}{}", first ? "" : " UNION ALL ", mysql_literal(key), first ? " AS new_key" : "",
                    mysql_literal(bytes_of(about.session)), first ? " AS new_session" : "");
    about.registered = true;
    about.was_rung = false;
    about.fence = 0;
    about.held.clear();
  }
  if (rows.empty()) return true;
  look_at_ = {};
  look_after_ = first_look;
  return ask(sql::write_values(sql_.enter, {{"bell", mysql_literal(bytes_of(own_bell_))}, {"new_waiters", rows}}),
             "enter a waiter", nullptr);
}

/// What threads hold that wait for the keys. Whoever is the last to write closes a circle, and so looks at once.
bool parked_waiters::enter_held() {
  if (sql_.set_held.empty()) return true;
  for (auto& [key, about] : keys_) {
    if (!about.registered || about.listeners.empty()) continue;
    auto held = held_by_waiters(about);
    if (held == about.held) continue;
    about.held = held;
    look_at_ = {};
    look_after_ = first_look;
    // Others may change what is watched meanwhile: what is left is written the next time.
    changed_.raise();
    return write_held(key, held, std::nullopt);
  }
  return true;
}

std::string parked_waiters::held_by_waiters(const watched_key& about) const {
  std::vector<lock_held_meanwhile> all;
  about.listeners.front()->list_held(all);
  return sql::write_held(all);
}

/// `since`: this confirms what is written since then.
bool parked_waiters::write_held(const std::string& key, const std::string& held, std::optional<std::uint64_t> since) {
  return ask(sql::write_values(sql_.set_held, {{"bell", mysql_literal(bytes_of(own_bell_))},
                                               {"key", mysql_literal(key)},
                                               {"since", since ? mysql_literal(std::to_string(*since) + "+") : "''"},
                                               {"held", held.empty() ? "NULL" : mysql_literal(held)}}),
             "enter what a waiter holds", nullptr);
}

/// Breaks the circles of processes that this one has to break, and confirms those that others have to.
bool parked_waiters::break_circles(clock::time_point now) {
  const auto nested = [](const auto& each) { return !each.second.held.empty(); };
  if (std::none_of(keys_.begin(), keys_.end(), nested)) return true;
  mysql_rows rows;
  if (!ask(sql_.nested, "look for circles of waiters", &rows)) return false;
  std::vector<sql::nested_waiter> waiters;
  std::map<std::string, std::uint64_t, std::less<>> sleepers;
  std::string keys;
  for (const auto& row : rows) {
    sql::nested_waiter waiter{
        .process = row.at(0).value_or(""),
        .who = row.at(3) ? sql::describe_holder(*row.at(3), integer_of(row.at(4)), row.at(5).value_or(""))
                         : "a process without a session",
        .waits_for = row.at(1).value_or("")};
    if (!sql::read_held(row.at(2).value_or(""), waiter)) continue;
    for (const auto& each : waiter.held) append_literal(keys, mysql_literal(each.key));
    sleepers[waiter.process] = unsigned_of(row.at(6));
    waiters.push_back(std::move(waiter));
  }
  if (keys.empty()) return true;
  // After the waiters, so that a lock that was released meanwhile is not taken for one that is held.
  if (!ask(sql::write_values(sql_.present_grants, {{"keys", keys}}), "look for circles of waiters", &rows)) {
    return false;
  }
  std::map<std::string, sql::present_grant> grants;
  for (const auto& row : rows) grants[row.at(0).value_or("")] = {id_of(row.at(1).value_or("")), unsigned_of(row.at(2))};
  const auto circles = sql::find_circles(waiters, grants, bytes_of(own_bell_));
  for (const auto& circle : circles.to_break) {
    const auto found = keys_.find(circle.waits_for);
    if (found != keys_.end() && !found->second.listeners.empty())
      found->second.listeners.front()->closes_circle(circle.held, circle.others);
  }
  for (const auto& [key, since] : circles.to_confirm) {
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.listeners.empty()) continue;
    if (held_by_waiters(found->second) == found->second.held && !write_held(key, found->second.held, since))
      return false;
  }
  if (circles.to_ask.empty()) return true;
  look_at_ = std::min(look_at_, now + first_look);
  // They look at once.
  const unlocked others(mutex_);
  for (const auto& each : circles.to_ask) interrupt(*helper_, sleepers.at(each));
  return helper_->usable();
}

/// The rows of keys that nobody watches any more, and those that are stale. Until its row is gone, a release may have
/// taken this process for the next; then it wakes the one behind.
bool parked_waiters::leave_old() {
  std::string left, woken;
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& [key, about] = *at;
    if (!about.listeners.empty()) {
      if (std::exchange(about.stale, false)) {
        append_literal(left, mysql_literal(key));
        about.registered = false;
      }
      ++at;
      continue;
    }
    bool taken = false;
    {
      const base::lock_guard noting(notes_mutex_);
      const auto found = notes_.find(key);
      if (found != notes_.end()) {
        taken = found->second.taken;
        notes_.erase(found);
      }
      watched_ = notes_.size();
    }
    if (about.registered) append_literal(about.was_rung && !taken ? woken : left, mysql_literal(key));
    at = keys_.erase(at);
  }
  if (left.empty() && woken.empty()) return true;
  auto all = left;
  if (!woken.empty()) append_literal(all, woken);
  if (!ask(sql::write_values(sql_.leave, {{"bell", mysql_literal(bytes_of(own_bell_))}, {"keys", all}}),
           "remove a waiter", nullptr)) {
    return false;
  }
  return (left.empty() || wake_next(left, false)) && (woken.empty() || wake_next(woken, true));
}

/// Wakes the next waiters of these keys. `held_too`: also of those that are not free, because whoever has
/// one now may not know of waiters.
bool parked_waiters::wake_next(const std::string& keys, bool held_too) {
  mysql_rows rows;
  if (!ask(sql::write_values(
               sql_.first,
               {{"bell", mysql_literal(bytes_of(own_bell_))}, {"keys", keys}, {"held_too", held_too ? "1" : "0"}}),
           "read the waiters", &rows)) {
    return false;
  }
  const unlocked others(mutex_);
  const std::optional<std::string>* last = nullptr;
  for (const auto& row : rows) {
    if (last == nullptr || *last != row.at(0)) interrupt(*helper_, unsigned_of(row.at(1)));
    last = &row.at(0);
  }
  return helper_->usable();
}

/// Sleeps by waiting for the lock that the other connection has. From the moment when another connection sees that the
/// bell is held, KILL QUERY ends that. SLEEP() would do the same, but all sleeps of a MariaDB server share one mutex: a
/// KILL that meets another sleeper there may hold up every KILL and every new connection for 2 s.
bool parked_waiters::park() {
  fault why;
  bool sent = false;
  {
    const unlocked others(mutex_);
    if (has_bell_ &&
        parked_->query("DO RELEASE_LOCK(" + bell_name() + ")", "free the bell", nullptr, nullptr, why) !=
            outcome::yes &&
        !parked_->usable()) {
      return false;
    }
    sent = send_mysql(
        parked_->handle(),
        fmt::format("SELECT GET_LOCK({}, 0), GET_LOCK({}, {})", bell_name(), bell_name(held_suffix), slice.count()),
        "wait", why);
  }
  if (!sent) return false;
  has_bell_ = sleeps_ = true;
  sleeps_until_ = clock::now() + slice;
  return confirm();
}

bool parked_waiters::confirm() {
  for (int tries = 0; tries != most_confirmations; ++tries) {
    mysql_rows rows;
    if (!ask(fmt::format("SELECT IS_USED_LOCK({})", bell_name()), "look for the bell", &rows)) return false;
    if (const auto holder = unsigned_of(rows.at(0).at(0)); holder != 0) {
      if (holder == parked_->identity().id) return true;
      return give_up(
          fmt::format("connection {} has the bell of connection {}: something between here and the server "
                      "shares connections",
                      holder, parked_->identity().id));
    }
    const unlocked others(mutex_);
    pollfd answer{mysql_socket(parked_->handle()), POLLIN, 0};
    if (::poll(&answer, 1, 1) > 0) return true;  // it is over already, and awake() sees why
  }
  return false;
}

/// The sleep has ended: by a ring, by its length, or with the connection.
bool parked_waiters::awake() {
  fault why;
  mysql_rows rows;
  bool said = false;
  {
    const unlocked others(mutex_);
    said = read_mysql(parked_->handle(), "wait", &rows, why);
  }
  sleeps_ = false;
  if (!said && why.connection) return false;
  constexpr int interrupted = 1317;
  const auto waited = said && !rows.empty() ? rows.at(0).at(1) : std::nullopt;
  if (waited == "1") return false;  // the other connection is gone
  const bool ended = said ? !waited : why.native == interrupted;
  if (keys_.empty()) idle_since_ = clock::now();
  if (!ended) return said || clock::now() - (sleeps_until_ - slice) >= shortest_sleep;
  missed_ = 0;
  killed_ = true;
  for (auto& [key, about] : keys_) about.was_rung = true;
  if (keys_.size() == 1) {  // there is no doubt for which
    killed_ = false;
    auto& about = keys_.begin()->second;
    if (about.works) tell(about, true);
  }
  return true;
}

/// Which of the keys are free. Those whose listeners don't know yet that it works are notified of that.
bool parked_waiters::look(clock::time_point now) {
  std::string keys;
  for (auto& [key, about] : keys_) {
    about.asked = about.registered && !about.listeners.empty();
    if (about.asked) append_literal(keys, mysql_literal(key));
  }
  const bool new_sleep = sleeps_ && std::exchange(new_sleep_, false);
  look_at_ = now + look_after_;
  look_after_ = std::min(4 * look_after_, last_look);
  if (keys.empty()) return true;
  mysql_rows rows;
  if (!ask(sql::write_values(sql_.look, {{"bell", mysql_literal(bytes_of(own_bell_))}, {"keys", keys}}), "look at keys",
           &rows)) {
    return false;
  }
  for (const auto& row : rows) {
    const auto found = keys_.find(row.at(0).value_or(""));
    if (found == keys_.end()) continue;
    auto& about = found->second;
    about.asked = false;
    if (about.listeners.empty()) continue;
    const bool released = row.at(1).value_or("0") == "1", dead = row.at(2).value_or("0") == "1";
    // A row of the application's is in no table that is known here: its waiter asks at each look.
    const bool known = row.at(3).has_value();
    const bool missed = released && known && about.works && !about.was_rung && sleeps_ && !sql_.others_release;
    if (missed && !std::exchange(about.missed, true)) ++missed_;
    // A ring for this key may have come before the sleep that it was to end.
    const auto fence = unsigned_of(row.at(3));
    const bool other = new_sleep && about.works && about.fence != 0 && about.fence != fence;
    about.fence = fence;
    if (released || dead || other || (sleeps_ && !about.works)) tell(about, true);
  }
  for (auto& [key, about] : keys_) {
    if (std::exchange(about.asked, false)) about.registered = false;  // somebody took its row for a dead one
  }
  if (!break_circles(now)) return false;
  if (missed_ < most_missed) return true;
  missed_ = 0;
  return give_up("keys become free and nobody wakes those who wait: another user may lack the right to");
}

bool parked_waiters::drop_dead_rows(clock::time_point now) {
  if (now < dead_rows_at_) return true;
  dead_rows_at_ = now + dead_rows_every;
  mysql_rows rows;
  if (!ask(sql_.dead, "look for dead waiters", &rows)) return false;
  std::string which;
  for (const auto& row : rows) {
    which += fmt::format("{}({})", which.empty() ? "" : " OR ",
                         sql::write_values(sql_.one_dead, {{"key", mysql_literal(row.at(0).value_or(""))},
                                                           {"since", row.at(1).value_or("0")},
                                                           {"bell", mysql_literal(row.at(2).value_or(""))}}));
  }
  if (which.empty()) return true;
  return ask(sql::write_values(sql_.remove_dead, {{"which", which}}), "remove dead waiters", nullptr);
}

/// The rows go, and with them the rings that they would draw; what can't be done now others do later.
void parked_waiters::wind_up() noexcept {
  try {
    if (helper_ != nullptr && helper_->alive()) {
      for (auto& [key, about] : keys_) about.listeners.clear();
      if (sleeps_) interrupt(*helper_, parked_->identity().id);
      leave_old();
    }
  } catch (const std::exception&) {
    // no memory
  }
  lost();
}

}  // namespace dlock::stores::mysql::parked
