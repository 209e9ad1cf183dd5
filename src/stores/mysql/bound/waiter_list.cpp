// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/bound/waiter_list.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "stores/mysql/client/quoting.hpp"

namespace dlock::stores::mysql {

reply find_waiters(mysql_connection& connection, std::string_view statement, std::string_view key, std::size_t limit,
                   waiter_overview& found) {
  reply answer;
  mysql_rows rows;
  const auto sql = fmt::format(
      "SELECT USER, HOST, TIME FROM information_schema.PROCESSLIST "
      "WHERE LOCATE(CAST({} AS BINARY), CAST(INFO AS BINARY)) > 0 AND LOCATE(CAST({} AS BINARY), CAST(INFO AS BINARY)) "
      "> 0 "
      "AND ID <> CONNECTION_ID() ORDER BY TIME DESC, ID",
      mysql_text_literal(statement), mysql_text_literal(key));
  answer.result = connection.query(sql, "list waiters", &rows, nullptr, answer.why);
  if (answer.result != outcome::yes) return answer;
  found = {.known = true, .count = rows.size()};
  for (const auto& row : rows) {
    if (found.first.size() == limit) break;
    const auto host = row.at(1).value_or("");
    found.first.push_back({.host = host.substr(0, host.rfind(':')),
                           .label = row.at(0).value_or(""),
                           .waited = std::chrono::seconds{std::strtoll(row.at(2).value_or("0").c_str(), nullptr, 10)}});
  }
  return answer;
}

}  // namespace dlock::stores::mysql
