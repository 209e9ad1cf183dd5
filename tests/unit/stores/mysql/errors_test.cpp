// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/errors.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

using dlock::fault;
using dlock::outcome;
using dlock::stores::mysql::add_reason;
using dlock::stores::mysql::classify_mysql_error;
using dlock::stores::mysql::make_mysql_fault;
using dlock::stores::mysql::missing_right;
using dlock::stores::mysql::outcome_of_mysql_error;
using dlock::stores::mysql::tls_may_succeed_later;

TEST_CASE("mysql errors: a lock that was not to be had in time counts as busy", "[unit][T53]") {
  for (const unsigned code : {1205u, 3572u, 3058u, 1213u, 1020u, 1689u, 3101u}) {
    INFO(code);
    const auto kind = classify_mysql_error(code);
    CHECK(kind.contended);
    CHECK(kind.transient);
    CHECK(kind.certainly_not_done);
    CHECK_FALSE(kind.connection);
  }
}

TEST_CASE("mysql errors: a statement without an answer has an unknown outcome", "[unit][T60]") {
  // Lost, killed, shut down, in the middle of a commit, or nothing that we know of the client library.
  for (const unsigned code : {2013u, 2055u, 2026u, 2027u, 1927u, 3169u, 1053u, 1158u, 1159u, 1160u, 1161u, 1180u, 1598u,
                              2999u, 5014u, 5123u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::unknown);
  }
  CHECK(classify_mysql_error(2013).connection);
  CHECK(classify_mysql_error(1927).connection);
  // Galera answers that on a connection which lives on.
  CHECK_FALSE(classify_mysql_error(1180).connection);
}

TEST_CASE("mysql errors: what was never sent was certainly not done", "[unit]") {
  for (const unsigned code : {2002u, 2003u, 2005u, 2006u, 1040u, 4031u, 3032u, 3168u, 4312u, 4313u, 9001u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK(classify_mysql_error(code).connection);
    CHECK(classify_mysql_error(code).transient);
  }
}

TEST_CASE("mysql errors: a server that takes no writes ends the connection, so that another host is tried", "[unit]") {
  for (const unsigned code : {1290u, 1792u, 1836u, 1874u, 1047u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK(classify_mysql_error(code).connection);
    CHECK(classify_mysql_error(code).transient);
  }
}

TEST_CASE("mysql errors: an interrupted statement may succeed later", "[unit]") {
  for (const unsigned code : {1317u, 1969u, 3024u, 1412u, 1615u, 1461u, 3797u}) {
    INFO(code);
    CHECK(classify_mysql_error(code).transient);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK_FALSE(classify_mysql_error(code).contended);
  }
}

TEST_CASE("mysql errors: a mistake that stays is not transient", "[unit][T49]") {
  // No table, no column, no privilege, wrong password, too long, NULL, statement binary log, too large, anything new.
  for (const unsigned code : {1146u, 1054u, 1142u, 1045u, 1406u, 1048u, 1665u, 1153u, 4999u, 1999u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK_FALSE(classify_mysql_error(code).transient);
    CHECK_FALSE(classify_mysql_error(code).connection);
  }
}

TEST_CASE("mysql errors: of an error that says nothing, and of one of a proxy, the outcome is unknown", "[unit]") {
  for (const unsigned code : {1105u, 1815u, 9000u, 9999u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::unknown);
    CHECK(classify_mysql_error(code).connection);
  }
}

TEST_CASE("mysql errors: a TLS handshake that the network broke may succeed later, one that was refused does not",
          "[unit]") {
  // As MariaDB's library tells it, and MySQL's.
  for (const char* text :
       {"TLS/SSL error: unexpected eof while reading", "TLS/SSL error: Connection reset by peer (104)",
        "TLS/SSL error: Resource temporarily unavailable (11)", "TLS/SSL error: Die Wartezeit ist abgelaufen (110)",
        "SSL connection error: error:00000005:lib(0)::reason(5)",
        "SSL connection error: error:0A000126:SSL routines::unexpected eof while reading"}) {
    INFO(text);
    CHECK(tls_may_succeed_later(text));
  }
  for (const char* text :
       {"TLS/SSL error: self-signed certificate in certificate chain", "TLS/SSL error: tlsv1 alert protocol version",
        "TLS/SSL error: wrong version number", "TLS/SSL error: SSL is required, but the server does not support it",
        "TLS/SSL error: Validation of SSL server certificate failed",
        "SSL connection error: error:0A000086:SSL routines::certificate verify failed"}) {
    INFO(text);
    CHECK_FALSE(tls_may_succeed_later(text));
  }
}

TEST_CASE("mysql errors: a fault has number, SQLSTATE and text, but no values", "[unit]") {
  const fault plain = make_mysql_fault(1205, "HY000", "Lock wait timeout exceeded", "take");
  CHECK(plain.native == 1205);
  CHECK(std::string(plain.sqlstate) == "HY000");
  CHECK(plain.text == "take: Lock wait timeout exceeded (1205)");
  const fault secret = make_mysql_fault(1062, "23000", "Duplicate entry 'order:42' for key", "insert");
  CHECK(secret.text.find("order:42") == std::string::npos);
  const fault odd = make_mysql_fault(1205, "toolong", "x", "y");
  CHECK(std::string(odd.sqlstate) == "toolo");
}

TEST_CASE("mysql errors: the right that is missing is taken from the server's text", "[unit]") {
  CHECK(missing_right("h:3306: insert: INSERT command denied to user 'a'@'b' for table `d`.`dlock_lock` (1142)") ==
        "INSERT");
  CHECK(missing_right("prepare: SELECT, UPDATE command denied to user 'a'@'b'") == "SELECT, UPDATE");
  CHECK(missing_right("x: SELECT with locking clause command denied to user 'a'@'b' for table 'f'") == "UPDATE");
  CHECK(missing_right("Access denied for user 'a'@'b' to database 'd'").empty());
}

TEST_CASE("mysql errors: failures of several hosts name their store once", "[unit]") {
  std::string all;
  add_reason(all, "mysql://a,b/d", "dlock: mysql://a,b/d: connecting to a:3306: no");
  add_reason(all, "mysql://a,b/d", "dlock: mysql://a,b/d: connecting to b:3306: no");
  add_reason(all, "mysql://a,b/d", "out of memory");
  CHECK(all == "dlock: mysql://a,b/d: connecting to a:3306: no; connecting to b:3306: no; out of memory");
}
