// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/named_lock/lock_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "stores/mysql/bound/single_primary_check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/quoting.hpp"
#include "stores/mysql/named_lock/name.hpp"

namespace dlock::stores::mysql::named_lock {

namespace {

/// "SELECT GET_LOCK(<name>, 0), GET_LOCK(<name>, 0)": one round trip for all.
std::string call_for_each(std::string_view call, std::string_view end, const std::vector<std::string>& names) {
  std::string sql = "SELECT ";
  for (const auto& name : names) {
    if (&name != names.data()) sql += ", ";
    sql.append(call).append(mysql_text_literal(name)).append(end);
  }
  return sql;
}

std::string get_locks(const std::vector<std::string>& names) { return call_for_each("GET_LOCK(", ", 0)", names); }
std::string release_locks(const std::vector<std::string>& names) { return call_for_each("RELEASE_LOCK(", ")", names); }

constexpr const char* failed_at_server = "take: GET_LOCK failed at the server";

/// A statement's answers, one for each name: they may come when its sender is gone.
struct answers {
  std::vector<std::optional<std::string>> values{};
  fault why{};
};

}  // namespace

lock_connection::lock_connection(std::unique_ptr<mysql_connection> link, std::chrono::milliseconds timeout,
                                 const session_record& of, const std::string& prefix)
    : session_(of.id),
      host_(of.host),
      pid_(of.pid),
      label_(of.label),
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
  take_one_ = link_.add("SELECT GET_LOCK(?, 0)", "take", false, why);
  if (take_one_ != nullptr) free_one_ = link_.add("SELECT RELEASE_LOCK(?)", "release", false, why);
  return free_one_ != nullptr;
}

bool lock_connection::live_for(microseconds ttl, const cancel_signal& by, fault& why) {
  auto mine = link_.wait_exclusive_use(by, why);
  if (!mine) return false;
  const auto wanted = silence_for(ttl);
  if (wanted <= seconds_) return true;
  if (mine->query(fmt::format("SET SESSION wait_timeout={}", wanted), "set the end of a silent connection", nullptr,
                  why) != outcome::yes) {
    return false;
  }
  seconds_ = wanted;
  return true;
}

reply lock_connection::renew(microseconds ttl, const cancel_signal& by) {
  reply answer;
  if (!live_for(ttl, by, answer.why)) {
    answer.result = usable() ? outcome::unknown : outcome::no;
    return answer;
  }
  auto mine = link_.wait_exclusive_use(by, answer.why);
  mysql_rows rows;
  answer.result = outcome::unknown;
  if (mine && settle(*mine, answer.why)) answer.result = mine->query(still_primary_sql, "renew", &rows, answer.why);
  if (answer.result == outcome::yes && is_no_primary(rows)) link_.end();
  if (!usable()) return {.result = outcome::no};
  return answer;
}

// ---- its books ------------------------------------------------------------------------------------------------------

void lock_connection::note_taken(const std::string& name, const held& grant) {
  const base::lock_guard lock(mutex_);
  held_.insert_or_assign(name, grant);
}

void lock_connection::forget(const std::string& name) {
  const base::lock_guard lock(mutex_);
  held_.erase(name);
}

bool lock_connection::has(const std::string& name) const {
  const base::lock_guard lock(mutex_);
  return held_.contains(name);
}

std::optional<lock_connection::held> lock_connection::holds(const std::string& name) const {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(name);
  return found == held_.end() ? std::nullopt : std::optional(found->second);
}

void lock_connection::describe(holder_info& into) const {
  into.session = session_;
  into.host = host_;
  into.pid = pid_;
  into.label = label_;
  into.kind = lease_kind::connection;
}

std::vector<holder_info> lock_connection::all_held() const {
  std::vector<holder_info> all;
  const base::lock_guard lock(mutex_);
  for (const auto& [name, grant] : held_) {
    describe(all.emplace_back());
    all.back().key = grant.key;
  }
  return all;
}

// ---- verbs ----------------------------------------------------------------------------------------------------------

bool lock_connection::settle(exclusive_use& mine, fault& why) {
  if (unsure_.empty()) return true;
  fault reason;
  if (mine.query(release_locks(unsure_), "free", nullptr, reason) == outcome::yes) {
    unsure_.clear();
    return true;
  }
  why = make_own_fault("what an earlier statement took is not known yet", true, reason.connection);
  return false;
}

/// The same for one, which is the rule.
reply lock_connection::take(exclusive_use& mine, const request& request) {
  one_.name = lock_name(prefix_, request.resource);
  reply answer{.result = outcome::no, .statements = 0};
  if (has(one_.name)) return answer;
  one_.grant.key = request.resource;
  one_.grant.nonce = request.nonce;
  const auto noted = [this](bound_answer& response) {
    one_.number = response.number;
    if (response.result != outcome::yes) {
      unsure_.push_back(one_.name);  // it may be taken
    } else if (response.number == 1) {
      note_taken(one_.name, one_.grant);
    }
  };
  answer.statements = 1;
  answer.result = mine.run(*take_one_, one_.name, noted, answer.why);
  fault unsettled;
  if (answer.result == outcome::failed && !settle(mine, unsettled)) answer.result = outcome::unknown;
  if (answer.result != outcome::yes) return answer;
  answer.fence = request.nonce;
  if (one_.number == 1) return answer;
  answer.result = one_.number == 0 ? outcome::no : outcome::failed;
  if (!one_.number) answer.why = make_own_fault(failed_at_server, true);
  return answer;
}

