// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/bound/blocking_waiters.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {

namespace {

using namespace std::chrono_literals;

/// The notified waiter takes the key; a connection that waits for it at once would only be in the way.
constexpr auto rest = 20ms;
/// How often the head of a queue is notified until it goes to its end.
constexpr unsigned most_turns = 4;
/// When waited_ has this many keys, it is cleared.
constexpr std::size_t most_waited = 1'000;

}  // namespace

blocking_waiters::~blocking_waiters() {
  end();
  if (!in_child()) return;
  for (auto& each : slots_) static_cast<void>(each.link.release());  // the parent speaks on the same sockets
  static_cast<void>(control_.link.release());
}

std::string blocking_waiters::queue_lock(std::string_view name) {
  return hashed_lock_name("queue " + std::string(name));
}

std::string blocking_waiters::queue_statement_begin(std::string_view name) {
  return "SELECT GET_LOCK('" + queue_lock(name);
}

void blocking_waiters::entered(place at) {
  auto& about = at->second;
  if (about.listeners.all.size() == 1) {
    about.since = about.begun;
    about.notified = false;
  }
  changed_.raise();
}

void blocking_waiters::left(place at) noexcept {
  changed_.raise();
  if (!at->second.notified) return;
  try {
    if (waited_.size() >= most_waited) waited_.clear();
    waited_.insert(at->first);
  } catch (const std::exception&) {
    // Memory ran out: the next release reports no waiter.
  }
}

bool blocking_waiters::had_waited(std::string_view key) noexcept {
  if (in_child()) return false;
  const base::lock_guard lock(mutex_);
  const auto found = waited_.find(key);
  if (found == waited_.end()) return false;
  waited_.erase(found);
  return true;
}

// ---- on its thread --------------------------------------------------------------------------------------------------

void blocking_waiters::close() noexcept {
  for (auto& each : slots_) each.drop();
  control_.drop();
}

void blocking_waiters::tell(const std::string& key, bool works) noexcept {
  if (const auto found = keys_.find(key); found != keys_.end()) found->second.listeners.notify(works);
}

bool blocking_waiters::served(std::string_view key) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const slot& each) { return each.key == key && !each.ended; });
}

/// Leaves the queues of keys that this process has got, or does not want any more. A later wait begins at their end.
void blocking_waiters::leave_queues() {
  for (auto& each : slots_) {
    if (each.heads.empty() || !each.key.empty()) continue;
    const auto about = keys_.find(each.heads);
    const bool same_wait = is_watched(each.heads) && (each.turns == 0 || about->second.notified);
    if (!same_wait || each.turns >= most_turns) leave_queue(each, each.heads);
  }
  // Meanwhile others may have left; then this comes again.
  std::erase_if(keys_, [this](const auto& each) {
    return each.second.listeners.all.empty() &&
           std::none_of(slots_.begin(), slots_.end(), [&](const slot& one) { return one.heads == each.first; });
  });
}

/// Also ends what the wait for the queue has changed, if the connection did not get as far as its head.
void blocking_waiters::leave_queue(slot& of, std::string key) {
  of.heads.clear();
  of.turns = 0;
  bool done = false;
  try {
    // The connection may be idle again for as long as others, by the same statement.
    const auto sql = fmt::format("SET SESSION wait_timeout=IF(RELEASE_LOCK('{0}'), {1}, {1})",
                                 queue_lock(plan_.queue(key)), idle_timeout);
    const base::unlocked others(mutex_);
    fault why;
    done = of.link->query(sql, "leave a queue", nullptr, nullptr, why) == outcome::yes;
  } catch (const std::exception&) {
    // Memory ran out.
  }
  of.short_rest = false;
  if (!done) of.drop();
}

bool blocking_waiters::serve(const std::stop_token& stop) {
  const auto now = clock::now();
  leave_queues();
  assign(now, stop);
  for (auto& [key, about] : keys_) {
    // While a connection waits for the key, every release is noticed. A listener that relies on that has stopped
    // polling, so it must learn when it ends.
    const bool works = served(key);
    if (works ? !about.listeners.informed : about.listeners.relied_on && about.cooldown_until <= now)
      about.listeners.notify(works);
  }
  return true;
}

