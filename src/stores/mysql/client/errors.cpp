// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dlock::stores::mysql {
namespace {

struct table_line {
  unsigned code;
  const char* flags;  // u: outcome unknown, t: transient, c: connection of no more use, b: busy, v: text shows values
};

// Sorted by number. Only this table decides what an error means.
constexpr auto table = std::to_array<table_line>({
    {1020, "tb"},   // record has changed since last read: MariaDB with innodb_snapshot_isolation, its newer default
    {1021, "t"},    // disk full
    {1026, "ut"},   // error writing a file: the binary log, for instance
    {1036, "tc"},   // table is read-only: InnoDB is
    {1037, "t"},    // out of memory
    {1038, "t"},    // out of sort memory
    {1040, "tc"},   // too many connections
    {1041, "t"},    // out of memory
    {1042, "tc"},   // the server cannot resolve our address
    {1043, "tc"},   // bad handshake
    {1047, "tc"},   // Galera: this node is not part of the cluster now
    {1053, "utc"},  // server shutdown in progress
    {1062, "v"},    // duplicate key
    {1077, "utc"},  // normal shutdown
    {1079, "utc"},  // shutdown complete
    {1080, "utc"},  // forcing close of thread
    {1114, "t"},    // table is full
    {1129, "c"},    // host is blocked
    {1135, "t"},    // cannot create a thread
    {1152, "utc"},  // aborted connection
    {1156, "utc"},  // packets out of order
    {1158, "utc"},  // error reading communication packets
    {1159, "utc"},  // timeout reading communication packets
    {1160, "utc"},  // error writing communication packets
    {1161, "utc"},  // timeout writing communication packets
    {1180, "ut"},   // error during COMMIT; Galera: the answer of the cluster was not heard
    {1184, "utc"},  // aborted new connection
    {1203, "tc"},   // the user has too many connections
    {1205, "tb"},   // lock wait timeout: only the statement was undone, and there is no more in autocommit
    {1206, "t"},    // too many locks
    {1213, "tb"},   // deadlock
    {1226, "t"},    // the user's hourly resources are used up
    {1243, "tc"},   // unknown prepared statement: a proxy led us to another server
    {1264, "v"},    // value out of range
    {1290, "tc"},   // --read-only: a replica, or a primary that stepped down
    {1292, "v"},    // incorrect value
    {1317, "t"},    // query execution was interrupted
    {1366, "v"},    // incorrect string value
    {1406, "v"},    // data too long
    {1412, "t"},    // table definition has changed
    {1461, "t"},    // no more prepared statements (max_prepared_stmt_count): the text is sent instead
    {1598, "utc"},  // MySQL: the binary log cannot be written, the server stops
    {1614, "tb"},   // deadlock in an XA transaction
    {1615, "t"},    // prepared statement needs to be re-prepared
    {1637, "t"},    // too many concurrent transactions
    {1689, "tb"},   // wait for a lock was aborted
    {1792, "tc"},   // read-only transaction
    {1836, "tc"},   // read-only mode
    {1874, "tc"},   // InnoDB is in read-only mode
    {1878, "t"},    // temporary file cannot be written
    {1881, "tc"},   // InnoDB was started by force
    {1927, "utc"},  // MariaDB: connection was killed
    {1969, "t"},    // MariaDB: max_statement_time exceeded
    {2000, "uc"},   // unknown error
    {2001, "tc"},   // cannot create a socket
    {2002, "tc"},   // cannot connect to the local server
    {2003, "tc"},   // cannot connect to the server
    {2004, "tc"},   // cannot create a TCP socket
    {2005, "tc"},   // unknown host
    {2006, "tc"},   // server has gone away: the client could not send, so the server never had the whole statement
    {2007, "c"},    // protocol mismatch
    {2009, "c"},    // wrong host info
    {2012, "tc"},   // handshake failed
    {2013, "utc"},  // connection lost while waiting for the answer
    {2014, "c"},    // commands out of sync: a mistake of ours, nothing was sent
    {2026, "utc"},  // TLS; also a connection that ends while the answer is awaited; in a handshake by its text
    {2027, "utc"},  // malformed packet
    {2030, "c"},    // statement not prepared
    {2033, "c"},    // no such parameter
    {2048, "c"},    // invalid handle
    {2054, "c"},    // cannot read the server's character set
    {2055, "utc"},  // connection lost, with the system's error
    {2056, "tc"},   // statement closed by an earlier loss of the connection
    {2059, "c"},    // authentication plugin cannot be loaded
    {2061, "c"},    // authentication plugin failed
    {3015, "t"},    // engine out of memory
    {3019, "t"},    // undo log full
    {3024, "t"},    // MySQL: maximum execution time exceeded
    {3032, "tc"},   // MySQL: offline mode
    {3058, "tb"},   // MySQL: deadlock of user locks
    {3100, "utc"},  // group replication: error in the commit hook
    {3101, "tb"},   // group replication: rolled back by the certification
    {3168, "tc"},   // MySQL: server isn't available
    {3169, "utc"},  // MySQL: session was killed
    {3572, "tb"},   // NOWAIT, and the row is locked
    {3781, "tc"},   // group replication: waited too long for a new primary
    {3782, "tc"},   // group replication: stopped while a new primary was awaited
    {3783, "tc"},   // group replication: this member is in error
    {3796, "tc"},   // group replication: not in this member's state
    {3797, "t"},    // group replication: waited in vain for the others before the statement
    {3798, "t"},    // group replication: waited in vain for the others' last statements
    {3799, "tc"},   // group replication: it is being stopped
    {3950, "t"},    // MySQL: out of memory
    {3989, "t"},    // MySQL: the schema is read-only
    {4031, "tc"},   // MySQL: disconnected by the server for inactivity
    {4081, "utc"},  // MySQL: global memory limit of connections exceeded
    {4082, "utc"},  // MySQL: memory limit of the connection exceeded
    {4094, "t"},    // group replication: a new primary is being set
    {4311, "tc"},   // group replication: connection handed over
    {4312, "tc"},   // MySQL: offline mode, with its reason
    {4313, "tc"},   // MySQL: offline mode, with the user who set it
    {5013, "utc"},  // MariaDB's client: read error
    {5014, "utc"},  // MariaDB's client: write error
    {9001, "tc"},   // ProxySQL: no server could be reached
});

/// Errors that may come after the statement was executed: those without a meaning, and those of proxies.
bool says_nothing(unsigned code) noexcept {
  constexpr unsigned unknown_error = 1105, internal_error = 1815, first_of_proxies = 9000;
  return code == unknown_error || code == internal_error || code >= first_of_proxies;
}

}  // namespace

