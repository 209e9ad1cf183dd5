// SPDX-License-Identifier: BSL-1.0
// The public header comes before all others: what it declares must hide nothing that the internal ones name.
#include "dlock/stores/mysql.hpp"
//

#include "dlock/detail/sha256.hpp"
#include "stores/mysql/bound/lock_holding_connection.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/settings.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/mysql/named_lock/lock_connection.hpp"
#include "stores/sql/deadlock_cycles.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::stores::mysql;
using namespace dlock::stores::sql;
using namespace dlock;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using dlock::stores::mysql::named_lock::lock_name;
using order = std::vector<std::size_t>;

TEST_CASE("mysql errors: a lock that was not to be had in time counts as busy", "[T53]") {
  for (const unsigned code : {1205u, 3572u, 3058u, 1213u, 1020u, 1689u, 3101u}) {
    INFO(code);
    const auto kind = classify_mysql_error(code);
    CHECK(kind.contended);
    CHECK(kind.transient);
    CHECK(kind.certainly_not_done);
    CHECK_FALSE(kind.connection);
  }
}

TEST_CASE("mysql errors: a statement without an answer has an unknown outcome", "[T60]") {
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

TEST_CASE("mysql errors: what was never sent was certainly not done") {
  for (const unsigned code : {2002u, 2003u, 2005u, 2006u, 1040u, 4031u, 3032u, 3168u, 4312u, 4313u, 9001u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK(classify_mysql_error(code).connection);
    CHECK(classify_mysql_error(code).transient);
  }
}

TEST_CASE("mysql errors: a server that takes no writes ends the connection, so that another host is tried") {
  for (const unsigned code : {1290u, 1792u, 1836u, 1874u, 1047u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK(classify_mysql_error(code).connection);
    CHECK(classify_mysql_error(code).transient);
  }
}

TEST_CASE("mysql errors: an interrupted statement may succeed later") {
  for (const unsigned code : {1317u, 1969u, 3024u, 1412u, 1615u, 1461u, 3797u}) {
    INFO(code);
    CHECK(classify_mysql_error(code).transient);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK_FALSE(classify_mysql_error(code).contended);
  }
}

TEST_CASE("mysql errors: a mistake that stays is not transient", "[T49]") {
  // No table, no column, no privilege, wrong password, too long, NULL, statement binary log, too large, anything new.
  for (const unsigned code : {1146u, 1054u, 1142u, 1045u, 1406u, 1048u, 1665u, 1153u, 4999u, 1999u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::failed);
    CHECK_FALSE(classify_mysql_error(code).transient);
    CHECK_FALSE(classify_mysql_error(code).connection);
  }
}

TEST_CASE("mysql errors: of an error that says nothing, and of one of a proxy, the outcome is unknown") {
  for (const unsigned code : {1105u, 1815u, 9000u, 9999u}) {
    INFO(code);
    CHECK(outcome_of_mysql_error(code) == outcome::unknown);
    CHECK(classify_mysql_error(code).connection);
  }
}

TEST_CASE("mysql errors: a TLS handshake that the network broke may succeed later, one that was refused does not") {
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

TEST_CASE("mysql errors: a fault has number, SQLSTATE and text, but no values") {
  const fault plain = make_mysql_fault(1205, "HY000", "Lock wait timeout exceeded", "take");
  CHECK(plain.native == 1205);
  CHECK(std::string(plain.sqlstate) == "HY000");
  CHECK(plain.text == "take: Lock wait timeout exceeded (1205)");
  const fault secret = make_mysql_fault(1062, "23000", "Duplicate entry 'order:42' for key", "insert");
  CHECK(secret.text.find("order:42") == std::string::npos);
  const fault odd = make_mysql_fault(1205, "toolong", "x", "y");
  CHECK(std::string(odd.sqlstate) == "toolo");
}

TEST_CASE("mysql errors: failures of several hosts name their store once") {
  std::string all;
  add_reason(all, "mysql://a,b/d", "dlock: mysql://a,b/d: connecting to a:3306: no");
  add_reason(all, "mysql://a,b/d", "dlock: mysql://a,b/d: connecting to b:3306: no");
  add_reason(all, "mysql://a,b/d", "out of memory");
  CHECK(all == "dlock: mysql://a,b/d: connecting to a:3306: no; connecting to b:3306: no; out of memory");
}

namespace {

const mysql_hosts::clock::time_point begin{std::chrono::hours{1}};

}  // namespace

TEST_CASE("mysql hosts: tried as the URL has them, the one that worked last first") {
  mysql_hosts hosts(4, 5s);
  CHECK(hosts.order(begin) == order{0, 1, 2, 3});
  hosts.succeeded(2, 1ms);
  CHECK(hosts.order(begin) == order{2, 0, 1, 3});
  hosts.succeeded(1, 1ms);
  CHECK(hosts.order(begin) == order{1, 0, 2, 3});
}

TEST_CASE("mysql hosts: those that failed lately come last, what costs time after what fails at once") {
  mysql_hosts hosts(4, 5s);
  hosts.succeeded(0, 1ms);
  hosts.failed(0, begin, 1s);
  hosts.failed(1, begin + 1ms, 0us);
  CHECK(hosts.order(begin + 1s) == order{2, 3, 1, 0});
  hosts.failed(3, begin + 2ms, 0us);
  CHECK(hosts.order(begin + 1s) == order{2, 1, 3, 0});
  hosts.succeeded(3, 1ms);
  CHECK(hosts.order(begin + 1s) == order{3, 2, 1, 0});
  CHECK(hosts.order(begin + 1min) == order{3, 0, 2, 1});  // that of the first is a minute old
  CHECK(hosts.order(begin + 2min) == order{3, 0, 1, 2});
}

TEST_CASE("mysql hosts: of those that were too slow, the one that had least time gets most the next time") {
  mysql_hosts hosts(2, 5s);
  hosts.failed(0, begin, hosts.share(0, 1, 2s));
  hosts.failed(1, begin + 6s, hosts.share(1, 0, 1s));
  CHECK(hosts.order(begin + 7s) == order{1, 0});
  CHECK(hosts.share(0, 0, 1s) == 5s);
}

TEST_CASE("mysql hosts: each gets an equal share of what is left, the last one all that a host can get") {
  mysql_hosts hosts(3, 5s);
  CHECK(hosts.share(0, 2, 900ms) == 300ms);
  CHECK(hosts.share(1, 1, 600ms) == 300ms);
  CHECK(hosts.share(2, 0, 300ms) == 5s);
  CHECK(hosts.share(0, 2, 30s) == 1s);
  CHECK(hosts.share(0, 2, 90ms) == 100ms);
  CHECK(hosts.share(0, 2, 0us) == 100ms);
}

TEST_CASE("mysql hosts: a slow one gets twice the time that its last connection took") {
  mysql_hosts hosts(2, 5s);
  hosts.succeeded(0, 700ms);
  CHECK(hosts.share(0, 1, 200ms) == 1400ms);
  CHECK(hosts.share(0, 1, 10s) == 1400ms);
  CHECK(hosts.share(1, 1, 200ms) == 100ms);
  hosts.succeeded(0, 4s);
  CHECK(hosts.share(0, 1, 200ms) == 5s);
}

TEST_CASE("mysql hosts: a server that refuses is told once for all that found it out") {
  mysql_hosts hosts(2, 5s);
  hosts.succeeded(0, 1ms);
  CHECK(hosts.refusals(0) == 0);
  hosts.refuses(0, 0, begin);
  CHECK(hosts.refusals(0) == 1);
  CHECK(hosts.order(begin) == order{1, 0});
  hosts.succeeded(0, 1ms);  // it is back
  hosts.refuses(0, 0, begin);
  CHECK(hosts.refusals(0) == 1);
  CHECK(hosts.order(begin) == order{0, 1});
  hosts.refuses(0, 1, begin);
  CHECK(hosts.refusals(0) == 2);
  CHECK(hosts.refusals(1) == 0);
}

TEST_CASE("mysql server: what takes no locks is told by what it says of itself") {
  using row = std::vector<std::optional<std::string>>;
  const auto refusal = [](const char* wsrep, const char* uuid, const char* ready, const char* status, const char* read,
                          const char* innodb, const char* super_read) {
    return dlock::stores::mysql::mysql_refusal(
        row{"7", "node", "1", wsrep, uuid, ready, status, read, innodb, super_read});
  };
  CHECK(refusal("OFF", "", "", "", "0", "0", "0").empty());
  CHECK(refusal("OFF", "", "OFF", "Disconnected", "0", "0", "0").empty());  // a server that is no node
  CHECK(refusal("ON", "uuid", "ON", "Primary", "0", "0", "0").empty());
  CHECK(refusal("ON", "uuid", "OFF", "non-Primary", "0", "0", "0").find("wsrep_ready is OFF") != std::string::npos);
  CHECK(refusal("ON", "uuid", "ON", "non-Primary", "0", "0", "0").find("non-Primary") != std::string::npos);
  CHECK(refusal("ON", "uuid", "OFF", "Primary", "0", "0", "0").find("cluster") != std::string::npos);  // it joins
  CHECK(refusal("OFF", "", "", "", "1", "0", "0").find("read_only is on") == 0);
  CHECK(refusal("OFF", "", "", "", "NO_LOCK", "0", "0").find("read_only is on") == 0);  // MariaDB 11.8
  CHECK(refusal("OFF", "", "", "", "OFF", "1", "0").find("innodb_read_only") == 0);
  CHECK(refusal("OFF", "", "", "", "0", "0", "ON").find("super_read_only") == 0);
  CHECK(dlock::stores::mysql::mysql_refusal(row(10)).empty());
}

namespace {

dlock::stores::mysql::lease_table::lease_settings parsed(const std::string& url) {
  return dlock::stores::mysql::lease_table::lease_settings::parse(store_url::parse(url));
}

/// What is said about a URL that can't work.
std::string complaint(const std::string& url) {
  return dlock::test::refusal([&] { return parsed(url); });
}

}  // namespace

TEST_CASE("mysql settings: a plain URL gets the documented defaults") {
  const auto settings = parsed("mysql://ann:s3cret@db1/locks");
  CHECK(settings.user == "ann");
  CHECK(settings.password == "s3cret");
  REQUIRE(settings.hosts.size() == 1);
  CHECK(settings.hosts[0].host == "db1");
  CHECK(settings.hosts[0].port == 3306);
  CHECK(settings.database == "locks");
  CHECK(settings.tls == tls_mode::prefer);
  CHECK(settings.schema == schema_mode::create);
  CHECK(settings.prefix == "dlock_");
  CHECK(settings.connect_timeout == 5s);
  CHECK(settings.statement_timeout == 5s);
}

TEST_CASE("mysql settings: every parameter has its effect") {
  const auto settings = parsed(
      "mysql://u:p@a:3307,b/d?tls=verify&tls_ca=/ca&tls_cert=/c&tls_key=/k&schema=none&prefix=x_&connect_timeout=250"
      "&statement_timeout=1500");
  REQUIRE(settings.hosts.size() == 2);
  CHECK(settings.where(settings.hosts[0]) == "a:3307");
  CHECK(settings.where(settings.hosts[1]) == "b:3306");
  CHECK(settings.tls == tls_mode::verify);
  CHECK(settings.tls_ca == "/ca");
  CHECK(settings.tls_cert == "/c");
  CHECK(settings.tls_key == "/k");
  CHECK(settings.schema == schema_mode::none);
  CHECK(settings.prefix == "x_");
  CHECK(settings.connect_timeout == 250ms);
  CHECK(settings.statement_timeout == 1500ms);
}

TEST_CASE("mysql settings: a socket takes the place of a host and needs no TLS") {
  const auto settings = parsed("mysql://u@/d?socket=/run/s");
  CHECK(settings.socket == "/run/s");
  CHECK(parsed("mysql:///d?socket=/run/s").database == "d");
  CHECK(settings.database == "d");
  REQUIRE(settings.hosts.size() == 1);
  CHECK(settings.hosts[0].host.empty());
  CHECK(settings.tls == tls_mode::off);
  CHECK(settings.where(settings.hosts[0]) == "/run/s");
  CHECK(parsed("mysql://u@localhost/d?socket=/run/s").hosts.size() == 1);
  CHECK(complaint("mysql://u@db1/d?socket=/run/s").find("exclude each other") != std::string::npos);
}

TEST_CASE("mysql settings: what can't work names the parameter and its value") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(complaint("mysql://u@h/d?tls=on"), ContainsSubstring("tls=on"));
  CHECK_THAT(complaint("mysql://u@h/d?tls=off&tls_ca=/ca"), ContainsSubstring("tls=off"));
  CHECK_THAT(complaint("mysql://u@h/d?tls_cert=/c"), ContainsSubstring("tls_key"));
  CHECK_THAT(complaint("mysql://u@h/d?schema=make"), ContainsSubstring("schema=make"));
  CHECK_THAT(complaint("mysql://u@h/d?prefixx=a"), ContainsSubstring("prefixx"));
  CHECK_THAT(complaint("mysql://u@h/d?connect_timeout=0"), ContainsSubstring("connect_timeout=0"));
  CHECK_THAT(complaint("mysql://u@h/d?connect_timeout=5s"), ContainsSubstring("connect_timeout=5s"));
  CHECK_THAT(complaint("mysql://u@h/d?statement_timeout=3600001"), ContainsSubstring("3600001"));
  CHECK_THAT(complaint("mysql://u@h"), ContainsSubstring("database"));
  CHECK_THAT(complaint("mysql://u@/d"), ContainsSubstring("host"));
}

TEST_CASE("mysql settings: the password is in no text") {
  CHECK(parsed("mysql://u:s3cret@h/d").name.find("s3cret") == std::string::npos);
  CHECK(complaint("mysql://u:s3cret@h/d?tls=on").find("s3cret") == std::string::npos);
  CHECK(complaint("mysql://u:s3cret@h/d?typo=1").find("s3cret") == std::string::npos);
}

// What decides about locks that are bound to a connection: their names, and which server will do.

TEST_CASE("named_lock names: a key that both servers take for itself is its own name", "[T66]") {
  CHECK(lock_name("shop:", "order:17") == "shop:order:17");
  CHECK(lock_name("", "a") == "a");
  CHECK(lock_name("shop:", " a~") == "shop: a~");
  CHECK(lock_name("", std::string(64, 'x')) == std::string(64, 'x'));
}

TEST_CASE("named_lock names: what a server cuts, folds or refuses is named by its hash", "[T56][T66]") {
  const auto hash = [](const std::string& text) { return "#" + dlock::detail::sha256_hex(text).substr(0, 63); };
  for (const std::string key : {"Order", "order ", "\xc3\xa9", "a\tb", "a\x7f", "", "#a"}) {
    INFO(key);
    CHECK(lock_name("", key) == hash(key));
    CHECK(lock_name("", key).size() == 64);
  }
  CHECK(lock_name("", std::string(65, 'x')) == hash(std::string(65, 'x')));
  CHECK(lock_name("shop:", std::string(60, 'x')) == hash("shop:" + std::string(60, 'x')));
  CHECK(lock_name("Shop:", "a") == hash("Shop:a"));
  CHECK(lock_name("", hash("a")) != hash("a"));  // nobody's key is another one's hash
}

TEST_CASE("bound locks: a server with others beside it, and one behind a proxy, are refused", "[T64]") {
  const server_facts good{.version = "10.11.6-MariaDB Debian", .first = "7", .second = "7"};
  CHECK(refusal(good, "named locks").empty());
  const auto with = [&](auto change) {
    auto facts = good;
    change(facts);
    return refusal(facts, "named locks");
  };
  CHECK_THAT(with([](auto& facts) { facts.cluster = true; }),
             ContainsSubstring("Galera") && ContainsSubstring("named locks"));
  CHECK_THAT(with([](auto& facts) { facts.several_primaries = true; }), ContainsSubstring("several primaries"));
  CHECK_THAT(with([](auto& facts) { facts.proxy = true; }), ContainsSubstring("proxy"));
  CHECK_THAT(with([](auto& facts) { facts.second = "8"; }), ContainsSubstring("proxy"));
  CHECK_THAT(with([](auto& facts) { facts.version = "8.0.30 (ProxySQL)"; }), ContainsSubstring("(8.0.30 (ProxySQL))"));
  CHECK_THAT(with([](auto& facts) { facts.version = "5.5.5-10.4 24.02 MaxScale"; }), ContainsSubstring("proxy"));
}

TEST_CASE("bound locks: a server that takes no writes is no primary any more", "[T59]") {
  CHECK_FALSE(is_no_primary({{"0", "0"}}));
  CHECK_FALSE(is_no_primary({{"OFF", "OFF"}}));
  CHECK_FALSE(is_no_primary({{std::nullopt, "0"}}));
  CHECK(is_no_primary({{"1", "0"}}));
  CHECK(is_no_primary({{"0", "1"}}));
  CHECK(is_no_primary({{"NO_LOCK_NO_ADMIN", "0"}}));
}

TEST_CASE("bound locks: the server keeps a silent connection for no less than the ttl") {
  CHECK(silence_for(1ms) == 1);
  CHECK(silence_for(1s) == 1);
  CHECK(silence_for(1001ms) == 2);
  CHECK(silence_for(30s) == 30);
  CHECK(silence_for(std::chrono::hours{24 * 400}) == 31'536'000);
}

namespace {

id128 session_of(unsigned char number) {
  id128 id{};
  id.bytes.fill(number);
  return id;
}

lock_held_meanwhile held(const std::string& key, std::uint64_t fence = 7) {
  return {.key = key, .session = session_of(1), .fence = fence};
}

std::string written(const held_meanwhile& all) { return write_held(all, instant{microseconds{100}}); }

lock_held_meanwhile lock_of_row(const std::string& text, unsigned char session, std::uint64_t nonce) {
  return {.key = text, .session = session_of(session), .fence = 7, .nonce = nonce};
}

nested_waiter waiter(const std::string& process, const std::string& who, const std::string& waits_for,
                     std::uint64_t since, const std::vector<lock_held_meanwhile>& all) {
  return {.process = process, .who = who, .waits_for = waits_for, .since = since, .held = all};
}

std::map<std::string, present_grant> grants_of(const std::vector<std::string>& keys) {
  std::map<std::string, present_grant> grants;
  for (const auto& each : keys) grants[each] = {session_of(1), 7};
  return grants;
}

std::vector<deadlock_cycle> broken_by(const std::vector<nested_waiter>& waiters,
                                      const std::map<std::string, present_grant>& grants, const std::string& process) {
  return find_cycles(waiters, grants, process).to_break;
}

}  // namespace

TEST_CASE("deadlock cycles: held locks are read as they were written") {
  std::vector<lock_held_meanwhile> all{held("a"), held(std::string("\0 :\xff", 4), ~0ULL)};
  all[0].until = instant{microseconds{107}};
  all[1].until = instant::max();
  nested_waiter waiter;
  REQUIRE(read_held("1234" + written({.locks = all}), waiter));
  CHECK(waiter.since == 1234);
  REQUIRE(waiter.held.size() == 2);
  for (std::size_t i = 0; i != all.size(); ++i) {
    CHECK(waiter.held[i].key == all[i].key);
    CHECK(waiter.held[i].session == all[i].session);
    CHECK(waiter.held[i].fence == all[i].fence);
  }
  CHECK(waiter.held[0].until == instant{microseconds{1241}});  // 7 us after it was written
  CHECK(waiter.held[1].until > waiter.held[0].until + 100 * microseconds{std::chrono::years{1}});
  CHECK(waiter.confirmed == 1234);
  CHECK(written({}).empty());
  REQUIRE(read_held("1234+5678" + written({.locks = all}), waiter));
  CHECK(waiter.since == 1234);
  CHECK(waiter.confirmed == 5678);
}

TEST_CASE("deadlock cycles: a row is read as it was written, and so is the grant that its waiter has seen") {
  const auto row = lock_of_row("orders:7", 2, 0xabc);
  nested_waiter waiter;
  REQUIRE(read_held("1234" + written({.locks = {held("a"), row}, .row = {session_of(3), 0xdef}}), waiter));
  CHECK(waiter.row == row_grant{session_of(3), 0xdef});
  REQUIRE(waiter.held.size() == 2);
  CHECK(waiter.held[0].nonce == 0);
  CHECK(waiter.held[1].key == row.key);
  CHECK(waiter.held[1].session == row.session);
  CHECK(waiter.held[1].nonce == row.nonce);
  CHECK(written({.row = {session_of(3), 1}}).empty());
}

TEST_CASE("deadlock cycles: a row is held by the grant that its waiter has seen, and by no other") {
  std::vector<nested_waiter> waiters{waiter("A", "one", "orders:7", 1, {held("a")}),
                                     waiter("B", "two", "a", 2, {lock_of_row("orders:7", 2, 5)})};
  const auto grants = grants_of({"a", "orders:7"});
  CHECK(broken_by(waiters, grants, "B").empty());  // that is the key of the same text
  waiters[0].row = {session_of(2), 5};
  const auto found = broken_by(waiters, grants, "B");
  REQUIRE(found.size() == 1);
  CHECK(found[0].held.nonce == 5);
  waiters[0].row = {session_of(2), 4};
  CHECK(broken_by(waiters, grants, "B").empty());
  waiters[0].row = {session_of(3), 5};
  CHECK(broken_by(waiters, grants, "B").empty());
}

TEST_CASE("deadlock cycles: a malformed text is refused") {
  const auto lock = written({.locks = {held("a")}});
  for (const std::string& text : std::vector<std::string>{
           "", "x", lock, "12+" + lock, "+12" + lock, "12 61", "12 61:01", "12" + lock + "g", "12" + lock + ":g",
           "12=01:1" + lock, "12 0:6" + lock.substr(5), "12 -1" + lock.substr(2)}) {
    nested_waiter waiter;
    CAPTURE(text);
    CHECK_FALSE(read_held(text, waiter));
  }
}

TEST_CASE("deadlock cycles: the wait that ends first breaks it, and no other") {
  std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}), waiter("B", "two", "c", 3, {held("b")}),
                                     waiter("C", "three", "a", 2, {held("c")})};
  const auto grants = grants_of({"a", "b", "c"});
  for (auto& each : waiters) {
    each.confirmed = each.since;
    each.held[0].until = instant{microseconds{100}};
  }
  waiters[0].held[0].until = instant{microseconds{99}};
  // The youngest asks it to look, and it asks the others for their confirmation.
  auto found = find_cycles(waiters, grants, "B");
  CHECK(found.to_break.empty());
  CHECK(found.to_ask == std::set<std::string>{"A"});
  CHECK(found.to_confirm.empty());
  found = find_cycles(waiters, grants, "C");
  CHECK(found.to_break.empty());
  CHECK(found.to_ask.empty());
  CHECK(found.to_confirm == std::map<std::string, std::uint64_t>{{"a", 2}});
  found = find_cycles(waiters, grants, "A");
  CHECK(found.to_break.empty());
  CHECK(found.to_ask == std::set<std::string>{"C"});
  waiters[2].confirmed = 3;
  CHECK(broken_by(waiters, grants, "B").empty());
  CHECK(broken_by(waiters, grants, "C").empty());
  const auto broken = broken_by(waiters, grants, "A");
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].held.key == "a");
  REQUIRE(broken[0].others.size() == 2);
  CHECK(broken[0].others[0].who == "two");
  CHECK(broken[0].others[1].who == "three");
}

