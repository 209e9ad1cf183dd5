// SPDX-License-Identifier: BSL-1.0
// What decides about locks that are bound to a connection: their names, and which server will do.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "dlock/detail/sha256.hpp"
#include "stores/mysql/bound/single_primary_check.hpp"
#include "stores/mysql/named_lock/lock_connection.hpp"

using Catch::Matchers::ContainsSubstring;
using dlock::stores::mysql::is_no_primary;
using dlock::stores::mysql::refusal;
using dlock::stores::mysql::server_facts;
using dlock::stores::mysql::silence_for;
using dlock::stores::mysql::named_lock::lock_name;
using namespace std::chrono_literals;

TEST_CASE("named_lock names: a key that both servers take for itself is its own name", "[unit][T66]") {
  CHECK(lock_name("shop:", "order:17") == "shop:order:17");
  CHECK(lock_name("", "a") == "a");
  CHECK(lock_name("shop:", " a~") == "shop: a~");
  CHECK(lock_name("", std::string(64, 'x')) == std::string(64, 'x'));
}

TEST_CASE("named_lock names: what a server cuts, folds or refuses is named by its hash", "[unit][T56][T66]") {
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

TEST_CASE("bound locks: a server with others beside it, and one behind a proxy, are refused", "[unit][T64]") {
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

TEST_CASE("bound locks: a server that takes no writes is no primary any more", "[unit][T59]") {
  CHECK_FALSE(is_no_primary({{"0", "0"}}));
  CHECK_FALSE(is_no_primary({{"OFF", "OFF"}}));
  CHECK_FALSE(is_no_primary({{std::nullopt, "0"}}));
  CHECK(is_no_primary({{"1", "0"}}));
  CHECK(is_no_primary({{"0", "1"}}));
  CHECK(is_no_primary({{"NO_LOCK_NO_ADMIN", "0"}}));
}

TEST_CASE("bound locks: the server keeps a silent connection for no less than the ttl", "[unit]") {
  CHECK(silence_for(1ms) == 1);
  CHECK(silence_for(1s) == 1);
  CHECK(silence_for(1001ms) == 2);
  CHECK(silence_for(30s) == 30);
  CHECK(silence_for(std::chrono::hours{24 * 400}) == 31'536'000);
}
