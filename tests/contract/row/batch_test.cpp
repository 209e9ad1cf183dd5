// SPDX-License-Identifier: BSL-1.0

/// Many rows of one table in one batch: each request has its own answer.

#include <fmt/format.h>

#include <catch2/generators/catch_generators.hpp>
#include <chrono>

#include "contract/row/row_contract.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"

namespace dlock::test {

namespace {

using enum outcome;
using answers = std::vector<outcome>;

/// The same attempts' other requests, with the fences that they got.
std::vector<request> after(std::vector<request> taken, verb action, const std::vector<reply>& replies) {
  for (std::size_t i = 0; i != taken.size(); ++i) {
    taken[i].action = action;
    taken[i].fence = replies[i].fence;
    taken[i].ttl = 0us;
  }
  return taken;
}

answers outcomes(const std::vector<reply>& replies) {
  answers all;
  for (const auto& each : replies) {
    INFO(each.why.text);
    CHECK((each.result != outcome::unknown && !each.why.connection));
    all.push_back(each.result);
  }
  return all;
}

/// What one statement for all costs, where the store has round trips.
void check_statements(row_scene& s, const std::vector<reply>& replies, unsigned most) {
  if (!s.fixture->locks_rows()) return;
  CHECK(replies[0].statements >= 1);
  CHECK(replies[0].statements <= most);
  for (std::size_t i = 1; i < replies.size(); ++i) CHECK(replies[i].statements == 0);
}

std::string owner_of(const row_scene& s, const request& by) {
  return fmt::format("{}/{}{:012x}", by.session.hex(), s.fixture->tables_id(), by.nonce);
}

}  // namespace

TEST_CASE("row batch: 64 takes are granted together, each with its own fence and attempt, and released together",
          "[contract][rows]") {
  const auto shape = GENERATE(row_shape{}, row_shape{.owner_not_null = true}, row_shape{.fence_is_version = true},
                              row_shape{.id = row_id_kind::composite}, row_shape{.renewal = row_renewal::column});
  row_scene s(shape);
  row_actor a(s), b(s);
  const microseconds ttl = shape.renewal == row_renewal::column ? 1h : 0us;
  std::vector<lock_key> rows;
  std::vector<std::uint64_t> fences;
  for (int i = 0; i != 64; ++i) {
    rows.push_back(s.make_numbered(i));
    fences.push_back(1);
    for (int before = 0; before != i % 3; ++before) {
      REQUIRE(answer(b.release(rows.back(), b.acquire(rows.back(), ttl))) == yes);
      ++fences.back();
    }
  }
  const auto bystander = s.make_numbered(64);
  const auto asked = a.takes(rows, ttl);
  const auto replies = a.run(asked);
  CHECK(outcomes(replies) == answers(64, yes));
  check_statements(s, replies, 2);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    INFO(printable(rows[i]));
    CHECK(replies[i].fence == fences[i]);
    CHECK(s.number(s.table->fence, rows[i]) == fences[i]);
    CHECK(s.number(s.table->version, rows[i]) == fences[i]);
    CHECK(s.owner(rows[i]) == owner_of(s, asked[i]));
    CHECK(s.value(s.table->expires_at, rows[i]).empty() == (ttl == 0us));
  }
  CHECK(s.owner(bystander).empty());
  CHECK(s.number(s.table->version, bystander) == 0);
  CHECK(outcomes(b.run(b.takes(rows, ttl))) == answers(64, no));

  const auto released = a.run(after(asked, verb::release, replies));
  CHECK(outcomes(released) == answers(64, yes));
  check_statements(s, released, 1);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    CHECK(s.owner(rows[i]).empty());
    CHECK(s.number(s.table->fence, rows[i]) == fences[i]);
    CHECK(s.number(s.table->version, rows[i]) == fences[i]);
  }
  CHECK(outcomes(a.run(after(asked, verb::release, replies))) == answers(64, no));
}

