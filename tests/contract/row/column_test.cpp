// SPDX-License-Identifier: BSL-1.0

/// Tables shared with programs that know only owner, expiry and version.

#include "contract/row/row_contract.hpp"

namespace dlock::test {

namespace {

constexpr row_shape shared{.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true};

struct shared_scene : row_scene {
  shared_scene() : row_scene(shared) {}
  /// What the other program does.
  bool plain_take(const lock_key& row, const std::string& owner, int seconds) {
    return app->run(fixture->plain_take(*table, where(row), owner, seconds)) == 1;
  }
};

}  // namespace

TEST_CASE("row column: we and the others exclude each other", "[contract][rows]") {
  shared_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  REQUIRE(s.plain_take(row, "java-1", 60));
  CHECK(answer(a.take(row, 10s)) == outcome::no);
  const seen theirs = a.at(row);
  CHECK(theirs.holder);
  CHECK(theirs.kind == lease_kind::column);
  CHECK_FALSE(theirs.expired);
  CHECK(theirs.remaining > 50s);
  CHECK(theirs.remaining < 63s);
  CHECK(theirs.who == "java-1");
  CHECK(answer(a.take_over(row, theirs, 10s)) == outcome::no);

  // They end, we take: the version is the fence.
  s.set(s.table->owner + "='', " + s.table->expires_at + "=" + s.fixture->plain_expiry(0), row);
  CHECK(a.acquire(row, 10s) == 2);
  CHECK(s.number(s.table->fence, row) == 2);
  CHECK_FALSE(s.plain_take(row, "java-1", 60));
  CHECK(answer(a.release(row, 2)) == outcome::yes);
  CHECK(s.plain_take(row, "java-1", 60));
  CHECK(s.owner(row) == "java-1");

  // They crash: their expiry passes.
  s.set(s.table->expires_at + "=" + s.fixture->plain_expiry(-5), row);
  const seen past = a.at(row);
  CHECK(past.expired);
  CHECK(answer(a.take_over(row, past, 10s)) == outcome::yes);
  // We crash: ours passes.
  a.close();
  CHECK_FALSE(s.plain_take(row, "java-1", 60));  // a session means nothing here
  s.set(s.table->expires_at + "=" + s.fixture->plain_expiry(-5), row);
  CHECK(s.plain_take(row, "java-2", 60));
}

TEST_CASE("row column: what others may take is what we may not trust, to the second", "[contract][rows]") {
  shared_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  // Passed is what now(), in whole seconds, is greater than: at the very second it is held.
  for (int tries = 0; tries != 50; ++tries) {
    const auto before = s.app->one("SELECT " + s.fixture->plain_expiry(0));
    s.set(s.table->owner + "='java-1', " + s.table->expires_at + "=" + s.fixture->plain_expiry(0), row);
    const auto taken = answer(a.take(row, 10s));
    if (s.app->one("SELECT " + s.fixture->plain_expiry(0)) != before) {  // the second ended in between
      if (taken == outcome::yes) a.cancel(row);
      continue;
    }
    CHECK(taken == outcome::no);
    return;
  }
  FAIL("no second was long enough");
}

TEST_CASE("row column: an expiry is rounded up, and an extension never shortens", "[contract][rows]") {
  shared_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto asked = std::chrono::steady_clock::now();
  const auto fence = a.acquire(row, 2500ms);
  const seen now = b.at(row);
  CHECK(now.holder == a.id);
  CHECK(now.kind == lease_kind::column);
  CHECK(now.remaining + (std::chrono::steady_clock::now() - asked) >= 2500ms);
  CHECK(now.remaining <= 4500ms);
  CHECK(answer(a.extend(row, fence, 20s)) == outcome::yes);
  CHECK(b.at(row).remaining > 10s);
  CHECK(answer(a.extend(row, fence, 1s)) == outcome::yes);
  CHECK(b.at(row).remaining > 9s);
  // An ordinary update raises the version while the row is held: it is no other grant.
  s.set(s.table->fence + "=" + s.table->fence + "+1, payload=5", row);
  CHECK(answer(a.extend(row, fence, 30s)) == outcome::yes);
  CHECK(b.at(row).remaining > 20s);
  CHECK(s.app->run(a.verify_text(row, fence)) == 1);
  CHECK(answer(b.extend(row, fence, 60s)) == outcome::no);
  CHECK(answer(a.release(row, fence)) == outcome::yes);
  CHECK(s.owner(row).empty());
  CHECK(answer(a.extend(row, fence, 30s)) == outcome::no);
}

TEST_CASE("row column: an extension comes too late when the expiry has passed", "[contract][rows]") {
  shared_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row, 10s);
  s.set(s.table->expires_at + "=" + s.fixture->plain_expiry(-3), row);
  CHECK(a.at(row).expired);
  CHECK(answer(a.extend(row, fence, 10s)) == outcome::no);
  CHECK(answer(a.release(row, fence)) == outcome::yes);  // still nobody else's
}

TEST_CASE("row column: a lock without an expiry is refused", "[contract][rows]") {
  shared_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  const reply r = a.take(row);
  CHECK(r.result == outcome::failed);
  CHECK_FALSE(r.why.transient);
  CHECK_FALSE(r.why.text.empty());
  CHECK(s.owner(row).empty());
}

TEST_CASE("row column: a version that is the fence is raised once by a grant", "[contract][rows]") {
  shared_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  for (std::uint64_t i = 1; i != 4; ++i) {
    CHECK(a.acquire(row, 10s) == i);
    CHECK(answer(a.extend(row, i, 20s)) == outcome::yes);
    CHECK(s.number(s.table->fence, row) == i);
    CHECK(answer(a.release(row, i)) == outcome::yes);
  }
}

}  // namespace dlock::test
