// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/bound/blocking_waiters.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {

namespace {

using namespace std::chrono_literals;

/// The notified waiter takes the key; a connection that waits for it at once would only be in the way.
constexpr auto rest = 50ms;

}  // namespace

blocking_waiters::~blocking_waiters() {
  end();
  if (!in_child()) return;
  for (auto& each : slots_) static_cast<void>(each.link.release());  // the parent speaks on the same sockets
  static_cast<void>(control_.link.release());
}

void blocking_waiters::entered(place at) {
  auto& about = at->second;
  if (about.listeners.all.size() == 1) about.since = about.begun;
  changed_.raise();
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

bool blocking_waiters::serve(const std::stop_token& stop) {
  const auto now = clock::now();
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
    if (served(key)) continue;
    if (const auto at = std::max(about.cooldown_until, retry_at_); at > served_at) next = std::min(next, at);
  }
  return next;
}

/// Returns the keys without a connection, those that have waited longest first.
std::vector<std::pair<blocking_waiters::clock::time_point, std::string>> blocking_waiters::unserved(
    clock::time_point now) const {
  std::vector<std::pair<clock::time_point, std::string>> waiting;
  for (const auto& [key, about] : keys_) {
    if (!served(key) && about.cooldown_until <= now) waiting.emplace_back(about.since, key);
  }
  std::sort(waiting.begin(), waiting.end());
  return waiting;
}

/// Closes without COM_QUIT, which a server that waits for a lock does not read.
void blocking_waiters::slot::drop() noexcept {
  if (link != nullptr && !key.empty()) link->interrupt();
  link.reset();
  key.clear();
  ended = false;
}

/// Returns an idle connection. If there is none, ends the wait of one whose key nobody watches any more.
blocking_waiters::slot* blocking_waiters::vacant(const std::stop_token& stop) {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [](const slot& each) { return each.key.empty(); });
  if (found != slots_.end()) return &*found;
  const auto unwanted = std::find_if(slots_.begin(), slots_.end(), [&](const slot& each) {
    mutex_.assert_held();
    return !each.ended && !keys_.contains(each.key);
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
    auto* const with = vacant(stop);
    if (with == nullptr) return;
    if (!connected(*with, stop)) {
      retry_at_ = clock::now() + retry;
      return;
    }
    if (keys_.contains(key)) send(*with, key);
  }
}

bool blocking_waiters::connected(slot& with, const std::stop_token& stop) {
  if (with.link != nullptr && with.link->alive()) return true;
  const base::unlocked others(mutex_);
  fault why;
  with.link.reset();
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
    sent = send_mysql(with.link->handle(), plan_.statement(key), "wait", why);
  } catch (const std::exception&) {
    // Memory ran out after a part of the statement may have been sent.
  }
  if (!sent) broke(with);
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
  const auto about = keys_.find(key);
  if (about == keys_.end()) return;
  about->second.since = clock::now();
  if (!free) return;
  about->second.cooldown_until = about->second.since + rest;
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

reply find_waiters(mysql_connection& connection, std::string_view statement, std::string_view key, std::size_t limit,
                   waiter_overview& found) {
  mysql_rows rows;
  const auto sql = fmt::format(
      "SELECT USER, HOST, TIME FROM information_schema.PROCESSLIST "
      "WHERE LOCATE(CAST({} AS BINARY), CAST(INFO AS BINARY)) > 0 AND LOCATE(CAST({} AS BINARY), CAST(INFO AS BINARY)) "
      "> 0 "
      "AND ID <> CONNECTION_ID() ORDER BY TIME DESC, ID",
      mysql_text_literal(statement), mysql_text_literal(key));
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
