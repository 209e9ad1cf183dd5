// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/tables.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "support/calls.hpp"

using dlock::store_url;
using dlock::stores::mysql::tls_mode;
using dlock::stores::mysql::lease_table::lease_settings;
using dlock::stores::sql::schema_mode;
using namespace std::chrono_literals;

namespace {

lease_settings parsed(const std::string& url) { return lease_settings::parse(store_url::parse(url)); }

/// What is said about a URL that can't work.
std::string complaint(const std::string& url) {
  return dlock::test::refusal([&] { return parsed(url); });
}

}  // namespace

TEST_CASE("mysql settings: a plain URL gets the documented defaults", "[unit]") {
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

TEST_CASE("mysql settings: every parameter has its effect", "[unit]") {
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

TEST_CASE("mysql settings: a socket takes the place of a host and needs no TLS", "[unit]") {
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

TEST_CASE("mysql settings: what can't work names the parameter and its value", "[unit]") {
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

TEST_CASE("mysql settings: the password is in no text", "[unit]") {
  CHECK(parsed("mysql://u:s3cret@h/d").name.find("s3cret") == std::string::npos);
  CHECK(complaint("mysql://u:s3cret@h/d?tls=on").find("s3cret") == std::string::npos);
  CHECK(complaint("mysql://u:s3cret@h/d?typo=1").find("s3cret") == std::string::npos);
}
