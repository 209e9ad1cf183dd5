// SPDX-License-Identifier: BSL-1.0
// The SQL about members that the simulated server executes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "simulation/sql_execution.hpp"

namespace {

using namespace dlock;
using namespace dlock::simulation;

struct tables_fixture {
  database data{};
  const std::string a = std::string(16, 'a'), b = std::string(16, 'b');

  tables_fixture() { data.locks()["k"] = {.session = id_of(a), .fence = 7, .acquired = 5, .expires = 9}; }
  static id128 id_of(const std::string& bytes) {
    id128 made;
    std::copy(bytes.begin(), bytes.end(), made.bytes.begin());
    return made;
  }
  reply run(const std::string& text, std::map<std::string, sql::value, std::less<>> values = {},
            std::shared_ptr<const database::snapshot> then = nullptr) {
    values["key"] = std::string("k");
    last = {std::make_shared<const sql::statement>(sql::parse(text)), std::move(values), std::move(then)};
    return sql::execute(last, data, 100);
  }
  reply join(const std::string& rest, std::int64_t nonce, std::int64_t units,
             std::shared_ptr<const database::snapshot> then = nullptr) {
    return run(
        "INSERT INTO dlock_member (lock_key, session_id, nonce, units, fence, joined_at_us) SELECT l.lock_key, "
        ":session, :nonce, :units, RETURNED(l.fence), NOW FROM dlock_lock l LEFT JOIN dlock_member m ON m.lock_key = "
        "l.lock_key WHERE l.lock_key = :key GROUP BY l.lock_key HAVING COALESCE(SUM(m.units), 0) + :units <= 3" +
            rest,
        {{"session", a}, {"nonce", nonce}, {"units", units}}, std::move(then));
  }
  sql::call last{};
};

}  // namespace

TEST_CASE_METHOD(tables_fixture, "simulated SQL: a change is judged by its conditions", "[simulation]") {
  CHECK(run("UPDATE dlock_lock SET fence = RETURNED(fence + 1) WHERE lock_key = :key AND session_id = :s", {{"s", b}})
            .result == outcome::no);
  const auto done = run(
      "UPDATE dlock_lock SET fence = RETURNED(fence + 1), expires_at_us = NULL WHERE lock_key = :key AND (session_id "
      "IS NULL OR expires_at_us <= NOW - 91)");
  CHECK(done.result == outcome::yes);
  CHECK(done.fence == 8);
  CHECK_FALSE(data.locks()["k"].expires);
  // NULL is neither true nor false.
  CHECK(run("UPDATE dlock_lock SET nonce = 1 WHERE lock_key = :key AND NOT expires_at_us <= NOW").result ==
        outcome::no);
}

TEST_CASE_METHOD(tables_fixture, "simulated SQL: a join counts what is there, with a row lock", "[simulation]") {
  const auto before = std::make_shared<const database::snapshot>(data.all());
  CHECK(join(" FOR UPDATE", 1, 2).result == outcome::yes);
  CHECK(join(" FOR UPDATE", 2, 2).result == outcome::no);
  CHECK(join(" FOR UPDATE", 1, 1).why.native == 1062);
  SECTION("one that locks nothing may have an older view") {
    CHECK(last.what->reads_unlocked == false);
    CHECK(join("", 3, 2, before).result == outcome::yes);
    CHECK(last.what->reads_unlocked);
  }
  SECTION("one that locks has none") { CHECK(join(" FOR UPDATE", 3, 2, before).result == outcome::no); }
}

TEST_CASE_METHOD(tables_fixture, "simulated SQL: rows of an outer join come in their order", "[simulation]") {
  const std::string select =
      "SELECT m.nonce, s.id IS NULL, (SELECT SUM(c.units) FROM dlock_member c WHERE c.lock_key = l.lock_key) FROM "
      "dlock_lock l LEFT JOIN dlock_member m ON m.lock_key = l.lock_key LEFT JOIN dlock_session s ON s.id = "
      "m.session_id WHERE l.lock_key = :key ORDER BY s.expires_at_us LIMIT 1";
  CHECK(run(select).result == outcome::yes);
  REQUIRE(last.rows.size() == 1);
  CHECK(last.rows[0].null(0));
  data.all_sessions()[id_of(a)] = {.expires = 1};
  data.add_member("k", {.session = id_of(a), .nonce = 1, .units = 2}, 0);
  data.add_member("k", {.session = id_of(b), .nonce = 2, .units = 3}, 0);
  run(select);
  CHECK(last.rows[0].natural(0) == 2);  // whose session is not there
  CHECK(last.rows[0].truth(1));
  CHECK(last.rows[0].natural(2) == 5);
  CHECK(run("DELETE FROM dlock_member WHERE lock_key = :key AND NOT EXISTS (SELECT 1 FROM dlock_session s WHERE s.id = "
            ":holder)",
            {{"holder", a}})
            .result == outcome::no);
}

TEST_CASE_METHOD(tables_fixture, "simulated SQL: assignments see each other as on MySQL, or the row as it was",
                 "[simulation]") {
  data.sets_in_order = GENERATE(true, false);
  run("UPDATE dlock_lock SET session_id = :b, fence = fence + CASE session_id WHEN :b THEN 10 ELSE 1 END WHERE "
      "lock_key = :key",
      {{"b", b}});
  CHECK(data.locks()["k"].fence == (data.sets_in_order ? 17U : 8U));
}

TEST_CASE_METHOD(tables_fixture, "simulated SQL: a CASE of conditions", "[simulation]") {
  for (const auto& [number, fence] : {std::pair{1, 10U}, {2, 20U}, {3, 30U}}) {
    run("UPDATE dlock_lock SET fence = CASE WHEN :number = 1 THEN 10 WHEN :number IN (2, 4) OR 1 = 2 THEN 20 ELSE 30 "
        "END "
        "WHERE lock_key = :key",
        {{"number", std::int64_t{number}}});
    CHECK(data.locks()["k"].fence == fence);
  }
}

TEST_CASE_METHOD(tables_fixture, "simulated SQL: what it does not know fails", "[simulation]") {
  CHECK_THROWS_AS(sql::parse("REPLACE INTO dlock_lock"), std::logic_error);
  CHECK_THROWS_AS(sql::parse("DELETE FROM dlock_member WHERE GREATEST(1, 2) = 2"), std::logic_error);
  CHECK_THROWS_AS(run("UPDATE dlock_lock SET colour = 1 WHERE lock_key = :key"), std::logic_error);
  CHECK_THROWS_AS(run("SELECT 1 FROM dlock_queue"), std::logic_error);
  data.add_member("k", {.session = id_of(a)}, 0);
  CHECK_THROWS_AS(run("DELETE FROM dlock_member WHERE nonce = :nonce"), std::logic_error);
}
