// SPDX-License-Identifier: GPL-2.0-or-later

/// A row that somebody's transaction has locked, in a batch.

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "contract/backends/mysql/places.hpp"
#include "stores/mysql/long_lock_wait.hpp"

namespace dlock::test {

namespace {

constexpr std::size_t many = 16, locked = 7;

/// Sixteen keys, and a stranger who can lock the row of one.
struct batch_scene {
  batch_scene() {
    for (std::size_t i = 0; i != many; ++i) {
      keys.push_back("k" + std::string(i < 10 ? "0" : "") + std::to_string(i));
      REQUIRE(answer(a.release(keys[i], a.acquire(keys[i]))) == outcome::yes);
    }
  }

  void lock_one() {
    stranger.run("BEGIN");
    stranger.run("SELECT fence FROM " + place.tables.table("lock") + " WHERE lock_key='" + keys[locked] +
                 "' FOR UPDATE");
  }

  /// Sends one batch, and sees that nobody waited for the row that is locked. Nonces are 1000 and more.
  std::vector<reply> at_once(verb action, std::uint64_t fence) {
    std::vector<request> requests;
    for (std::size_t i = 0; i != many; ++i) {
      requests.push_back(
          {.action = action, .resource = keys[i], .session = a.id, .nonce = 1000 + i, .fence = fence, .ttl = 0us});
    }
    std::vector<reply> replies(many);
    wait_long_for_locks(*a.connection);
    const auto began = std::chrono::steady_clock::now();
    a.store->execute(*a.connection, requests, replies);
    CHECK(std::chrono::steady_clock::now() - began < 4s);
    unsigned statements = 0;
    for (const auto& each : replies) statements += each.statements;
    CHECK(statements <= 3);
    return replies;
  }

  /// All were done but the locked one, which counts as busy.
  void check(const std::vector<reply>& replies) {
    for (std::size_t i = 0; i != many; ++i) {
      INFO("key " << i << ": " << replies[i].why.text);
      CHECK(replies[i].result == (i == locked ? outcome::failed : outcome::yes));
      CHECK(replies[i].why.contended == (i == locked));
      CHECK_FALSE(replies[i].why.connection);
    }
  }

  mysql_store_place place;
  actor a{place};
  raw_mysql stranger{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  std::vector<std::string> keys{};
};

}  // namespace

TEST_CASE("mysql batch: takes beside a row that a stranger's transaction has locked are answered at once", "[mysql]") {
  batch_scene s;
  s.lock_one();
  const auto told = s.at_once(verb::take, 0);
  s.check(told);
  for (std::size_t i = 0; i != many; ++i) CHECK(told[i].fence == (i == locked ? 0u : 2u));
  s.stranger.run("ROLLBACK");
  CHECK_FALSE(s.a.at(s.keys[locked]).holder);
  CHECK(s.a.at(s.keys[locked]).fence == 1);
}

TEST_CASE("mysql batch: a stranger's lock on a held row makes a batch of takes no less exact", "[mysql]") {
  batch_scene s;
  actor b(s.place);
  b.acquire(s.keys[locked]);
  b.acquire(s.keys[3]);
  s.lock_one();
  const auto told = s.at_once(verb::take, 0);
  for (std::size_t i = 0; i != many; ++i) {
    if (i == locked || i == 3) {
      CHECK(told[i].result != outcome::yes);
      CHECK(told[i].result != outcome::unknown);
    } else {
      CHECK(told[i].result == outcome::yes);
    }
  }
  s.stranger.run("ROLLBACK");
  CHECK(s.a.at(s.keys[locked]).holder == b.id);
}

TEST_CASE("mysql batch: releases and cancels beside a locked row are done at once, and that one is not told to be free",
          "[mysql]") {
  for (const verb action : {verb::release, verb::cancel}) {
    batch_scene s;
    for (const auto& each : s.at_once(verb::take, 0)) REQUIRE(each.result == outcome::yes);
    s.lock_one();
    s.check(s.at_once(action, 2));
    for (std::size_t i = 0; i != many; ++i) CHECK(s.a.at(s.keys[i]).holder == (i == locked ? s.a.id : id128{}));
    s.stranger.run("ROLLBACK");
    CHECK(answer(s.a.release(s.keys[locked], 2)) == outcome::yes);
  }
}

}  // namespace dlock::test