void lock_connection::take(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by) {
  reply all{.result = outcome::failed};
  auto mine = link_.wait_exclusive_use(by, all.why);
  if (mine && !settle(*mine, all.why)) mine.reset();
  if (!mine) return std::fill(replies.begin(), replies.end(), all);
  if (requests.size() == 1) {
    replies[0] = take(*mine, requests[0]);
    return;
  }
  chosen wanted;
  for (std::size_t i = 0; i != requests.size(); ++i) {
    replies[i] = {.result = outcome::no, .statements = 0};
    auto name = lock_name(prefix_, requests[i].resource);
    // The server would count it, and free it by as many releases.
    if (has(name)) continue;
    wanted.names.push_back(std::move(name));
    wanted.of.push_back(i);
  }
  if (wanted.of.empty()) return;
  std::vector<held> grants;
  for (const auto i : wanted.of) grants.push_back({std::string(requests[i].resource), requests[i].nonce});
  const auto got = std::make_shared<answers>();
  const auto noted = [this, got, names = wanted.names, grants = std::move(grants)](bound_answer& answer) {
    if (answer.result != outcome::yes) {
      unsure_.insert(unsure_.end(), names.begin(), names.end());  // some of them may be taken
      return;
    }
    got->values = answer.rows.at(0);
    for (std::size_t i = 0; i != names.size(); ++i) {
      if (got->values[i] == "1") note_taken(names[i], grants[i]);
    }
  };
  fault why;
  auto result = mine->run(get_locks(wanted.names), "take", noted, why);
  fault unsettled;
  if (result == outcome::failed && !settle(*mine, unsettled)) result = outcome::unknown;
  for (std::size_t i = 0; i != wanted.of.size(); ++i) {
    auto& answer = replies[wanted.of[i]];
    answer = {.result = result, .why = why, .statements = 0};
    if (result != outcome::yes) continue;
    answer.fence = requests[wanted.of[i]].nonce;
    if (got->values[i] == "1") continue;
    answer.result = got->values[i] == "0" ? outcome::no : outcome::failed;
    if (answer.result == outcome::failed) answer.why = make_own_fault(failed_at_server, true);
  }
  replies[wanted.of.front()].statements = 1;
}

/// Whether it is that very grant that is held.
bool lock_connection::is_held_by(const request& request, const std::string& name) const {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(name);
  const auto nonce = request.action == verb::cancel ? request.nonce : request.fence;
  return found != held_.end() && found->second.nonce == nonce;
}

/// The same for one.
reply lock_connection::free(exclusive_use& mine, const request& request) {
  one_.name = lock_name(prefix_, request.resource);
  reply answer{.result = outcome::no, .statements = 0};
  if (!is_held_by(request, one_.name)) return answer;
  const auto noted = [this](bound_answer& response) {
    if (response.result == outcome::yes) forget(one_.name);
  };
  answer.statements = 1;
  answer.result = mine.run(*free_one_, one_.name, noted, answer.why);
  return answer;
}

void lock_connection::free(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by) {
  reply all{.result = outcome::failed};
  auto mine = link_.wait_exclusive_use(by, all.why);
  // They went with their connection.
  if (!mine && !usable()) all = {.result = outcome::no, .statements = 0};
  // Otherwise a grant that the books don't show would be said to be free.
  if (mine && !settle(*mine, all.why)) {
    all.result = outcome::unknown;
    mine.reset();
  }
  if (!mine) return std::fill(replies.begin(), replies.end(), all);
  if (requests.size() == 1) {
    replies[0] = free(*mine, requests[0]);
    return;
  }
  chosen wanted;
  for (std::size_t i = 0; i != requests.size(); ++i) {
    replies[i] = {.result = outcome::no, .statements = 0};
    auto name = lock_name(prefix_, requests[i].resource);
    if (!is_held_by(requests[i], name)) continue;
    wanted.names.push_back(std::move(name));
    wanted.of.push_back(i);
  }
  if (wanted.of.empty()) return;
  const auto noted = [this, names = wanted.names](bound_answer& answer) {
    if (answer.result != outcome::yes) return;
    for (const auto& name : names) forget(name);
  };
  reply response{.statements = 0};
  // Not done for certain? Then it stays in the books, and freeing what is free already does no harm.
  response.result = mine->run(release_locks(wanted.names), "release", noted, response.why);
  for (const auto i : wanted.of) replies[i] = response;
  replies[wanted.of.front()].statements = 1;
}

}  // namespace dlock::stores::mysql::named_lock
