// SPDX-License-Identifier: BSL-1.0

// Rule 14: reports what can't work at the start, with an explanation.
#include "stores/mysql/client/check.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "dlock/error.hpp"
#include "dlock/store_interface/unfit_tables.hpp"
#include "stores/mysql/client/errors.hpp"

namespace dlock::stores::mysql {

std::string without_own_session(const std::string& sign) {
  return fmt::format(
      "a proxy in between gives the server's connections to several clients, and can't carry a session of dlock's: "
      "connect to the server itself, or let the proxy share none (MySQL Router: connection_sharing=0): {}",
      sign);
}

namespace {

template <class Error>
[[noreturn]] void fail_with(const std::string& store, const fault& why) {
  const bool shares = why.native == static_cast<int>(mysql_refused_by_router);
  const auto said = shares ? without_own_session(why.text) : why.text;
  const auto text = said.starts_with("dlock: ") ? said : fmt::format("dlock: {}: {}", store, said);
  throw Error(why.connection ? errc::store_unreachable : errc::store_failed, text, why.native, why.sqlstate,
              why.transient);
}

}  // namespace

void fail(const std::string& store, const fault& why) { fail_with<store_error>(store, why); }

void fail_tables(const std::string& store, const fault& why) { fail_with<unfit_tables>(store, why); }

void fail(const std::string& store, const std::string& text) { fail(store, make_own_fault(text)); }

mysql_rows read_rows(mysql_connection& connection, const std::string& store, const std::string& sql,
                     const char* doing) {
  mysql_rows rows;
  if (const auto answer = connection.read(sql, doing, &rows); answer.result != outcome::yes) fail(store, answer.why);
  return rows;
}

namespace {

/// Statements of one connection must find what its set-up has set. Returns the server's clock.
std::string check_session(mysql_connection& connection, const std::string& store) {
  const auto sql = fmt::format("SELECT {}, {}, CONNECTION_ID()", server_clock, session_mark);
  const auto row = read_rows(connection, store, sql, "looking for a proxy, and reading the clock").at(0);
  if (row.at(1) == "1" && row.at(2) == std::to_string(connection.identity().id)) return row.at(0).value_or("");
  fail(store, without_own_session(fmt::format("connection {} has become {}{}", connection.identity().id,
                                              row.at(2).value_or(""), row.at(1) ? "" : ", without its variables")));
}

void check_settings(mysql_connection& connection, const std::string& store) {
  std::map<std::string, std::string> set;
  for (auto& row :
       read_rows(connection, store,
                 "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', 'log_bin', "
                 "'binlog_format', 'autocommit', 'time_zone', 'version')",
                 "reading the settings")) {
    set[row.at(0).value_or("")] = row.at(1).value_or("");
  }
  const auto& isolation = set.count("transaction_isolation") != 0 ? set["transaction_isolation"] : set["tx_isolation"];
  if (isolation != "READ-COMMITTED" || set["autocommit"] != "ON") {
    fail(store, fmt::format("the session has isolation {} and autocommit {} although READ-COMMITTED and ON were set: "
                            "something between us and the server (a proxy?) does not pass settings on",
                            isolation, set["autocommit"]));
  }
  if (set["log_bin"] == "ON" && set["binlog_format"] == "STATEMENT") {
    fail(store,
         "binlog_format is STATEMENT, with which the server refuses writes in READ COMMITTED (error 1665): "
         "set "
         "it to MIXED or ROW");
  }
}

/// `before`: a reading of the clock.
void check_clock(mysql_connection& connection, const std::string& store, std::string before) {
  // One reading in a thousand ends in 000 by chance. If all five do, the clock has only milliseconds.
  for (int i = 0; i != 4; ++i) {
    const auto now = read_rows(connection, store, fmt::format("SELECT {}", server_clock), "reading the clock")
                         .at(0)
                         .at(0)
                         .value_or("");
    if (now.size() < 16) fail(store, fmt::format("the server's clock says {} microseconds since 1970", now));
    if (now == before) {
      fail(store, "the server's clock stands still for this connection: does init_connect set a timestamp?");
    }
    if (now.substr(now.size() - 3) != "000") return;
    before = now;
  }
  fail(store, "the server's clock does not count microseconds");
}

}  // namespace

void check_server(mysql_connection& connection, const std::string& store) {
  auto clock = check_session(connection, store);
  check_settings(connection, store);
  check_clock(connection, store, std::move(clock));
}

}  // namespace dlock::stores::mysql