TEST_CASE("deadlock cycles: of waits that end together the youngest breaks it, and no other") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}),
                                           waiter("B", "two", "c", 3, {held("x"), held("b")}),
                                           waiter("C", "three", "a", 2, {held("c")})};
  const auto grants = grants_of({"a", "b", "c", "x"});
  CHECK(broken_by(waiters, grants, "A").empty());
  CHECK(broken_by(waiters, grants, "C").empty());
  const auto found = broken_by(waiters, grants, "B");
  REQUIRE(found.size() == 1);
  CHECK(found[0].waits_for == "c");
  CHECK(found[0].held.key == "b");
  REQUIRE(found[0].others.size() == 2);
  CHECK(found[0].others[0].who == "three");
  CHECK(found[0].others[0].waits_for == "a");
  CHECK(found[0].others[1].who == "one");
  CHECK(found[0].others[1].waits_for == "b");
}

TEST_CASE("deadlock cycles: of two waits written in the same microsecond one is the youngest") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 5, {held("a")}),
                                           waiter("B", "two", "a", 5, {held("b")})};
  const auto grants = grants_of({"a", "b"});
  CHECK(broken_by(waiters, grants, "A").size() + broken_by(waiters, grants, "B").size() == 1);
}

TEST_CASE("deadlock cycles: a lock that was released, or has another grant, closes none") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}),
                                           waiter("B", "two", "a", 2, {held("b")})};
  CHECK(broken_by(waiters, grants_of({"a", "b"}), "B").size() == 1);
  CHECK(broken_by(waiters, grants_of({"b"}), "B").empty());
  CHECK(broken_by(waiters, grants_of({"a"}), "B").empty());
  auto grants = grants_of({"a", "b"});
  grants["a"].fence = 8;
  CHECK(broken_by(waiters, grants, "B").empty());
  grants = grants_of({"a", "b"});
  grants["b"].session = session_of(2);
  CHECK(broken_by(waiters, grants, "B").empty());
}

