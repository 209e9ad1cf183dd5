// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/lease_table/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/guard.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

std::string literal(const id128& id) { return mysql_literal(bytes_of(id)); }

std::string key_list(std::span<const request> requests) {
  std::string made;
  for (const auto& one : requests) made += (made.empty() ? "" : ",") + mysql_literal(one.resource);
  return made;
}

/// CASE lock_key WHEN ... THEN <number of its request> ... END
template <class Number>
std::string number_of_key(std::span<const request> requests, Number number) {
  std::string made = "CASE {lock.lock_key}";
  for (const auto& one : requests) made += fmt::format(" WHEN {} THEN {}", mysql_literal(one.resource), number(one));
  return made + " END";
}

std::uint64_t nonce_of(const request& from) { return from.nonce; }
std::uint64_t fence_of(const request& from) { return from.fence; }

std::string take_sql(const mysql_sql& sql, std::span<const request> requests) {
  const auto& first = requests.front();
  const auto expiry =
      first.kind != lease_kind::session ? fmt::format("{}+{{now}}", first.ttl.count()) : std::string("NULL");
  // Rule 1, and as for one key: each row is judged when it is locked, by its own columns alone.
  return sql.names().expand("UPDATE {lock} SET {lock.session_id}=" + literal(requests.front().session) +
                            ", {lock.nonce}=" + number_of_key(requests, nonce_of) +
                            ", {lock.fence}=LAST_INSERT_ID({lock.fence}+1), {lock.acquired_at_us}={now}, "
                            "{lock.expires_at_us}=" +
                            expiry + ", {lock.verified_by}=0 WHERE {lock.lock_key} IN (" + key_list(requests) +
                            ") AND ({lock.session_id} IS NULL OR {lock.expires_at_us}<={now})");
}

// Rule 6: of each key the session and the fence, or the nonce.
std::string free_sql(const mysql_sql& sql, std::span<const request> requests) {
  const bool release = requests.front().action == verb::release;
  return sql.names().expand(
      "UPDATE {lock} SET {lock.session_id}=NULL, {lock.expires_at_us}=NULL WHERE "
      "{lock.lock_key} IN (" +
      key_list(requests) + ") AND {lock.session_id}=" + literal(requests.front().session) + " AND " +
      (release ? "{lock.fence}=" : "{lock.nonce}=") + number_of_key(requests, release ? fence_of : nonce_of));
}

struct row {
  bool ours = false;
  bool free = false;
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
};

outcome read_rows(lease_connection& on, const mysql_sql& sql, std::span<const request> requests,
                  std::map<std::string, row, std::less<>>& found, fault& why) {
  mysql_rows rows;
  const auto said = on.query(
      sql.names().expand("SELECT {lock.lock_key}, {lock.session_id}=" + literal(requests.front().session) +
                         ", {lock.session_id} IS NULL, {lock.nonce}, {lock.fence} FROM {lock} WHERE {lock.lock_key} "
                         "IN (" +
                         key_list(requests) + ")"),
      "read a batch", &rows, nullptr, why);
  if (said != outcome::yes) return said;
  for (const auto& from : rows) {
    auto& made = found[from.at(0).value_or("")];
    made.ours = from.at(1).value_or("0") == "1";
    made.free = from.at(2).value_or("0") == "1";
    made.nonce = std::strtoull(from.at(3).value_or("0").c_str(), nullptr, 10);
    made.fence = std::strtoull(from.at(4).value_or("0").c_str(), nullptr, 10);
  }
  return said;
}

reply answer(const request& to, const row* now) {
  reply made;
  made.result = outcome::no;
  if (now == nullptr) return made;
  if (to.action == verb::take) {
    if (!now->ours || now->nonce != to.nonce) return made;
    made.fence = now->fence;
  } else {
    const bool same = to.action == verb::release ? now->fence == to.fence : now->nonce == to.nonce;
    if (!now->free || !same) return made;
  }
  made.result = outcome::yes;
  return made;
}

void fill_all(std::span<reply> replies, outcome what, const fault& why) {
  for (auto& one : replies) {
    one = reply{};
    one.result = what;
    one.why = why;
  }
}

/// More was granted than is seen now. As a grant without an answer, what is not seen is cancelled, by session and nonce.
void doubt(lease_connection& on, std::span<reply> replies) {
  for (auto& each : replies) {
    if (each.result != outcome::no) continue;
    each.result = outcome::unknown;
    each.why = make_own_fault("read a batch: a row is not as it was granted", true, true);
    on.heed(each.why);
  }
}

reply execute_all(lease_connection& on, const mysql_sql& sql, std::span<const request> requests,
                  std::span<reply> replies) {
  const bool take = requests.front().action == verb::take;
  std::uint64_t changed = 0;
  fault why;
  const auto text = take ? std::string(on.quick_prefix()) + take_sql(sql, requests) : free_sql(sql, requests);
  const auto said = on.query(text, "a batch", nullptr, &changed, why);
  on.explain(why);
  if (said != outcome::yes || changed == 0 || (!take && changed == requests.size())) {
    fill_all(replies, said != outcome::yes ? said : changed == 0 ? outcome::no : outcome::yes, why);
    return {outcome::yes, 0, {}, {}};
  }
  const reply two{.result = outcome::yes, .statements = 2};
  std::map<std::string, row, std::less<>> found;
  if (read_rows(on, sql, requests, found, why) != outcome::yes) {
    fill_all(replies, outcome::unknown, why);
    return two;
  }
  std::uint64_t done = 0;
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto at = found.find(requests[i].resource);
    replies[i] = answer(requests[i], at == found.end() ? nullptr : &at->second);
    if (replies[i].result == outcome::yes) ++done;
  }
  if (take && done < changed) doubt(on, replies);
  return two;
}

}  // namespace

bool one_statement_can(std::span<const request> requests) noexcept {
  const auto& first = requests.front();
  if (first.action != verb::take && first.action != verb::release && first.action != verb::cancel) return false;
  return std::all_of(requests.begin(), requests.end(), [&](const request& one) {
    return one.row == nullptr && one.action == first.action && one.session == first.session && !one.resource.empty() &&
           one.resource.size() <= 255 &&
           (first.action != verb::take || (one.kind == first.kind && one.ttl == first.ttl)) &&
           (first.action != verb::release || one.min_hold.count() <= 0);
  });
}

void execute_in_one(lease_connection& on, const mysql_sql& sql, std::span<const request> requests,
                    std::span<reply> replies) noexcept {
  const auto whole = guarded(on, "a batch", [&] { return execute_all(on, sql, requests, replies); });
  for (auto& one : replies) one.statements = 0;
  replies.front().statements = whole.statements;
  if (whole.result == outcome::yes) return;
  for (auto& one : replies) {
    one.result = whole.result;
    one.why.native = whole.why.native;
    one.why.transient = whole.why.transient;
    one.why.connection = whole.why.connection;
  }
}

}  // namespace dlock::stores::mysql::lease_table
