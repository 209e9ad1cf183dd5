// SPDX-License-Identifier: BSL-1.0

/// Rows as operators see them.

#include "contract/row/row_contract.hpp"

namespace dlock::test {

namespace {

std::vector<holder_info> inspected(const row_actor& actor, const lock_key& row) {
  std::vector<holder_info> out;
  CHECK(answer(actor.store->admin()->inspect(*actor.connection, {.row = row.row()}, out)) == outcome::yes);
  return out;
}

outcome revoked(const row_actor& actor, const lock_key& row) {
  return answer(actor.store->admin()->revoke(*actor.connection, {.row = row.row()}));
}

}  // namespace

TEST_CASE("row inspection: shows the holder of a row and its session, nobody for a free or missing one",
          "[contract][rows]") {
  row_scene s({.id = row_id_kind::composite});
  row_actor a(s), b(s);
  const auto row = s.make(7, "it's");
  const auto other = s.make(7, "its");
  CHECK(inspected(b, row).empty());
  CHECK(inspected(b, s.key({std::int64_t{8}, std::string("it's")})).empty());
  const auto fence = a.acquire(row);
  const auto kept = inspected(b, row);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].session == a.id);
  CHECK(kept[0].fence == fence);
  CHECK(kept[0].host == "host-a");
  CHECK(kept[0].pid == 4242);
  CHECK(kept[0].label == "worker");
  CHECK(kept[0].kind == lease_kind::session);
  CHECK_FALSE(kept[0].revoked);
  CHECK_FALSE(kept[0].dead);
  CHECK(kept[0].remaining > for_long - 5min);
  CHECK(kept[0].remaining <= for_long);
  CHECK(inspected(b, other).empty());
  REQUIRE(answer(a.release(row, fence)) == outcome::yes);
  CHECK(inspected(b, row).empty());
}

TEST_CASE("row inspection: a verified row is still its holder's", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  REQUIRE(s.app->run(a.verify_text(row, fence)) == 1);
  REQUIRE(inspected(b, row).size() == 1);
  CHECK(inspected(b, row)[0].session == a.id);
  CHECK(revoked(b, row) == outcome::yes);
}

TEST_CASE("row inspection: a holder is dead when its session is gone or has expired", "[contract][rows]") {
  row_scene s;
  row_actor a(s), late(s, for_moments), b(s);
  const auto gone = s.make(1);
  const auto expired = s.make(2);
  a.acquire(gone);
  late.acquire(expired);
  a.close();
  pass_until(*s.fixture, [&] { return b.at(expired).expired; });
  REQUIRE(inspected(b, gone).size() == 1);
  CHECK(inspected(b, gone)[0].dead);
  CHECK(inspected(b, gone)[0].host.empty());
  CHECK(inspected(b, gone)[0].remaining == 0us);
  REQUIRE(inspected(b, expired).size() == 1);
  CHECK(inspected(b, expired)[0].dead);
  CHECK(inspected(b, expired)[0].host == "host-a");
}

TEST_CASE("row inspection: an expiry of its own is shown until it has passed", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto soon = s.make(2);
  a.acquire(row, 20min);
  a.acquire(soon, for_moments);
  a.close();
  const auto own = inspected(b, row);
  REQUIRE(own.size() == 1);
  CHECK(own[0].kind == lease_kind::expiring);
  CHECK_FALSE(own[0].dead);
  CHECK(own[0].remaining > 19min);
  CHECK(own[0].remaining <= 20min);
  pass_until(*s.fixture, [&] { return b.at(soon).expired; });
  CHECK(inspected(b, soon).empty());
}

TEST_CASE("row inspection: another program's lock is shown by what that wrote", "[contract][rows]") {
  row_scene s({.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true});
  row_actor a(s);
  const auto row = s.make(1);
  REQUIRE(s.app->run(s.fixture->plain_take(*s.table, s.where(row), "java-7", 60)) == 1);
  const auto theirs = inspected(a, row);
  REQUIRE(theirs.size() == 1);
  CHECK_FALSE(theirs[0].session);
  CHECK(theirs[0].label == "java-7");
  CHECK(theirs[0].kind == lease_kind::column);
  CHECK_FALSE(theirs[0].dead);
  CHECK(theirs[0].remaining > 55s);
  CHECK(theirs[0].remaining < 63s);
  CHECK(revoked(a, row) == outcome::no);
  s.set(s.table->expires_at + "=" + s.fixture->plain_expiry(-5), row);
  CHECK(inspected(a, row).empty());
}

TEST_CASE("row inspection: revoking a row ends the session that keeps it, and only that", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s), c(s);
  const auto row = s.make(1);
  const auto own = s.make(2);
  const auto free = s.make(3);
  a.acquire(row);
  b.acquire(own, for_long);
  CHECK(revoked(c, free) == outcome::no);
  CHECK(revoked(c, own) == outcome::no);
  CHECK(revoked(c, s.key({std::int64_t{9}})) == outcome::no);
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(revoked(c, row) == outcome::yes);
  CHECK(inspected(c, row).at(0).revoked);
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(b.renew(for_long) == outcome::yes);
  CHECK(c.renew(for_long) == outcome::yes);
}

}  // namespace dlock::test
