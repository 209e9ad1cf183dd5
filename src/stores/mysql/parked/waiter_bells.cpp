// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/parked/waiter_bells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/findings.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/parked/parked_connection.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::parked {

bool waiter_bells::note_unreadable(const fault& why) {
  if (!lacks_table(why)) return false;
  unreadable_ = true;
  return true;
}

bool waiter_bells::lacks_table(const fault& why) {
  const auto advice = remedy(why);
  if (advice.empty()) return false;
  if (!said_lacks_.exchange(true)) says_(fmt::format("{}. {}", why.text, advice));
  return true;
}

std::string waiter_bells::remedy(const fault& why) const {
  switch (why.native) {
    case 1142:
    case 1143: return fmt::format("GRANT SELECT, INSERT, UPDATE, DELETE ON {} to the user.", sql_.table);
    case 1146: return fmt::format("Make the table {} by the statement that dlock schema prints.", sql_.table);
    case 1054:
      if (why.text.find("'w.held'") != std::string::npos)
        return fmt::format("ALTER TABLE {} ADD COLUMN `held` MEDIUMTEXT CHARACTER SET ascii NULL", sql_.table);
      if (why.text.find("'w.") != std::string::npos)  // else it is a column of the application's
        return fmt::format("Drop the table {}, and make it again by the statement that dlock schema prints.",
                           sql_.table);
      break;
    default: break;
  }
  return {};
}

bool waiter_bells::fits_table(mysql_connection& by, fault& why) const {
  return by.query(sql_.fits, "look at the waiter table", nullptr, nullptr, why) == outcome::yes;
}

void waiter_bells::check_table(mysql_connection& by) {
  fault why;
  if (!fits_table(by, why)) note_unreadable(why);
}

reply waiter_bells::examine_table(mysql_connection& by, std::vector<store_finding>& found) const {
  reply answer;
  if (fits_table(by, answer.why)) {
    findings(found).good("waiter table", sql_.table);
  } else if (auto advice = remedy(answer.why); !advice.empty()) {
    findings(found).warning("waiter table", answer.why.text,
                            "No release wakes a waiter: waiters poll, keep no order, and find no circles of processes.",
                            std::move(advice));
  } else {
    return answer;
  }
  return {.result = outcome::yes};
}

bool waiter_bells::ring(mysql_connection& by, std::uint64_t sleeper) noexcept {
  const auto said = ring_sleeper(by, sleeper);
  if (said == ring_result::refused && !said_refused_.exchange(true)) {
    says_("a release may not wake a waiter whose connection is another user's");
  }
  return said == ring_result::woken;
}

void waiter_bells::ring_first(mysql_connection& by, std::span<const request> requests, std::span<reply> replies,
                              bool held_too) noexcept {
  static_cast<void>(reply_or_in_doubt(by, "wake", [&] {
    std::string keys;
    for (std::size_t i = 0; i != requests.size(); ++i) {
      if (replies[i].result == outcome::yes && looks(by, requests[i])) {
        append_literal(keys, mysql_literal(requests[i].resource));
      }
    }
    if (!keys.empty()) ring_first(by, keys, requests, replies, held_too);
    return reply{};
  }));
}

void waiter_bells::ring_first(mysql_connection& by, const std::string& keys, std::span<const request> requests,
                              std::span<reply> replies, bool held_too) {
  mysql_rows rows;
  fault why;
  ++replies.front().statements;
  const auto text = sql::write_values(
      sql_.first, {{"bell", mysql_literal(bytes_of(own()))}, {"keys", keys}, {"held_too", held_too ? "1" : "0"}});
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

reply waiter_bells::count(mysql_connection& by, std::vector<holder_info>& of) {
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

}  // namespace dlock::stores::mysql::parked
