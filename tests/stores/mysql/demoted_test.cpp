// SPDX-License-Identifier: BSL-1.0

/// A primary that steps down by read_only while a user has locks there who may write all the same; and statements that
/// are too large for the server.

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

/// The lock tables of a place, by root, who may write in spite of read_only.
struct root_fixture final : url_fixture {
  explicit root_fixture(const mysql_fixture& tables)
      : url_fixture("mysql://root@/locks?socket=" + mysql_setting("DLOCK_TEST_MYSQL_ROOT_SOCKET") +
                    "&prefix=" + tables.prefix()) {}
};

}  // namespace

TEST_CASE("mysql demoted: a server that steps down renews no session and grants no key, whoever asks") {
  mysql_store_fixture fixture;
  root_fixture by_root(fixture.tables);
  actor a(by_root);
  a.release("one", a.acquire("one"));
  REQUIRE(a.renew(1h) == outcome::yes);
  {
    const global_setting demoted("read_only", "1");
    SECTION("renewal") {
      fault why;
      const auto said = a.store->session(*a.connection, session_verb::renew, {.id = a.id, .ttl = 1h});
      CHECK(said.result == outcome::failed);
      CHECK(said.why.native == 1290);
      CHECK_FALSE(a.connection->usable());
    }
    SECTION("take") {
      CHECK(a.take("one").result == outcome::no);
      const auto again =
          a.run({.action = verb::take, .resource = "one", .session = a.id, .nonce = 1ULL << 40U, .polled = true});
      CHECK(again.result == outcome::failed);
      CHECK(again.why.native == 1290);
    }
  }
  actor b(by_root);
  CHECK(answer(b.take("one")) == outcome::yes);
}

TEST_CASE("mysql large: releases that are too large for one statement are done one by one") {
  mysql_store_fixture fixture;
  std::vector<std::string> keys;
  for (int i = 0; i != 64; ++i) keys.push_back(std::to_string(100 + i) + std::string(252, 'k'));
  const global_setting small("max_allowed_packet", "16384");
  actor a(fixture);
  std::vector<request> asked;
  for (const auto& key : keys) {
    asked.push_back({.action = verb::release, .resource = key, .session = a.id, .fence = a.acquire(key)});
  }
  const auto replies = a.run(asked);
  for (const auto& each : replies) CHECK(answer(each) == outcome::yes);
}

}  // namespace dlock::test
