// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/batch_change.hpp"

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

/// "SELECT X'61' AS new_key,7 AS new_nonce UNION ALL SELECT X'62',8": the keys that are to be inserted.
std::string new_keys(std::span<const request> requests) {
  std::string rows;
  for (const auto& each : requests) {
    const bool first = rows.empty();
    fmt::format_to(std::back_inserter(rows), "{}SELECT {}{},{}{}", first ? "" : " UNION ALL ",
                   mysql_literal(each.resource), first ? " AS new_key" : "", each.nonce, first ? " AS new_nonce" : "");
  }
  return rows;
}

/// The statement that changes all rows; `skip`: all that nobody has locked.
std::string change_text(const lease_sql& statements, std::span<const request> requests, bool skip) {
  const auto& first = requests.front();
  const auto keys = key_list(requests);
  const auto session = mysql_literal(bytes_of(first.session));
  if (first.action == verb::release) {
    return sql::write_values(statements.text(text_id::batch_release, skip),
                             {{"keys", keys}, {"session", session}, {"fences", fences(requests)}});
  }
  if (first.action == verb::cancel) {
    return sql::write_values(statements.text(text_id::batch_cancel, skip),
                             {{"keys", keys}, {"session", session}, {"nonces", nonces(requests)}});
  }
  const auto own_ttl = first.kind != lease_kind::session ? std::to_string(first.ttl.count()) : std::string("NULL");
  if (first.action == verb::insert) {
    return sql::write_values(statements.text(text_id::batch_insert),
                             {{"session", session}, {"own_ttl", own_ttl}, {"new_keys", new_keys(requests)}});
  }
  return sql::write_values(statements.text(text_id::batch_take, skip),
                           {{"keys", keys}, {"session", session}, {"nonces", nonces(requests)}, {"own_ttl", own_ttl}});
}

struct row {
  bool ours = false;
  bool free = false;
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
};

/// One for each request, empty where there is none.
outcome read_rows(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                  std::vector<row>& found, fault& why) {
  mysql_rows rows;
  const auto session = mysql_literal(bytes_of(requests.front().session));
  const auto text =
      sql::write_values(statements.text(text_id::batch_read), {{"session", session}, {"keys", key_list(requests)}});
  const auto said = on.query(text, "read a batch", &rows, nullptr, why);
  if (said != outcome::yes) return said;
  std::map<std::string, row, std::less<>> by_key;
  for (const auto& from : rows) {
    auto& now = by_key[from.at(0).value_or("")];
    now.ours = from.at(1).value_or("0") == "1";
    now.free = from.at(2).value_or("0") == "1";
    now.nonce = std::strtoull(from.at(3).value_or("0").c_str(), nullptr, 10);
    now.fence = std::strtoull(from.at(4).value_or("0").c_str(), nullptr, 10);
  }
  for (const auto& each : requests) {
    const auto at = by_key.find(each.resource);
    found.push_back(at == by_key.end() ? row{} : at->second);
  }
  return said;
}

void answer_grants(lease_connection& on, std::span<const request> requests, std::span<const row> rows,
                   std::span<reply> replies, const batch_change& change) {
  std::uint64_t granted = 0;
  for (std::size_t i = 0; i != rows.size(); ++i) {
    replies[i] = {.result = outcome::no};
    if (rows[i].ours && rows[i].nonce == requests[i].nonce) {
      replies[i] = {.result = outcome::yes, .fence = rows[i].fence};
      ++granted;
    } else if (change.skipped && rows[i].free) {
      replies[i] = locked_row();  // it looks as if nobody had asked
    }
  }
  if (granted < change.rows) doubt(on, replies);
}

after_free find_out(const request& asked, const row& now) {
  const bool same = asked.action == verb::release ? now.fence == asked.fence : now.nonce == asked.nonce;
  if (same && (now.ours || now.free)) return now.ours ? after_free::held : after_free::free;
  return now.ours && now.nonce == asked.nonce ? after_free::kept : after_free::gone;
}

/// Answers each request by its row, as it is after the change.
void read_back(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
               std::span<reply> replies, batch_change& change) {
  std::vector<row> rows;
  if (read_rows(on, statements, requests, rows, change.why) != outcome::yes) return unread(on, replies, change.why);
  const auto action = requests.front().action;
  if (action == verb::take || action == verb::insert) return answer_grants(on, requests, rows, replies, change);
  std::vector<after_free> found;
  for (std::size_t i = 0; i != rows.size(); ++i) found.push_back(find_out(requests[i], rows[i]));
  answer_frees(on, action, found, replies, change);
}

/// All or none. False: one of the keys is there already, or is being inserted by somebody else; each for itself then.
bool insert_all(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                std::span<reply> replies, reply& sent) {
  batch_change change;
  const auto text = std::string(on.quick_prefix()) + change_text(statements, requests, false);
  if (!on.fits(text)) return false;
  change.said = on.query(text, "insert a batch", nullptr, &change.rows, change.why);
  sent = {.result = outcome::yes, .statements = 1};
  const bool there = change.why.native == static_cast<int>(mysql_duplicate_key);
  if (change.said == outcome::failed && (there || change.why.contended)) return false;
  if (change.said == outcome::yes && change.rows == 0) return false;  // no floor: an insert of one key says so
  fill_all(replies, change.said, change.why);
  if (change.said != outcome::yes) return true;
  const auto fence = mysql_insert_id(on.handle());
  if (fence == 0) {  // a trigger has changed it
    read_back(on, statements, requests, replies, change);
    ++sent.statements;
  } else {
    for (auto& each : replies) each.fence = fence;
  }
  return true;
}

reply execute_all(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                  std::span<reply> replies, bool can_skip) {
  const bool take = requests.front().action == verb::take;
  auto change = change_rows(on, requests.front().action, can_skip, requests.size(),
                            [&](bool skip) { return change_text(statements, requests, skip); });
  const reply sent{.result = outcome::yes, .statements = change.statements};
  const bool none = change.rows == 0 && (take || !change.skipped);
  if (change.said != outcome::yes || none || (!take && change.rows == requests.size())) {
    fill_all(replies, change.said != outcome::yes ? change.said : none ? outcome::no : outcome::yes, change.why);
    return sent;
  }
  read_back(on, statements, requests, replies, change);
  return {.result = outcome::yes, .statements = change.statements + 1};
}

}  // namespace

bool one_statement_can(std::span<const request> requests) noexcept {
  const auto& first = requests.front();
  if (first.action == verb::poll || first.action == verb::take_over || first.action == verb::extend) return false;
  const bool grants = first.action == verb::take || first.action == verb::insert;
  return std::all_of(requests.begin(), requests.end(), [&](const request& each) {
    return each.row == nullptr && each.action == first.action && each.session == first.session &&
           !each.resource.empty() && each.resource.size() <= 255 &&
           (!grants || (each.kind == first.kind && each.ttl == first.ttl)) &&
           (first.action != verb::release || each.min_hold.count() <= 0);
  });
}

bool execute_in_one(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                    std::span<reply> replies, bool can_skip) noexcept {
  bool done = true;
  answer_all(on, replies, [&] {
    if (requests.front().action != verb::insert) {
      auto sent = execute_all(on, statements, requests, replies, can_skip);
      // One by one they may fit.
      done = !lease_connection::is_too_large(replies.front());
      return sent;
    }
    reply sent;
    done = insert_all(on, statements, requests, replies, sent);
    return sent;
  });
  return done;
}

}  // namespace dlock::stores::mysql::lease_table
