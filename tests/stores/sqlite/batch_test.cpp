// SPDX-License-Identifier: BSL-1.0

/// A batch in an SQLite file is its statements one by one, in one transaction.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <string>
#include <vector>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "contract/store/store_contract.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/stores/sqlite.hpp"
#include "stores/sqlite/lock_rows.hpp"
#include "support/raw_sqlite.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

struct part {
  std::string_view key;
  std::uint64_t fence = 0;
  std::uint64_t nonce = 0;
};

/// One verb on many keys; those without a nonce get a new one.
std::vector<reply> run(actor& who, verb action, const std::vector<part>& parts, microseconds own_ttl = 0us) {
  std::vector<request> requests;
  for (const part& each : parts) {
    requests.push_back({.action = action,
                        .resource = each.key,
                        .session = who.id,
                        .nonce = each.nonce != 0 ? each.nonce : ++who.nonce,
                        .fence = each.fence,
                        .kind = kind_for(own_ttl),
                        .ttl = own_ttl});
  }
  const auto replies = who.run(requests);
  return replies;
}

std::vector<outcome> outcomes(const std::vector<reply>& replies) {
  std::vector<outcome> outcomes;
  for (const reply& r : replies) outcomes.push_back(r.result);
  return outcomes;
}

constexpr auto yes = outcome::yes, no = outcome::no;
using answers = std::vector<outcome>;

}  // namespace

TEST_CASE("sqlite batch: each key is judged by its own row, whatever else the session holds", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor a(fixture), b(fixture);
  REQUIRE(a.acquire("1 held") == 1);
  const auto held_nonce = a.nonce;
  REQUIRE(answer(a.release("2 again", a.acquire("2 again"))) == yes);
  const auto old_nonce = a.nonce;
  REQUIRE(a.acquire("2 again") == 2);
  const auto new_nonce = a.nonce;
  REQUIRE(b.acquire("3 theirs") == 1);
  REQUIRE(answer(b.release("4 free", b.acquire("4 free"))) == yes);

  const auto taken = run(a, verb::take, {{"1 held"}, {"2 again"}, {"3 theirs"}, {"4 free"}, {"5 new"}});
  CHECK(outcomes(taken) == answers{no, no, no, yes, no});
  CHECK(taken[3].fence == 2);
  CHECK(a.at("3 theirs").holder == b.id);

  CHECK(outcomes(run(a, verb::cancel, {{"1 held", 0, new_nonce}, {"2 again", 0, old_nonce}, {"3 theirs", 0, 1}})) ==
        answers{no, no, no});
  CHECK(outcomes(run(a, verb::release, {{"1 held", 2}, {"2 again", 1}, {"3 theirs", 1}, {"4 free", 2}})) ==
        answers{no, no, no, yes});
  CHECK(a.at("1 held").holder == a.id);
  CHECK(a.at("2 again").holder == a.id);
  CHECK(outcomes(run(a, verb::cancel, {{"1 held", 0, held_nonce}, {"2 again", 0, new_nonce}})) == answers{yes, yes});
}

TEST_CASE("sqlite batch: own expiries are extended for those whose fence is given, and no others", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor a(fixture), b(fixture);
  REQUIRE(answer(a.release("1", a.acquire("1", 1h))) == yes);
  a.acquire("1", 1h);
  a.acquire("2", 1h);
  b.acquire("3", 1h);
  CHECK(outcomes(run(a, verb::extend, {{"1", 1}, {"2", 1}, {"3", 1}}, 5h)) == answers{no, yes, no});
  CHECK(a.at("1").remaining < 2h);
  CHECK(a.at("2").remaining > 4h);
  CHECK(a.at("3").remaining < 2h);
}

TEST_CASE("sqlite batch: if one statement fails, nothing of the batch was done", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  raw_sqlite raw(fixture.path);
  raw.run(
      "CREATE TRIGGER refuse BEFORE INSERT ON dlock_lock WHEN NEW.lock_key = x'32' BEGIN SELECT RAISE(ABORT, 'no!'); "
      "END");
  const auto inserted = run(a, verb::insert, {{"1"}, {"2"}, {"3"}});
  CHECK(outcomes(inserted) == answers(3, outcome::failed));
  for (const reply& r : inserted) CHECK_THAT(r.why.text, Catch::Matchers::ContainsSubstring("no!"));
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock") == "0");
  CHECK(outcomes(run(a, verb::insert, {{"1"}, {"3"}})) == answers{yes, yes});  // the connection goes on
}

TEST_CASE("sqlite batch: what the application's trigger refuses for one row is done for the others",
          "[unit][sqlite][rows]") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  raw_sqlite raw(fixture.path);
  const auto orders = make_lock_table(fixture.path, "orders", 3);
  raw.run(
      "CREATE TRIGGER refuse BEFORE UPDATE ON orders WHEN NEW.id = 2 AND NEW.o IS NOT NULL "
      "BEGIN SELECT RAISE(ABORT, 'no!'); END");
  std::vector<lock_key> keys;
  std::vector<request> asked;
  for (std::int64_t id = 1; id != 4; ++id) keys.push_back(lock_key::of_row(orders, {id}));
  for (const auto& key : keys) {
    asked.push_back({.action = verb::take, .resource = key.view(), .session = a.id, .row = key.row(), .nonce = 7});
  }
  const auto replies = a.run(asked);
  CHECK(outcomes(replies) == answers{yes, outcome::failed, yes});
  CHECK_THAT(replies[1].why.text, Catch::Matchers::ContainsSubstring("no!"));
  CHECK(replies[2].fence == 1);
  CHECK(raw.text("SELECT COUNT(*) FROM orders WHERE o IS NOT NULL") == "2");
}