void blocking_waiters::wait(clock::time_point until) {
  std::vector<pollfd> watched{{changed_.descriptor(), POLLIN, 0}};
  for (const auto& each : slots_) {
    watched.push_back({each.key.empty() ? -1 : mysql_socket(each.link->handle()), POLLIN, 0});
  }
  wait_for(watched, until);
  for (std::size_t i = 0; i != slots_.size(); ++i) {
    if (watched[i + 1].fd < 0) continue;
    if (watched[i + 1].revents != 0) {
      answered(slots_[i]);
    } else if (!slots_[i].key.empty() && clock::now() >= slots_[i].until) {
      broke(slots_[i]);
    }
  }
}

/// If something comes due while connections are made, the next wait ends at once.
blocking_waiters::clock::time_point blocking_waiters::next(clock::time_point served_at) const {
  auto next = clock::time_point::max();
  for (const auto& each : slots_) {
    if (!each.key.empty()) next = std::min(next, each.until);
  }
  for (const auto& [key, about] : keys_) {
    if (served(key) || about.listeners.all.empty()) continue;
    if (const auto at = std::max(about.cooldown_until, retry_at_); at > served_at) next = std::min(next, at);
  }
  return next;
}

/// Returns the keys without a connection, those that have waited longest first.
std::vector<std::pair<blocking_waiters::clock::time_point, std::string>> blocking_waiters::unserved(
    clock::time_point now) const {
  std::vector<std::pair<clock::time_point, std::string>> waiting;
  for (const auto& [key, about] : keys_) {
    if (!served(key) && about.cooldown_until <= now && !about.listeners.all.empty())
      waiting.emplace_back(about.since, key);
  }
  std::sort(waiting.begin(), waiting.end());
  return waiting;
}

/// Closes without COM_QUIT, which a server that waits for a lock does not read.
void blocking_waiters::slot::drop() noexcept {
  if (link != nullptr && !key.empty()) link->interrupt();
  link.reset();
  key.clear();
  heads.clear();
  turns = 0;
  short_rest = ended = false;
}

/// Returns an idle connection, after it has left its queue. If there is none, ends the wait of one whose key has no
/// listeners any more.
blocking_waiters::slot* blocking_waiters::vacant(const std::stop_token& stop) {
  const auto idle = [](const slot& each) { return each.key.empty(); };
  auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const slot& each) { return idle(each) && each.heads.empty(); });
  if (found == slots_.end()) found = std::find_if(slots_.begin(), slots_.end(), idle);
  if (found != slots_.end()) {
    if (!found->heads.empty()) leave_queue(*found, found->heads);
    return &*found;
  }
  const auto unwanted = std::find_if(slots_.begin(), slots_.end(), [&](const slot& each) {
    mutex_.assert_held();
    return !each.ended && !is_watched(each.key);
  });
  if (unwanted == slots_.end()) return nullptr;
  end_wait(*unwanted, stop);
  return unwanted->key.empty() ? &*unwanted
                               : nullptr;  // if there was no control connection, its own connection was closed
}

/// A server that waits for a row does not notice that its client is gone, so this kills the connection.
void blocking_waiters::end_wait(slot& of, const std::stop_token& stop) {
  of.ended = true;
  bool done = false;
  try {
    if (connected(control_, stop)) {
      const base::unlocked others(mutex_);
      done = kill(*control_.link, of.link->identity(), kill_what::query) == kill_result::done;
    }
  } catch (const std::exception&) {
    // Memory ran out; the wait goes on.
  }
  if (!done) of.drop();
}

void blocking_waiters::assign(clock::time_point now, const std::stop_token& stop) {
  if (now < retry_at_) return;
  for (const auto& [since, key] : unserved(now)) {
    const auto head = std::find_if(slots_.begin(), slots_.end(),
                                   [&key = key](const slot& each) { return each.key.empty() && each.heads == key; });
    auto* const with = head != slots_.end() ? &*head : vacant(stop);
    if (with == nullptr) return;
    if (!connected(*with, stop)) {
      retry_at_ = clock::now() + retry;
      return;
    }
    if (is_watched(key)) send(*with, key);
  }
}