TEST_CASE("row batch: a take has its own answer among rows that are held, absent, expired or another program's",
          "[contract][rows]") {
  const auto id = GENERATE(row_id_kind::integer, row_id_kind::composite);
  row_scene s({.id = id});
  row_actor a(s), b(s);
  std::vector<lock_key> rows;
  for (int i = 0; i != 6; ++i) rows.push_back(s.make_numbered(i));
  rows.insert(rows.begin() + 3, s.numbered_key(77));
  b.acquire(rows[1]);
  b.acquire(rows[2], for_moments);
  s.set(s.table->owner + "=" + s.fixture->literal("payment-7"), rows[4]);
  b.acquire(rows[5], for_long);
  rows.push_back(s.make_numbered(6));
  a.nonce = 1000;  // another attempt of ours
  a.acquire(rows[7]);
  a.nonce = 0;
  pass_until(*s.fixture, [&] { return b.at(rows[2]).expired; });
  const auto asked = a.takes(rows, 20min);
  const auto replies = a.run(asked);
  CHECK(outcomes(replies) == answers{yes, no, yes, no, no, no, yes, no});
  check_statements(s, replies, 2);
  CHECK(replies[0].fence == 1);
  CHECK(replies[2].fence == 2);
  CHECK(replies[6].fence == 1);
  CHECK(b.at(rows[1]).holder == b.id);
  CHECK(s.owner(rows[4]) == "payment-7");
  CHECK(b.at(rows[5]).holder == b.id);
  CHECK(b.at(rows[7]).nonce == 1001);
  const seen own = b.at(rows[2]);
  CHECK(own.holder == a.id);
  CHECK(own.kind == lease_kind::expiring);
  CHECK(own.remaining > 19min);
  CHECK(s.app->one("SELECT COUNT(*) FROM " + s.table->table) == "7");
}

TEST_CASE("row batch: a release or cancel has its own answer among rows that are not ours any more",
          "[contract][rows]") {
  const auto action = GENERATE(verb::release, verb::cancel);
  row_scene s;
  row_actor a(s), b(s);
  std::vector<lock_key> rows;
  for (int i = 0; i != 6; ++i) rows.push_back(s.make_numbered(i));
  const auto asked = a.takes(rows);
  const auto replies = a.run(asked);
  REQUIRE(outcomes(replies) == answers(6, yes));
  auto back = after(asked, action, replies);
  back[1].fence = 7;     // not that of the grant
  back[2].nonce += 100;  // of another attempt
  s.set(s.table->owner + "=" + s.fixture->literal(fmt::format("{}/{}{:012x}", b.id.hex(), s.fixture->tables_id(), 5)),
        rows[4]);  // taken over
  const auto freed = a.run(back);
  const auto wrong_fence = action == verb::release ? no : yes;
  CHECK(outcomes(freed) == answers{yes, wrong_fence, no, yes, no, yes});
  check_statements(s, freed, 2);
  for (const std::size_t i : {0u, 3u, 5u}) CHECK_FALSE(a.at(rows[i]).holder);
  CHECK((a.at(rows[1]).holder == a.id) == (action == verb::release));
  CHECK(a.at(rows[2]).holder == a.id);
  CHECK(a.at(rows[4]).holder == b.id);
  // A row that is not there any more, one that others have got since, and one that was left.
  s.app->run("DELETE FROM " + s.table->table + " WHERE " + s.where(rows[5]));
  b.acquire(rows[0]);
  std::vector<request> again = {back[0], back[1], back[5]};
  again[1].fence = replies[1].fence;
  CHECK(outcomes(a.run(again)) == answers{no, action == verb::release ? yes : no, no});
  CHECK_FALSE(a.at(rows[1]).holder);
  CHECK(a.at(rows[0]).holder == b.id);
}

