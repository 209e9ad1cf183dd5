// SPDX-License-Identifier: BSL-1.0
#include "dlock/store_interface/store_url.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"

namespace {

using dlock::open_store;
using dlock::store_url;
using dlock::test::refusal;

std::string complaint(const std::string& url) {
  return refusal([&] { return store_url::parse(url); });
}

}  // namespace

TEST_CASE("store_url: all its parts", "[store_url]") {
  const auto u = store_url::parse("mysql://me:pw@db1:3307,db2/locks?schema=verify&prefix=x_");
  CHECK(u.scheme == "mysql");
  CHECK(u.user == "me");
  CHECK(u.password == "pw");
  REQUIRE(u.hosts.size() == 2);
  CHECK(u.hosts[0].host == "db1");
  CHECK(u.hosts[0].port == 3307);
  CHECK(u.hosts[1].host == "db2");
  CHECK(u.hosts[1].port == 0);
  CHECK(u.path == "locks");
  CHECK(u.params == std::map<std::string, std::string>{{"schema", "verify"}, {"prefix", "x_"}});
}

TEST_CASE("store_url: without hosts the path is as written", "[store_url]") {
  CHECK(store_url::parse("sqlite:a/b.db").path == "a/b.db");
  CHECK(store_url::parse("sqlite:/a/b.db?schema=none").path == "/a/b.db");
  CHECK(store_url::parse("memory:").path.empty());
  CHECK(store_url::parse("sqlite:a%20b").path == "a b");
}

TEST_CASE("store_url: a file's path keeps its slash, and may hold an '@'", "[store_url]") {
  CHECK(store_url::parse("sqlite:///var/a.db").path == "/var/a.db");
  CHECK(store_url::parse("sqlite:///var/a.db").redacted() == "sqlite:/var/a.db");
  CHECK(store_url::parse("sqlite:///a%20b?schema=none").path == "/a b");
  CHECK(store_url::parse("sqlite:///var/app@1/a.db").path == "/var/app@1/a.db");
  CHECK(store_url::parse("mysql://u@/d").path == "d");
  CHECK(store_url::parse("mysql:///d").path == "d");
  CHECK(store_url::parse("mysql://h/d").path == "d");
  CHECK(store_url::parse("sqlite://").path.empty());
}

TEST_CASE("store_url: an IPv6 host and its port", "[store_url]") {
  const auto u = store_url::parse("mysql://[::1]:3306,[fe80::2]/d");
  REQUIRE(u.hosts.size() == 2);
  CHECK(u.hosts[0].host == "::1");
  CHECK(u.hosts[0].port == 3306);
  CHECK(u.hosts[1].host == "fe80::2");
}

TEST_CASE("store_url: a password may hold what separates elsewhere", "[store_url]") {
  CHECK(store_url::parse("mysql://u:p%40%3A%2F%3F@h/d").password == "p@:/?");
  CHECK(store_url::parse("mysql://u:p@q@h/d").password == "p@q");
  CHECK(store_url::parse("mysql://u:p/q@h/d").password == "p/q");
  CHECK(store_url::parse("mysql://u:p/q@h/d").path == "d");
}

TEST_CASE("store_url: what is wrong is said", "[store_url]") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "no scheme"},
      {"locks.db", "no scheme"},
      {":x", "no scheme"},
      {"./locks.db", "sqlite:./locks.db"},
      {"locks.db", "sqlite:locks.db"},
      {"1x:y", "no scheme"},
      {"mysql:h/d", "two slashes"},
      {"mysql://h:0/d", "a port is not 1 to 65535"},
      {"mysql://h:65536/d", "a port is not 1 to 65535"},
      {"mysql://h:33x/d", "a port is not 1 to 65535"},
      {"mysql://u/p@h/d", "%2F"},
      {"mysql://u@v@h/d", "%40"},
      {"mysql://u:p?x@h/d", "%3F"},
      {"mysql://u:p@h?tls=off", "%3F"},
      {"mysql://u@h/d?tls_ca=a@b", "%40"},
      {"mysql://u:p@h#/d", "host"},
      {"mysql://u:p@h=1,h2/d", "host"},
      {"mysql://[::1/d", "without ']'"},
      {"mysql://[::1]x/d", "may follow ']'"},
      {"mysql://h/d?x", "no '='"},
      {"mysql://h/d?=x", "no name"},
      {"mysql://u@h/d?a=1&a=2", "'a' is given twice"},
      {"mysql://h/d%zz", "%-escape"},
      {"mysql://h/d%4", "%-escape"},
  };
  for (const auto& [url, text] : table) {
    INFO(url);
    CHECK(complaint(url).find(text) != std::string::npos);
  }
}

TEST_CASE("store_url: no text shows the password", "[store_url]") {
  const auto shown = store_url::parse("mysql://me:geheim@h:3306/d?tls_key_password=geheim&prefix=p").redacted();
  CHECK(shown == "mysql://me:***@h:3306/d?prefix=p&tls_key_password=***");
  CHECK(store_url::parse("sqlite:a.db?schema=none").redacted() == "sqlite:a.db?schema=none");
  for (const auto* bad : {"mysql://u:geheim@h:xx/d", "mysql://u:geheim%zz@h/d", "nowhere://u:geheim@h/d"}) {
    const auto text = refusal([&] { return open_store(bad); });
    CHECK_FALSE(text.empty());
    CHECK(text.find("geheim") == std::string::npos);
  }
}

