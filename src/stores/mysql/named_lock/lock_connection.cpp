// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/named_lock/lock_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql::named_lock {

namespace {

bool names_itself(std::string_view text) {
  if (text.empty() || text.size() > longest_lock_name || text.front() == '#' || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && !(c >= 'A' && c <= 'Z'); });
}

}  // namespace

std::string lock_name(std::string_view prefix, std::string_view key) {
  auto text = std::string(prefix).append(key);
  if (names_itself(text)) return text;
  return hashed_lock_name(text);
}

lock_connection::lock_connection(std::unique_ptr<mysql_connection> link, std::chrono::milliseconds timeout,
                                 const session_record& of, const std::string& prefix)
    : holder_{.session = of.id,
              .host = std::string(of.host),
              .pid = of.pid,
              .label = std::string(of.label),
              .kind = lease_kind::connection},
      prefix_(prefix),
      link_(std::move(link), timeout) {}

lock_connection::~lock_connection() {
  if (noticed_by_ != nullptr) noticed_by_->remove(noticed_);
}

// ---- its life -------------------------------------------------------------------------------------------------------

void lock_connection::notice_end(hangup_watch& by, std::function<void()> closed) noexcept {
  noticed_by_ = &by;
  noticed_ = by.add(link_.socket(), std::move(closed));
}

bool lock_connection::prepare(fault& why) {
  for (auto* const each : {&take_, &free_}) {
    each->one = link_.add(fmt::format("SELECT {}?{}", each->begin, each->end), each->doing, false, why);
    if (each->one == nullptr) return false;
  }
  return true;
}

bool lock_connection::live_for(microseconds ttl, const cancel_signal& by, fault& why) {
  auto mine = link_.wait_exclusive_use(by, why);
  return mine && mine->set_silence(ttl, why);
}

reply lock_connection::renew(microseconds ttl, const cancel_signal& by) {
  reply answer{.result = outcome::unknown};
  auto mine = link_.wait_exclusive_use(by, answer.why);
  if (mine && settle(*mine, answer.why)) answer.result = mine->renew(ttl, "renew", answer.why);
  if (!usable()) return {.result = outcome::no};
  return answer;
}

// ---- its registry
// ------------------------------------------------------------------------------------------------------

std::optional<std::uint64_t> lock_connection::holds(const std::string& name) const {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(name);
  return found == held_.end() ? std::nullopt : std::optional(found->second.nonce);
}

std::vector<holder_info> lock_connection::all_held() const {
  std::vector<holder_info> all;
  const base::lock_guard lock(mutex_);
  for (const auto& [name, grant] : held_) {
    all.push_back(holder_);
    all.back().key = grant.key;
  }
  return all;
}

// ---- verbs ----------------------------------------------------------------------------------------------------------

/// Takes one round trip for all names. The statement for one name, which is the usual case, is prepared.
outcome lock_connection::run(exclusive_use& mine, const lock_function& function, const std::vector<sent_name>& names,
                             lock_holding_connection::handler done, fault& why) {
  if (names.size() == 1) return mine.run(*function.one, names.front().name, std::move(done), why);
  std::string sql = "SELECT ";
  for (const auto& each : names) {
    if (&each != names.data()) sql += ", ";
    sql.append(function.begin).append(mysql_text_literal(each.name)).append(function.end);
  }
  return mine.run(sql, function.doing, std::move(done), why);
}

bool lock_connection::settle(exclusive_use& mine, fault& why) {
  if (unsure_.empty()) return true;
  fault reason;
  if (run(mine, free_, unsure_, {}, reason) == outcome::yes) {
    unsure_.clear();
    return true;
  }
  why = make_own_fault("what an earlier statement took is not known yet", true, reason.connection);
  return false;
}

template <class Fits>
void lock_connection::choose(std::span<const request> requests, std::span<reply> replies, const Fits& fits) {
  sent_.clear();
  for (std::size_t i = 0; i != requests.size(); ++i) {
    replies[i] = {.result = outcome::no, .statements = 0};
    auto name = lock_name(prefix_, requests[i].resource);
    if (fits(name, requests[i])) sent_.push_back({.request = i, .name = std::move(name)});
  }
}

void lock_connection::take(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by) {
  reply all{.result = outcome::failed};
  auto mine = link_.wait_exclusive_use(by, all.why);
  if (mine && !settle(*mine, all.why)) mine.reset();
  if (!mine) return std::fill(replies.begin(), replies.end(), all);
  // The server would count a lock that is held already, and need as many releases.
  choose(requests, replies, [this](const std::string& name, const request&) { return !holds(name); });
  if (sent_.empty()) return;
  for (auto& each : sent_) {
    each.grant = {std::string(requests[each.request].resource), requests[each.request].nonce};
  }
  const auto noted = [this](bound_answer& answer) {
    if (answer.result != outcome::yes) {
      std::move(sent_.begin(), sent_.end(), std::back_inserter(unsure_));  // some of them may be taken
      return;
    }
    const base::lock_guard lock(mutex_);
    for (std::size_t i = 0; i != sent_.size(); ++i) {
      auto& each = sent_[i];
      each.said = answer.rows.at(0).at(i);
      if (each.said == "1") held_.insert_or_assign(std::move(each.name), std::move(each.grant));
    }
  };
  fault why;
  auto result = run(*mine, take_, sent_, noted, why);
  fault unsettled;
  if (result == outcome::failed && !settle(*mine, unsettled)) result = outcome::unknown;
  for (const auto& each : sent_) {
    auto& answer = replies[each.request];
    answer = {.result = result, .why = why, .statements = 0};
    if (result != outcome::yes) continue;
    answer.fence = requests[each.request].nonce;
    if (each.said == "1") continue;
    answer.result = each.said == "0" ? outcome::no : outcome::failed;
    if (!each.said) answer.why = make_own_fault("take: GET_LOCK failed at the server", true);
  }
  replies[sent_.front().request].statements = 1;
}

void lock_connection::free(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by) {
  reply all{.result = outcome::failed};
  auto mine = link_.wait_exclusive_use(by, all.why);
  // The locks ended with their connection.
  if (!mine && !usable()) all = {.result = outcome::no, .statements = 0};
  // Otherwise a lock that the registry doesn't show would be reported as free.
  if (mine && !settle(*mine, all.why)) {
    all.result = outcome::unknown;
    mine.reset();
  }
  if (!mine) return std::fill(replies.begin(), replies.end(), all);
  choose(requests, replies, [this](const std::string& name, const request& request) {
    return holds(name) == (request.action == verb::cancel ? request.nonce : request.fence);
  });
  if (sent_.empty()) return;
  const auto noted = [this](bound_answer& answer) {
    // If that failed, the lock stays in the registry; freeing a free lock again does no harm.
    if (answer.result != outcome::yes) return;
    const base::lock_guard lock(mutex_);
    for (const auto& each : sent_) held_.erase(each.name);
  };
  reply response{.statements = 0};
  response.result = run(*mine, free_, sent_, noted, response.why);
  for (const auto& each : sent_) replies[each.request] = response;
  replies[sent_.front().request].statements = 1;
}

}  // namespace dlock::stores::mysql::named_lock