TEST_CASE("row batch: releases go by the attempt where the fence is a version that ordinary updates raise",
          "[contract][rows]") {
  row_scene s({.fence_is_version = true});
  row_actor a(s), b(s);
  std::vector<lock_key> rows;
  for (int i = 0; i != 4; ++i) rows.push_back(s.make_numbered(i));
  const auto asked = a.takes(rows);
  const auto replies = a.run(asked);
  REQUIRE(outcomes(replies) == answers(4, yes));
  for (const auto& row : rows) s.set("version=version+1", row);
  s.set(s.table->owner + "=" + s.fixture->literal("x"), rows[2]);
  CHECK(outcomes(a.run(after(asked, verb::release, replies))) == answers{yes, yes, no, yes});
  CHECK(s.owner(rows[2]) == "x");
}

TEST_CASE("row batch: of two requests that the database takes for the same row one is granted", "[contract][rows]") {
  row_scene s({.id = row_id_kind::text});
  row_actor a(s);
  const std::vector<lock_key> rows = {s.make("a"), s.key({std::string("a ")}), s.make("b'\\"),
                                      s.make("gr\xc3\xbc\xc3\x9f")};
  const auto asked = a.takes(rows);
  const auto replies = a.run(asked);
  CHECK(outcomes(replies) == answers{yes, no, yes, yes});
  CHECK(s.owner(rows[0]) == owner_of(s, asked[0]));
  CHECK(s.number(s.table->fence, rows[0]) == 1);
  CHECK(outcomes(a.run(after(asked, verb::cancel, replies))) == answers{yes, no, yes, yes});
}

TEST_CASE("row batch: a row that another program's transaction has locked neither stalls nor fails the others",
          "[contract][rows]") {
  const auto action = GENERATE(verb::take, verb::release, verb::cancel);
  const auto id = GENERATE(row_id_kind::integer, row_id_kind::composite);
  row_scene s({.id = id});
  row_actor a(s), b(s);
  if (!s.fixture->locks_rows()) return;  // one writer for the whole file
  constexpr std::size_t many = 16, locked = 7, held = 3;
  std::vector<lock_key> rows;
  for (std::size_t i = 0; i != many; ++i) rows.push_back(s.make_numbered(static_cast<std::int64_t>(i)));
  b.acquire(rows[held]);
  auto asked = a.takes(rows);
  if (action != verb::take) asked = after(asked, action, a.run(asked));
  s.app->begin();
  s.set("payload=payload+1", rows[locked]);
  s.fixture->wait_long_for_locks(*a.connection);
  const auto began = std::chrono::steady_clock::now();
  const auto replies = a.run(asked);
  CHECK(std::chrono::steady_clock::now() - began < 15s);  // it did not wait
  check_statements(s, replies, 3);
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == locked ? failed : i == held ? no : yes));
    CHECK(replies[i].why.contended == (i == locked));
    CHECK_FALSE(replies[i].why.connection);
    if (action == verb::take) CHECK(replies[i].fence == (i == locked || i == held ? 0u : 1u));
  }
  s.app->commit();
  CHECK(a.at(rows[locked]).holder == (action == verb::take ? id128{} : a.id));
  CHECK(b.at(rows[held]).holder == b.id);
  CHECK(s.number("payload", rows[locked]) == 1);
  CHECK(outcomes(a.run({asked[locked], asked[held]})) == answers{yes, no});
}

TEST_CASE("row batch: the rows of acquire_all are taken and released by few statements", "[contract][rows]") {
  row_scene s;
  lock_service locks(s.fixture->open(), {.close_limit = 0ms, .cleanup_interval = 0ms});
  std::vector<lock_key> rows;
  for (int i = 0; i != 40; ++i) rows.push_back(s.make_numbered(i));
  { const lease opens_the_session = locks.acquire("k"); }
  const auto before = locks.statements();
  auto all = locks.acquire_all(rows);
  for (const auto& row : rows) CHECK(all[row].fencing_token() == 1);
  all.release();
  for (const auto& row : rows) CHECK(s.owner(row).empty());
  if (s.fixture->locks_rows()) CHECK(locks.statements() - before <= 4);
}

}  // namespace dlock::test
