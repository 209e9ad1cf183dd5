// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/lease_table/settings.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <string>

using dlock::store_url;
using dlock::stores::mysql::tls_mode;
using dlock::stores::mysql::lease_table::lease_settings;
using dlock::stores::sql::schema_mode;
using namespace std::chrono_literals;

namespace {

lease_settings parsed(const std::string& url) { return lease_settings::parse(store_url::parse(url)); }

/// What is said about a URL that can't work.
std::string complaint(const std::string& url) {
  try {
    parsed(url);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("mysql settings: a plain URL gets the documented defaults", "[unit]") {
  const auto made = parsed("mysql://ann:s3cret@db1/locks");
  CHECK(made.user == "ann");
  CHECK(made.password == "s3cret");
  REQUIRE(made.hosts.size() == 1);
  CHECK(made.hosts[0].host == "db1");
  CHECK(made.hosts[0].port == 3306);
  CHECK(made.database == "locks");
  CHECK(made.tls == tls_mode::prefer);
  CHECK(made.schema == schema_mode::create);
  CHECK(made.prefix == "dlock_");
  CHECK(made.connect_timeout == 5s);
  CHECK(made.statement_timeout == 5s);
}

TEST_CASE("mysql settings: every parameter has its effect", "[unit]") {
  const auto made = parsed(
      "mysql://u:p@a:3307,b/d?tls=verify&tls_ca=/ca&tls_cert=/c&tls_key=/k&schema=none&prefix=x_&connect_timeout=250"
      "&statement_timeout=1500");
  REQUIRE(made.hosts.size() == 2);
  CHECK(made.where(made.hosts[0]) == "a:3307");
  CHECK(made.where(made.hosts[1]) == "b:3306");
  CHECK(made.tls == tls_mode::verify);
  CHECK(made.tls_ca == "/ca");
  CHECK(made.tls_cert == "/c");
  CHECK(made.tls_key == "/k");
  CHECK(made.schema == schema_mode::none);
  CHECK(made.prefix == "x_");
  CHECK(made.connect_timeout == 250ms);
  CHECK(made.statement_timeout == 1500ms);
}

TEST_CASE("mysql settings: a socket takes the place of a host and needs no TLS", "[unit]") {
  const auto made = parsed("mysql://u@/d?socket=/run/s");
  CHECK(made.socket == "/run/s");
  CHECK(parsed("mysql:///d?socket=/run/s").database == "d");
  CHECK(made.database == "d");
  REQUIRE(made.hosts.size() == 1);
  CHECK(made.hosts[0].host.empty());
  CHECK(made.tls == tls_mode::off);
  CHECK(made.where(made.hosts[0]) == "/run/s");
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