mysql_error_class classify_mysql_error(unsigned code) noexcept {
  mysql_error_class result;
  result.code = code;
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& line) { return line.code == code; });
  if (found == table.end()) {
    const bool of_client = code == 0 || (code >= 2000 && code < 3000) || (code >= 5000 && code < 6000);
    result.connection = of_client || says_nothing(code);
    result.certainly_not_done = !result.connection;
    return result;
  }
  const std::string_view flags = found->flags;
  const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
  result.certainly_not_done = !has('u');
  result.transient = has('t');
  result.connection = has('c');
  result.contended = has('b');
  result.tells_values = has('v');
  return result;
}

bool goes_as_text(unsigned code) noexcept {
  constexpr unsigned none_left = 1461, not_this_one = 1295;
  return code == none_left || code == not_this_one;
}

bool tls_may_succeed_later(std::string_view text) noexcept {
  // MariaDB's library returns OpenSSL's text, or the system's with its number: 11 is what is left in errno when the
  // peer has closed the connection. MySQL's returns OpenSSL's, where "lib(0)" means that OpenSSL itself found no error.
  constexpr auto network =
      std::to_array<std::string_view>({"unexpected eof", "lib(0)", "(11)", "(32)", "(101)", "(103)", "(104)", "(110)",
                                       "(113)", "reset by peer", "timed out"});
  return std::any_of(network.begin(), network.end(),
                     [&](std::string_view each) { return text.find(each) != std::string_view::npos; });
}

fault make_mysql_fault(unsigned code, std::string_view sqlstate, std::string_view text, std::string_view doing) {
  const auto kind = classify_mysql_error(code);
  fault why;
  why.native = static_cast<int>(code);
  sqlstate.substr(0, sizeof why.sqlstate - 1).copy(why.sqlstate, sizeof why.sqlstate - 1);
  why.transient = kind.transient;
  why.connection = kind.connection;
  why.contended = kind.contended;
  why.text =
      fmt::format("{}: {} ({})", doing, kind.tells_values ? std::string_view("the data was refused") : text, code);
  return why;
}

void add_reason(std::string& to, const std::string& store, std::string_view text) {
  const auto known = "dlock: " + store + ": ";
  if (!to.empty() && text.starts_with(known)) text.remove_prefix(known.size());
  to.append(to.empty() ? "" : "; ").append(text);
}

fault make_own_fault(std::string text, bool transient, bool connection) {
  fault why;
  why.transient = transient;
  why.connection = connection;
  why.text = std::move(text);
  return why;
}

outcome outcome_of_mysql_error(unsigned code) noexcept {
  return classify_mysql_error(code).certainly_not_done ? outcome::failed : outcome::unknown;
}

}  // namespace dlock::stores::mysql
