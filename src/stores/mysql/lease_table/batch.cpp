// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/lease_table/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/guard.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

/// "X'61',X'62'": the keys of a condition.
std::string key_list(std::span<const request> requests) {
  std::string list;
  for (const auto& each : requests) list += (list.empty() ? "" : ",") + mysql_literal(each.resource);
  return list;
}

/// "WHEN X'61' THEN 7 WHEN X'62' THEN 8": to each key the number of its request.
template <class Number>
std::string number_by_key(std::span<const request> requests, Number number) {
  std::string cases;
  for (const auto& each : requests) {
    fmt::format_to(std::back_inserter(cases), "{}WHEN {} THEN {}", cases.empty() ? "" : " ",
                   mysql_literal(each.resource), number(each));
  }
  return cases;
}
std::string nonces(std::span<const request> requests) {
  return number_by_key(requests, [](const request& each) { return each.nonce; });
}
std::string fences(std::span<const request> requests) {
  return number_by_key(requests, [](const request& each) { return each.fence; });
}

/// The statement that changes all rows.
std::string change_text(const lease_sql& statements, std::span<const request> requests) {
  const auto& first = requests.front();
  const auto keys = key_list(requests);
  const auto session = mysql_literal(bytes_of(first.session));
  if (first.action == verb::release) {
    return sql::write_values(statements.text(text_id::batch_release),
                             {{"keys", keys}, {"session", session}, {"fences", fences(requests)}});
  }
  if (first.action == verb::cancel) {
    return sql::write_values(statements.text(text_id::batch_cancel),
                             {{"keys", keys}, {"session", session}, {"nonces", nonces(requests)}});
  }
  const auto own_ttl = first.kind != lease_kind::session ? std::to_string(first.ttl.count()) : std::string("NULL");
  return sql::write_values(statements.text(text_id::batch_take),
                           {{"keys", keys}, {"session", session}, {"nonces", nonces(requests)}, {"own_ttl", own_ttl}});
}

struct row {
  bool ours = false;
  bool free = false;
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
};

outcome read_rows(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                  std::map<std::string, row, std::less<>>& found, fault& why) {
  mysql_rows rows;
  const auto session = mysql_literal(bytes_of(requests.front().session));
  const auto text =
      sql::write_values(statements.text(text_id::batch_read), {{"session", session}, {"keys", key_list(requests)}});
  const auto said = on.query(text, "read a batch", &rows, nullptr, why);
  if (said != outcome::yes) return said;
  for (const auto& from : rows) {
    auto& now = found[from.at(0).value_or("")];
    now.ours = from.at(1).value_or("0") == "1";
    now.free = from.at(2).value_or("0") == "1";
    now.nonce = std::strtoull(from.at(3).value_or("0").c_str(), nullptr, 10);
    now.fence = std::strtoull(from.at(4).value_or("0").c_str(), nullptr, 10);
  }
  return said;
}

reply answer_of(const request& asked, const row* now) {
  reply answer{.result = outcome::no};
  if (now == nullptr) return answer;
  if (asked.action == verb::take) {
    if (!now->ours || now->nonce != asked.nonce) return answer;
    answer.fence = now->fence;
  } else {
    const bool same = asked.action == verb::release ? now->fence == asked.fence : now->nonce == asked.nonce;
    if (!now->free || !same) return answer;
  }
  answer.result = outcome::yes;
  return answer;
}

void fill_all(std::span<reply> replies, outcome said, const fault& why) {
  for (auto& each : replies) {
    each = reply{};
    each.result = said;
    each.why = why;
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

reply execute_all(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                  std::span<reply> replies) {
  const bool take = requests.front().action == verb::take;
  std::uint64_t changed = 0;
  fault why;
  const auto text = std::string(take ? on.quick_prefix() : "") + change_text(statements, requests);
  const auto said = on.query(text, "a batch", nullptr, &changed, why);
  on.explain(why);
  if (said != outcome::yes || changed == 0 || (!take && changed == requests.size())) {
    fill_all(replies, said != outcome::yes ? said : changed == 0 ? outcome::no : outcome::yes, why);
    return {outcome::yes, 0, {}, {}};
  }
  const reply two{.result = outcome::yes, .statements = 2};
  std::map<std::string, row, std::less<>> found;
  if (read_rows(on, statements, requests, found, why) != outcome::yes) {
    fill_all(replies, outcome::unknown, why);
    return two;
  }
  std::uint64_t done = 0;
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto at = found.find(requests[i].resource);
    replies[i] = answer_of(requests[i], at == found.end() ? nullptr : &at->second);
    if (replies[i].result == outcome::yes) ++done;
  }
  if (take && done < changed) doubt(on, replies);
  return two;
}

}  // namespace

bool one_statement_can(std::span<const request> requests) noexcept {
  const auto& first = requests.front();
  if (first.action != verb::take && first.action != verb::release && first.action != verb::cancel) return false;
  return std::all_of(requests.begin(), requests.end(), [&](const request& each) {
    return each.row == nullptr && each.action == first.action && each.session == first.session &&
           !each.resource.empty() && each.resource.size() <= 255 &&
           (first.action != verb::take || (each.kind == first.kind && each.ttl == first.ttl)) &&
           (first.action != verb::release || each.min_hold.count() <= 0);
  });
}

void execute_in_one(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                    std::span<reply> replies) noexcept {
  const auto whole = guarded(on, "a batch", [&] { return execute_all(on, statements, requests, replies); });
  for (auto& each : replies) each.statements = 0;
  replies.front().statements = whole.statements;
  if (whole.result == outcome::yes) return;
  for (auto& each : replies) {
    each.result = whole.result;
    each.why.native = whole.why.native;
    each.why.transient = whole.why.transient;
    each.why.connection = whole.why.connection;
  }
}

}  // namespace dlock::stores::mysql::lease_table