bool blocking_waiters::connected(slot& with, const std::stop_token& stop) {
  if (with.link != nullptr && with.link->alive()) return true;
  with.drop();
  const base::unlocked others(mutex_);
  fault why;
  auto made = client_.open<mysql_connection>(client_.settings().connect_timeout, stop, why);
  if (made == nullptr) return false;
  if (!plan_.set_up.empty() &&
      made->query(plan_.set_up, "set up a connection that waits", nullptr, nullptr, why) != outcome::yes) {
    return false;
  }
  with.link = std::move(made);
  return true;
}

void blocking_waiters::send(slot& with, const std::string& key) {
  fault why;
  with.key = key;
  with.until = clock::now() + longest_wait + plan_.timeout;
  bool sent = false;
  try {
    const base::unlocked others(mutex_);  // callers of watch() must not wait for the network
    sent = send_next(with, key, why);
  } catch (const std::exception&) {
    // Memory ran out after a part of the statement may have been sent.
  }
  if (!sent) broke(with);
}

/// Sends the statement that waits for the key if the connection is at the head of its queue, otherwise the one that
/// waits for the queue.
bool blocking_waiters::send_next(slot& with, const std::string& key, fault& why) const {
  if (with.heads == key) return send_mysql(with.link->handle(), plan_.statement(key), "wait", why);
  if (!with.short_rest &&
      with.link->query("SET SESSION wait_timeout=1", "wait", nullptr, nullptr, why) != outcome::yes) {
    return false;
  }
  with.short_rest = true;
  const auto sql = fmt::format("{}', {})", queue_statement_begin(plan_.queue(key)), longest_wait.count());
  return send_mysql(with.link->handle(), sql, "wait", why);
}

void blocking_waiters::answered(slot& with) {
  mysql_rows rows;
  fault why;
  bool said = false;
  try {
    const base::unlocked others(mutex_);
    said = read_mysql(with.link->handle(), "wait", &rows, why);
  } catch (const std::exception&) {
    why = {};  // memory ran out at an unknown place of the reply
  }
  if (with.ended) return with.drop();  // perhaps between the two halves of its statement
  const bool free = said && (rows.empty() || rows.at(0).at(0) == "1");
  const bool in_vain = said ? !free && rows.at(0).at(0) == "0" : why.contended;
  if (!free && !in_vain) return broke(with);
  const auto key = std::exchange(with.key, {});
  if (!is_watched(key)) return leave_queue(with, key);
  if (free && with.heads.empty()) {
    with.heads = key;
    return send(with, key);
  }
  auto& about = keys_.find(key)->second;
  about.since = clock::now();
  if (!free) return;
  about.cooldown_until = about.since + rest;
  about.notified = true;
  ++with.turns;
  tell(key, true);
}

void blocking_waiters::broke(slot& with) {
  if (with.ended) return with.drop();
  const auto key = with.key;
  with.drop();
  retry_at_ = clock::now() + retry;
  tell(key, false);
  if (const auto about = keys_.find(key); about != keys_.end()) about->second.since = clock::now();
}

// ---- of all programs ------------------------------------------------------------------------------------------------

reply find_waiters(mysql_connection& connection, std::string_view statement, std::string_view key,
                   std::string_view queue, std::size_t limit, waiter_overview& found) {
  mysql_rows rows;
  const auto has = [](std::string_view text) {
    return fmt::format("LOCATE(CAST({} AS BINARY), CAST(INFO AS BINARY)) > 0", mysql_text_literal(text));
  };
  const auto sql = fmt::format(
      "SELECT USER, HOST, TIME FROM information_schema.PROCESSLIST WHERE ({} AND {} OR {}) AND ID <> CONNECTION_ID() "
      "ORDER BY TIME DESC, ID",
      has(statement), has(key), has(blocking_waiters::queue_statement_begin(queue)));
  auto answer = connection.read(sql, "list waiters", &rows);
  if (answer.result != outcome::yes) return answer;
  found = {.known = true, .count = rows.size()};
  for (const auto& row : rows) {
    if (found.first.size() == limit) break;
    const auto host = row.at(1).value_or("");
    found.first.push_back({.host = host.substr(0, host.rfind(':')),
                           .label = row.at(0).value_or(""),
                           .waited = std::chrono::seconds{integer_of(row.at(2))}});
  }
  return answer;
}

}  // namespace dlock::stores::mysql
