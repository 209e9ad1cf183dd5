// SPDX-License-Identifier: BSL-1.0

/// Verification inside a transaction of the application's, of rows and of keys.

#include <algorithm>

#include "contract/row/row_contract.hpp"

namespace dlock::test {

namespace {

/// Whoever wants the key now is told so soon.
void check_busy(const reply& r, std::chrono::steady_clock::time_point since) {
  CHECK(r.result != outcome::yes);
  CHECK(r.result != outcome::unknown);
  if (r.result == outcome::failed) CHECK(r.why.contended);
  CHECK(std::chrono::steady_clock::now() - since < 10s);
}

}  // namespace

TEST_CASE("verification: of a row goes to and fro, and every verb knows both forms", "[contract][rows][verify]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row, for_long);
  const auto check = a.store->transactions()->verification_of(a.grant(row, fence));
  CHECK(check.expected_rows == 1);
  for (const char* form : {"+", "", "+"}) {
    CHECK(s.app->run(check.text) == 1);
    CHECK(s.owner(row) == a.text() + form);
    const seen now = b.at(row);
    CHECK(now.holder == a.id);
    CHECK(now.nonce == a.nonce);
    CHECK(answer(a.extend(row, fence, for_long)) == outcome::yes);
  }
  CHECK(s.number(s.table->version, row) == 1);  // no grant
  CHECK(s.number(s.table->fence, row) == 1);
  CHECK(answer(a.release(row, fence)) == outcome::yes);

  const auto next = a.acquire(row);
  CHECK(s.app->run(a.verify_text(row, next)) == 1);
  CHECK(answer(a.cancel(row)) == outcome::yes);

  const auto last = a.acquire(row);
  CHECK(s.app->run(a.verify_text(row, last)) == 1);
  a.close();
  CHECK(answer(b.take_over(row, b.at(row))) == outcome::yes);
}

TEST_CASE("verification: of what is not ours any more changes nothing", "[contract][rows][verify]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  // The fence must be equal, not only as great or as small.
  for (const auto other : {fence + 1, fence - 1}) {
    CHECK(s.app->run(a.verify_text(row, other)) == 0);
    CHECK(s.app->run(a.release_text(row, other)) == 0);
  }
  b.nonce = a.nonce;
  CHECK(s.app->run(b.verify_text(row, fence)) == 0);
  a.close();
  REQUIRE(answer(b.take_over(row, b.at(row))) == outcome::yes);
  CHECK(s.app->run(a.verify_text(row, fence)) == 0);
  CHECK(s.app->run(b.verify_text(row, fence + 1)) == 1);
  CHECK(answer(b.release(row, fence + 1)) == outcome::yes);
  CHECK(s.app->run(b.verify_text(row, fence + 1)) == 0);

  const lock_key key("k");
  row_actor c(s), d(s);
  c.insert("k");
  CHECK(s.app->run(c.verify_text(key, 1)) == 1);
  for (const std::uint64_t other : {0U, 2U}) {
    CHECK(s.app->run(c.verify_text(key, other)) == 0);
    CHECK(s.app->run(c.release_text(key, other)) == 0);
    CHECK(answer(c.actor::release("k", other)) == outcome::no);
  }
  CHECK(s.app->run(d.verify_text(key, 1)) == 0);
  CHECK(answer(c.actor::release("k", 1)) == outcome::yes);
  CHECK(s.app->run(c.verify_text(key, 1)) == 0);
}

TEST_CASE("verification: another grant of the same session, older or later, proves and frees nothing",
          "[contract][rows][verify][T70]") {
  row_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  const lock_key key("k");
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  REQUIRE(answer(a.actor::release("k", 1)) == outcome::yes);
  REQUIRE(a.actor::acquire("k") == 2);
  REQUIRE(answer(a.release(row, a.acquire(row))) == outcome::yes);
  const auto fence = a.acquire(row);
  s.app->begin();
  for (const std::uint64_t other : {fence - 1, fence + 1}) {
    INFO(other);
    for (const auto& about : {key, row}) {
      CHECK(s.app->run(a.verify_text(about, other)) == 0);
      CHECK(s.app->run(a.release_text(about, other)) == 0);
      auto later = a.grant(about, other);
      later.min_hold = about.row() == nullptr ? microseconds{1h} : microseconds{0};
      CHECK(s.app->run(a.store->transactions()->release_of(later).text) == 0);
    }
  }
  CHECK(s.app->run(a.verify_text(key, 2)) == 1);
  CHECK(s.app->run(a.verify_text(row, fence)) == 1);
  s.app->commit();
  CHECK(a.actor::at("k").holder == a.id);
  CHECK(a.actor::at("k").kind == lease_kind::session);
}

TEST_CASE("verification: a match keeps everybody else out until the transaction ends",
          "[contract][rows][verify][T70]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  auto fence = a.acquire(row);
  for (const bool commits : {true, false}) {
    s.app->begin();
    REQUIRE(s.app->run(a.verify_text(row, fence)) == 1);
    REQUIRE(s.set("payload=payload+1", row) == 1);
    const auto since = std::chrono::steady_clock::now();
    const seen dead{.holder = a.id, .fence = fence, .nonce = a.nonce, .kind = lease_kind::session, .gone = true};
    if (s.fixture->locks_rows()) {
      REQUIRE(a.close() == outcome::yes);  // stopped for longer than its ttl, and killed
    }
    check_busy(b.take(row), since);
    check_busy(b.take_over(row, dead), since);
    CHECK(answer(b.poll(row)) == outcome::yes);  // what only reads does not wait
    if (commits) {
      s.app->commit();
    } else {
      s.app->rollback();
    }
    a.close();
    CHECK(s.value("payload", row) == "1");
    REQUIRE(answer(b.take_over(row, b.at(row))) == outcome::yes);
    CHECK(s.app->run(a.verify_text(row, fence)) == 0);
    REQUIRE(answer(b.release(row, fence + 1)) == outcome::yes);
    REQUIRE(a.session(session_verb::open, a.id = id128::random(), for_long) == outcome::yes);
    fence = a.acquire(row);
  }
}

TEST_CASE("verification: of a key keeps everybody else out until the transaction ends", "[contract][verify][T70]") {
  row_scene s;
  row_actor a(s), b(s);
  const lock_key key("k");
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  s.app->begin();
  REQUIRE(s.app->run(a.verify_text(key, 1)) == 1);
  const auto since = std::chrono::steady_clock::now();
  if (s.fixture->locks_rows()) a.close();
  check_busy(b.actor::take("k"), since);
  check_busy(b.actor::take_over("k", {.holder = a.id, .fence = 1, .kind = lease_kind::session, .gone = true}), since);
  s.app->commit();
  a.close();
  CHECK(answer(b.actor::take_over("k", b.actor::at("k"))) == outcome::yes);
}

TEST_CASE("verification: an own expiry that has passed still counts until somebody else came", "[contract][verify]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row, for_moments);
  pass_until(*s.fixture, [&] { return b.at(row).expired; });
  s.app->begin();
  CHECK(s.app->run(a.verify_text(row, fence)) == 1);
  check_busy(b.take(row), std::chrono::steady_clock::now());
  s.app->commit();
  CHECK(answer(b.take(row)) == outcome::yes);
  CHECK(s.app->run(a.verify_text(row, fence)) == 0);
}

TEST_CASE("verification: a release in the application's transaction counts when that is committed",
          "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const lock_key key("k");
  const auto fence = a.acquire(row);
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  --a.nonce;
  s.app->begin();
  CHECK(s.app->run(a.release_text(row, fence)) == 1);
  CHECK(s.app->run(a.release_text(key, 1)) == 1);
  CHECK(b.at(row).holder == a.id);
  s.app->rollback();
  CHECK(b.at(row).holder == a.id);
  CHECK(b.actor::at("k").holder == a.id);
  CHECK(s.app->run(a.release_text(row, fence + 1)) == 0);
  CHECK(s.app->run(a.release_text(key, 2)) == 0);
  s.app->begin();
  CHECK(s.app->run(a.verify_text(row, fence)) == 1);
  CHECK(s.app->run(a.release_text(row, fence)) == 1);
  CHECK(s.app->run(a.release_text(key, 1)) == 1);
  s.app->commit();
  CHECK(b.acquire(row) == fence + 1);
  CHECK(answer(b.actor::take("k")) == outcome::yes);
  CHECK(s.app->run(a.release_text(row, fence)) == 0);
}

TEST_CASE("verification: has one marker for each parameter", "[contract][rows][verify]") {
  row_scene s({.id = row_id_kind::text});
  row_actor a(s);
  const auto row = s.make("what? 'now'?");
  const lock_key key("k?");
  for (const auto& statement :
       {a.store->transactions()->verification_of(a.grant(row, 1)),
        a.store->transactions()->verification_of(a.grant(key, 1)), a.store->transactions()->release_of(a.grant(row, 1)),
        a.store->transactions()->release_of(a.grant(key, 1))}) {
    INFO(statement.sql);
    INFO(statement.text);
    CHECK(static_cast<std::size_t>(std::count(statement.sql.begin(), statement.sql.end(), '?')) ==
          statement.parameters.size());
    CHECK(s.app->run(statement.text) == 0);  // it is a statement
  }
}

}  // namespace dlock::test