TEST_CASE("store_url: shown again, its parts are where they were", "[store_url]") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"mysql://u:p@h/d", "mysql://u:***@h/d"},
      {"mysql://:p@h/d", "mysql://:***@h/d"},
      {"mysql://u@h/d", "mysql://u@h/d"},
      {"mysql://h/d", "mysql://h/d"},
      {"mysql://u:p@[::1]:3307,[fe80::2],h:1/d", "mysql://u:***@[::1]:3307,[fe80::2],h:1/d"},
      {"mariadb://u:p@h/d?prefix=x_", "mysql://u:***@h/d?prefix=x_"},
      {"mysql://u:p@/d?socket=/s", "mysql://u:***@/d?socket=/s"},
      {"sqlite:/a@b/c.db", "sqlite:/a@b/c.db"},
  };
  for (const auto& [url, text] : table) CHECK(store_url::parse(url).redacted() == text);
}

namespace {

/// Everything that can be read about a URL: what is wrong with it, or what it looks like.
std::string text_of(const std::string& url) {
  std::string text;
  try {
    const auto parsed = store_url::parse(url);
    text = parsed.redacted();
    parsed.expect_no_more_params();
    static_cast<void>(open_store(url));
  } catch (const std::invalid_argument& e) {
    text += e.what();
  }
  return text;
}

}  // namespace

// Whatever of it stands in the place of something else: the mark is in each piece that a separator could cut off.
TEST_CASE("store_url: no text shows any piece of a password, whatever is in it or forgotten behind it", "[store_url]") {
  const std::string mark = "gEhEim";
  const std::vector<std::string> between{"",  ":", "/", "?",  "@",  "#",  "&",   "=",   "%",   "[",  "]", ",", "//",
                                         "+", " ", ".", "?=", "?a", "=@", "%zz", "%40", "://", "\n", "1", ";"};
  const std::vector<std::string> forms{"mysql://app:{}@db/locks",
                                       "mysql://app:{}@db:3306/locks?tls=off",
                                       "mysql://:{}@db/locks",
                                       "mysql://app:{}@/locks?x=1",
                                       "mysql://app:{}@[::1]/locks",
                                       "mysql://app:{}@db1,db2/locks",
                                       "mysql://app:{}",
                                       "mysql://app:{}/locks",
                                       "mysql://app:{}/locks?schema=none",
                                       "mysql://app:{}@",
                                       "mysql://app:{}@db",
                                       "mysql://app:{}@db?schema=none",
                                       "mysql:app:{}@db/locks",
                                       "mysql:/app:{}@db/locks",
                                       "app:{}@db/locks",
                                       "//app:{}@db/locks",
                                       "mysql//app:{}@db/locks",
                                       "app:{}",
                                       "other://app:{}@db/locks",
                                       "mysql://app:{}@db/locks?a=1&a=2",
                                       "mariadb://app:{}@db:port/locks"};
  std::size_t tried = 0;
  for (const auto& form : forms) {
    for (const auto& first : between) {
      for (const auto& second : between) {
        const auto secret = mark + first + mark + second + mark;
        // With an '@' in it and the host forgotten, its end can't be told from a host.
        const bool has_host = form.find("{}@") != std::string::npos && !form.ends_with("{}@");
        if (!has_host && secret.find('@') != std::string::npos) continue;
        auto url = form;
        url.replace(url.find("{}"), 2, secret);
        const auto text = text_of(url);
        ++tried;
        if (text.find(mark) != std::string::npos) FAIL_CHECK(url << " is shown as " << text);
      }
    }
  }
  CHECK(tried > 10'000);
}

TEST_CASE("store_url: a parameter that nobody takes is an error", "[store_url]") {
  auto u = store_url::parse("memory:x?schema=none&typo=1");
  CHECK(u.take_param("schema") == "none");
  CHECK(u.take_param("absent", "fallback") == "fallback");
  CHECK_THROWS_AS(u.expect_no_more_params(), std::invalid_argument);
  CHECK(u.take_param("typo") == "1");
  CHECK_NOTHROW(u.expect_no_more_params());
  CHECK_THROWS_AS(open_store("memory:x?typo=1"), std::invalid_argument);
}

TEST_CASE("open_store: memory stores are one by name, without one each is new", "[store_url]") {
  CHECK(open_store("memory:unit") == open_store("memory:unit"));
  const auto store = open_store("memory:unit");
  CHECK(store == open_store("memory:unit"));
  CHECK(store != open_store("memory:other"));
  CHECK(open_store("memory:") != open_store("memory:"));
  // A name that is read as a host would give each caller a store of its own.
  for (const char* url : {"memory://unit", "memory://unit/x", "memory://u@/x"}) {
    CHECK_THROWS_AS(open_store(url), std::invalid_argument);
  }
}

TEST_CASE("open_store: an unknown scheme names the stores that are there", "[store_url]") {
  const auto text = refusal([] { return open_store("postgres://h/d"); });
  CHECK(text.find("postgres") != std::string::npos);
  CHECK(text.find("stores for: memory") != std::string::npos);
}

TEST_CASE("register_store: a scheme can be added once", "[store_url]") {
  const auto store = std::make_shared<dlock::stores::memory_store>();
  std::string path;
  const auto maker = [&](store_url u) {
    path = u.path;
    return store;
  };
  REQUIRE(dlock::register_store("unit-test", maker));
  CHECK_FALSE(dlock::register_store("unit-test", maker));
  CHECK_FALSE(dlock::register_store("memory", maker));
  CHECK(open_store("unit-test:here") == store);
  CHECK(path == "here");
}