TEST_CASE("deadlock cycles: a process that waits for a cycle without being in it breaks none") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}),
                                           waiter("B", "two", "a", 2, {held("b")}),
                                           waiter("C", "three", "a", 3, {held("c")})};
  const auto grants = grants_of({"a", "b", "c"});
  CHECK(broken_by(waiters, grants, "C").empty());
  CHECK(broken_by(waiters, grants, "B").size() == 1);
}

TEST_CASE("deadlock cycles: one counts once all its waits were confirmed after the youngest began") {
  std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}), waiter("B", "two", "c", 3, {held("b")}),
                                     waiter("C", "three", "a", 2, {held("c")})};
  const auto grants = grants_of({"a", "b", "c"});
  for (auto& each : waiters) each.confirmed = each.since;
  auto found = find_cycles(waiters, grants, "B");
  CHECK(found.to_break.empty());
  CHECK(found.to_ask == std::set<std::string>{"A", "C"});
  found = find_cycles(waiters, grants, "A");
  CHECK(found.to_ask.empty());
  CHECK(found.to_confirm == std::map<std::string, std::uint64_t>{{"b", 1}});
  waiters[0].confirmed = 3;
  CHECK(find_cycles(waiters, grants, "A").to_confirm.empty());
  CHECK(find_cycles(waiters, grants, "B").to_ask == std::set<std::string>{"C"});
  waiters[2].confirmed = 4;
  found = find_cycles(waiters, grants, "B");
  CHECK(found.to_ask.empty());
  CHECK(found.to_break.size() == 1);
}

TEST_CASE("deadlock cycles: a process need not confirm its own other waits") {
  std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}), waiter("B", "two", "c", 3, {held("b")}),
                                     waiter("B", "two", "a", 2, {held("c")})};
  for (auto& each : waiters) each.confirmed = each.since;
  waiters[0].confirmed = 3;
  CHECK(broken_by(waiters, grants_of({"a", "b", "c"}), "B").size() == 1);
}
