// SPDX-License-Identifier: BSL-1.0

/// What a zookeeper:// URL may say.

#include "dlock/store_interface/store.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "stores/zookeeper/client/handle.hpp"
#include "support/test.hpp"

namespace dlock::test {

using stores::zookeeper::zookeeper_settings;

TEST_CASE("zookeeper url: what is wrong is named with its value") {
  const auto refused = [](const std::string& url, const std::string& why) {
    CHECK_THROWS_MATCHES(open_store(url), std::invalid_argument, MessageMatches(ContainsSubstring(why)));
  };
  refused("zookeeper:///", "there is no host");
  refused("zookeeper://a,,b/", "a host has no name");
  refused("zookeeper://a/x//y", "path=/x//y is not a path");
  refused("zookeeper://a/x/../y", "path=/x/../y is not a path");
  refused("zookeeper://a/zookeeper/x", "/zookeeper belongs to the server");
  refused("zookeeper://a/?base=locks", "base=locks does not begin with '/'");
  refused("zookeeper://a/?base=/%01", "is not a path of printable ASCII names");
  refused("zookeeper://a/?base=/" + std::string(300, 'x'), "more than 200");
  refused("zookeeper://a/?names=redis", "names=redis is not curator, curator-readwrite, curator-semaphore or kazoo");
  refused("zookeeper://a/?connect_timeout=0", "connect_timeout=0 is not 1 to 3600000");
  refused("zookeeper://a/?statement_timeout=5s", "statement_timeout=5s");
  refused("zookeeper://a/?tls=verify", "unknown parameter 'tls'");
  refused("zookeeper://me@a/", "a user and a password need each other");
}

TEST_CASE("zookeeper url: hosts, paths and defaults are those that other clients use") {
  const auto plain = zookeeper_settings::parse(store_url::parse("zookeeper://a,b:2182,[::1]"));
  CHECK(plain.servers == std::vector<std::string>{"a:2181", "b:2182", "[::1]:2181"});
  CHECK(plain.base == "/dlock");
  CHECK(zookeeper_settings::parse(store_url::parse("zookeeper://a/app/")).base == "/app/dlock");
  CHECK(zookeeper_settings::parse(store_url::parse("zookeeper://a/app?base=/locks/")).base == "/app/locks");
  CHECK(zookeeper_settings::parse(store_url::parse("zookeeper://a/?base=/")).base.empty());
  CHECK(zookeeper_settings::parse(store_url::parse("zookeeper://a:2182?base=/locks")).base == "/locks");
}

TEST_CASE("zookeeper url: a store's name shows no password", "[T71]") {
  const auto name = open_store("zookeeper://me:sesame@host:7000,other/app?names=kazoo")->name();
  CHECK(name.find("sesame") == std::string::npos);
  CHECK_THAT(name, ContainsSubstring("zookeeper://me:***@host:7000,other/app"));
}

}  // namespace dlock::test
