// SPDX-License-Identifier: BSL-1.0

/// take, look, take over, release: who gets a row, and what the row says of it.

#include "contract/row/row_contract.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "support/calls.hpp"

namespace dlock::test {

TEST_CASE("row: a free row is granted by one statement, which writes owner and fence") {
  const auto not_null = GENERATE(false, true);
  row_scene s({.owner_not_null = not_null});
  row_actor a(s);
  const auto row = s.make(1);
  CHECK_FALSE(a.at(row).holder);
  const reply taken = a.take(row);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == 1);
  CHECK(s.owner(row) == a.text());
  CHECK(s.owner(row).size() == 49);
  CHECK(s.number(s.table->fence, row) == 1);
  CHECK(s.value(s.table->expires_at, row).empty());
  REQUIRE(answer(a.release(row, 1)) == outcome::yes);
  CHECK(s.owner(row).empty());
  CHECK(s.number(s.table->fence, row) == 1);
}

TEST_CASE_METHOD(two_row_actors, "row: fences have no gap, and busy attempts raise nothing") {
  for (std::uint64_t i = 1; i != 6; ++i) {
    auto& who = i % 2 == 0 ? a : b;
    auto& other = i % 2 == 0 ? b : a;
    CHECK(who.acquire(row) == i);
    CHECK(answer(other.take(row)) == outcome::no);
    CHECK(s.number(s.table->version, row) == i);  // at each grant, and only then
    REQUIRE(answer(who.release(row, i)) == outcome::yes);
    CHECK(s.number(s.table->fence, row) == i);
    CHECK(s.number(s.table->version, row) == i);
  }
}

TEST_CASE_METHOD(one_row_actor, "row: a row that is not there is absent, and none is made") {
  const auto row = s.key({std::int64_t{7}});
  CHECK(answer(a.take(row)) == outcome::no);
  CHECK(answer(a.poll(row)) == outcome::absent);
  CHECK(answer(a.run(a.about(verb::insert, row))) == outcome::absent);
  CHECK(s.app->one("SELECT COUNT(*) FROM " + s.table->table) == "0");
}

TEST_CASE_METHOD(two_row_actors, "row: an attempt before frees and extends nothing, nor does another session's",
                 "[T59]") {
  const auto fence = a.acquire(row, for_long);
  const auto check_refused = [&](row_actor& by) {
    CHECK(answer(by.release(row, fence)) == outcome::no);
    CHECK(answer(by.extend(row, fence, 2 * for_long)) == outcome::no);
    CHECK(answer(by.cancel(row)) == outcome::no);
  };
  b.nonce = a.nonce;  // the same number
  check_refused(b);
  --a.nonce;
  check_refused(a);
  ++a.nonce;
  CHECK(b.at(row).holder == a.id);
  CHECK(b.at(row).remaining <= for_long);
  CHECK(answer(a.cancel(row)) == outcome::yes);
  check_refused(a);
}

TEST_CASE_METHOD(two_row_actors, "row: a dead holder's row is taken over by the attempt that was seen", "[T57]") {
  const auto fence = a.acquire(row);
  a.close();
  seen wrong = b.at(row);
  ++wrong.nonce;
  CHECK(answer(b.take_over(row, wrong)) == outcome::no);
  CHECK(answer(b.take_over(row, b.at(row))) == outcome::yes);
  CHECK(s.owner(row) == b.text());
  CHECK(s.number(s.table->version, row) == fence + 1);
}

TEST_CASE_METHOD(one_row_actor, "row: a lock that another program wrote holds, with an expiry until that has passed") {
  const auto row = s.make(1);
  for (const char* owner : {"payment-7", "00000000000000000000000000000000/000000000000000g", "x"}) {
    INFO(owner);
    s.set(s.table->owner + "=" + s.fixture->literal(owner) + ", " + s.table->expires_at + "=NULL", row);
    const seen for_ever = a.at(row);
    CHECK(for_ever.holder);
    CHECK(for_ever.kind == lease_kind::session);
    CHECK_FALSE(for_ever.gone);
    CHECK_FALSE(for_ever.expired);
    CHECK(for_ever.remaining > 1min);
    CHECK(for_ever.who == owner);
    CHECK(answer(a.take(row)) == outcome::no);
    CHECK(answer(a.take_over(row, for_ever)) == outcome::no);
  }
  s.set(s.table->expires_at + "=" + s.fixture->expiry(1h), row);
  const seen held = a.at(row);
  CHECK(held.kind == lease_kind::expiring);
  CHECK_FALSE(held.expired);
  CHECK(held.remaining > 59min);
  CHECK(answer(a.take_over(row, held)) == outcome::no);
  s.set(s.table->expires_at + "=" + s.fixture->expiry(-1s), row);
  const seen past = a.at(row);
  CHECK(past.expired);
  seen wrong = past;
  wrong.fence += 1;
  CHECK(answer(a.take_over(row, wrong)) == outcome::no);
  CHECK(answer(a.take_over(row, past)) == outcome::yes);
  CHECK(a.at(row).holder == a.id);
}

TEST_CASE("row: polls of many rows show each its own holder, in a collation that takes several ids for the same too") {
  row_scene texts({.id = row_id_kind::text});
  row_actor a(texts), b(texts);
  std::vector<lock_key> rows;
  for (const std::string id : {"a", "b'\\", "gr\xc3\xbc\xc3\x9f", "%"}) rows.push_back(texts.make(id));
  for (const std::string id : {"A", "absent", "a ", "", "{b}"}) rows.push_back(texts.key({id}));
  a.acquire(rows[0]);
  b.acquire(rows[1], 20s);
  std::vector<request> requests;
  for (const auto& row : rows) requests.push_back(a.about(verb::poll, row));
  const auto replies = a.run(requests);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    INFO(printable(rows[i]));
    const auto alone = a.poll(rows[i]);
    CHECK(answer(replies[i]) == answer(alone));
    CHECK(replies[i].holder.holder == alone.holder.holder);
    CHECK(replies[i].holder.nonce == alone.holder.nonce);
    CHECK(replies[i].holder.fence == alone.holder.fence);
    CHECK(replies[i].holder.who == alone.holder.who);
    if (texts.fixture->locks_rows()) CHECK(replies[i].statements == (i == 0 ? 1u : 0u));  // a file has no round trips
  }
  CHECK(replies[1].holder.holder == b.id);
}

TEST_CASE("row: text and composite ids name exactly their row", "[T56]") {
  row_scene texts({.id = row_id_kind::text});
  row_actor a(texts);
  const std::vector<std::string> ids = {
      "a",     "A",   "a'b", "a\\'b", "a\"b", "%", "_", "; -- ", "", "gr\xc3\xbc\xc3\x9f", "\xf0\x9f\x94\x92",
      "x'41'", "`a`", "{a}", "a\nb"};
  std::vector<lock_key> rows;
  for (const auto& id : ids) rows.push_back(texts.make(id));
  for (const auto& row : rows) {
    INFO(printable(row));
    CHECK(a.acquire(row) == 1);
    CHECK(texts.owner(row) == a.text());
    CHECK(texts.app->one("SELECT COUNT(*) FROM " + texts.table->table + " WHERE " + texts.table->owner + "=" +
                         texts.fixture->literal(a.text())) == "1");
    CHECK(answer(a.release(row, 1)) == outcome::yes);
  }

  row_scene pairs({.id = row_id_kind::composite});
  row_actor b(pairs), c(pairs);
  const auto first = pairs.make(1, "x");
  const auto second = pairs.make(1, "y");
  const auto third = pairs.make(-2, "x");
  b.acquire(first);
  CHECK(answer(c.take(first)) == outcome::no);
  CHECK(c.acquire(second) == 1);
  CHECK(c.acquire(third) == 1);
  CHECK(b.at(first).holder == b.id);
  CHECK(answer(b.release(first, 1)) == outcome::yes);
  CHECK(b.at(second).holder == c.id);
}

// Tables shared with programs that know only owner, expiry and version.

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

TEST_CASE("row column: we and the others exclude each other") {
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

TEST_CASE("row column: what others may take is what we may not trust, to the second") {
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

TEST_CASE("row column: a lock ends in the second after its expiry, as other programs have it, and not before",
          "[T30]") {
  shared_scene s;
  s.fixture->stop_clock();  // in a whole second
  row_actor a(s), b(s);
  const auto row = s.make(1);
  s.fixture->pass(900ms);
  const auto fence = a.acquire(row, 10s);  // until 10.9 s, rounded up
  s.fixture->pass(11'100ms - 1us);
  const seen last = b.at(row);
  CHECK_FALSE(last.expired);
  CHECK(last.remaining == 1us);
  CHECK(answer(b.take(row, 10s)) == outcome::no);
  CHECK(answer(b.take_over(row, last, 10s)) == outcome::no);
  const bool extended = GENERATE(false, true);
  if (extended) CHECK(answer(a.extend(row, fence, 10s)) == outcome::yes);
  s.fixture->pass(extended ? 11s + 1us : 1us);
  CHECK(b.at(row).expired);
  CHECK(answer(a.extend(row, fence, 10s)) == outcome::no);
  CHECK(answer(GENERATE(false, true) ? b.take(row, 10s) : b.take_over(row, last, 10s)) == outcome::yes);
}

TEST_CASE("row column: an expiry is rounded up, and an extension never shortens") {
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

TEST_CASE("row column: an extension comes too late when the expiry has passed") {
  shared_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row, 10s);
  s.set(s.table->expires_at + "=" + s.fixture->plain_expiry(-3), row);
  CHECK(a.at(row).expired);
  CHECK(answer(a.extend(row, fence, 10s)) == outcome::no);
  CHECK(answer(a.release(row, fence)) == outcome::yes);  // still nobody else's
}

TEST_CASE("row column: a lock without an expiry is refused") {
  shared_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  const reply r = a.take(row);
  CHECK(r.result == outcome::failed);
  CHECK_FALSE(r.why.transient);
  CHECK_FALSE(r.why.text.empty());
  CHECK(s.owner(row).empty());
}

TEST_CASE("row column: a version that is the fence is raised once by a grant") {
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

// Several rows and keys at once, by whole services.

namespace {

struct rows_and_keys {
  row_scene s{};
  service_options options{.close_limit = 0ms, .cleanup_interval = 0ms};
  lock_service a{s.fixture->open(), options};
  lock_service b{s.fixture->open(), options};

  bool is_free(const lock_key& key) { return granted(b.try_acquire(key)); }
};

}  // namespace

TEST_CASE("row: rows and keys are locked together, and a text that reads like a row is another key", "[T76][T77]") {
  rows_and_keys at;
  const auto row = at.s.make(1);
  const auto other = at.s.make(2);
  const lock_key alike(std::string(row.view()));
  {
    const auto held = at.a.acquire_all({other, "k", row, alike, other});
    REQUIRE(held.size() == 4);
    CHECK(held[row].fencing_token() == at.s.number(at.s.table->fence, row));
    CHECK(held[alike].fencing_token() == 1);
    CHECK_FALSE(at.s.owner(other).empty());
    for (const auto& each : {row, other, alike, lock_key("k")}) CHECK_FALSE(at.is_free(each));
  }
  for (const auto& each : {row, other, alike, lock_key("k")}) CHECK(at.is_free(each));
  CHECK(at.s.owner(other).empty());
}

TEST_CASE("row: a busy row keeps keys and rows from being taken", "[T76]") {
  rows_and_keys at;
  const auto row = at.s.make(1);
  const auto other = at.s.make(2);
  auto theirs = at.b.acquire(other);
  CHECK_FALSE(granted(at.a.try_acquire_all({row, other, "k"})));
  CHECK(at.is_free(row));
  CHECK(at.is_free("k"));
  multi_lease held;
  std::thread waiter([&] { held = at.a.acquire_all({row, other, "k"}, {.wait = 20s}); });
  theirs.release();
  waiter.join();
  REQUIRE(held.size() == 3);
  CHECK(held[other].fencing_token() == at.s.number(at.s.table->fence, other));
  held.release();
  CHECK(at.is_free(other));
}

TEST_CASE("row: one that does not exist is named, and nothing is held", "[T76]") {
  rows_and_keys at;
  const auto row = at.s.make(1);
  CHECK(thrown([&] { return at.a.acquire_all({row, "k", at.s.key({std::int64_t{7}})}); }) == errc::no_such_row);
  CHECK(at.is_free(row));
  CHECK(at.is_free("k"));
}

TEST_CASE("row: rows that renew their own expiry are locked together with keys kept by a session", "[T76]") {
  row_scene s({.renewal = row_renewal::column});
  lock_service a(s.fixture->open(), {.close_limit = 0ms, .cleanup_interval = 0ms});
  lock_service b(s.fixture->open(), {.close_limit = 0ms, .cleanup_interval = 0ms});
  const auto row = s.make(1);
  const auto other = s.make(2);
  {
    const auto held = a.acquire_all({row, other, "k"}, {.ttl = 10s});
    CHECK_NOTHROW(held.ensure_held());
    CHECK(held.remaining() > 5s);
    CHECK_FALSE(granted(b.try_acquire_all({other, "other"}, {.ttl = 10s})));
    CHECK(granted(b.try_acquire("other")));
  }
  CHECK(granted(b.try_acquire_all({row, other, "k"}, {.ttl = 10s})));
}

// Rows as operators see them.

TEST_CASE_METHOD(two_row_actors, "row inspection: a verified row is still its holder's") {
  const auto fence = a.acquire(row);
  REQUIRE(s.app->run(a.verify_text(row, fence)) == 1);
  REQUIRE(b.inspected(row).size() == 1);
  CHECK(b.inspected(row)[0].session == a.id);
  CHECK(b.revoke(row) == outcome::yes);
}

TEST_CASE("row inspection: another program's lock is shown by what that wrote") {
  row_scene s({.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true});
  row_actor a(s);
  const auto row = s.make(1);
  REQUIRE(s.app->run(s.fixture->plain_take(*s.table, s.where(row), "java-7", 60)) == 1);
  const auto theirs = a.inspected(row);
  REQUIRE(theirs.size() == 1);
  CHECK_FALSE(theirs[0].session);
  CHECK(theirs[0].label == "java-7");
  CHECK(theirs[0].kind == lease_kind::column);
  CHECK_FALSE(theirs[0].dead);
  CHECK(theirs[0].remaining > 55s);
  CHECK(theirs[0].remaining < 63s);
  CHECK(a.revoke(row) == outcome::no);
  s.set(s.table->expires_at + "=" + s.fixture->plain_expiry(-5), row);
  CHECK(a.inspected(row).empty());
}

// Verification inside a transaction of the application's, of rows and of keys.

namespace {

/// Whoever wants the key now is told so soon.
void check_busy(const reply& r, std::chrono::steady_clock::time_point since) {
  CHECK(r.result != outcome::yes);
  CHECK(r.result != outcome::unknown);
  if (r.result == outcome::failed) CHECK(r.why.contended);
  CHECK(std::chrono::steady_clock::now() - since < 10s);
}

}  // namespace

TEST_CASE_METHOD(two_row_actors, "verification: of a row goes to and fro, and every verb knows both forms") {
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

TEST_CASE_METHOD(two_row_actors, "verification: of what is not ours any more changes nothing") {
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
    CHECK(answer(c.release("k", other)) == outcome::no);
  }
  CHECK(s.app->run(d.verify_text(key, 1)) == 0);
  CHECK(answer(c.release("k", 1)) == outcome::yes);
  CHECK(s.app->run(c.verify_text(key, 1)) == 0);
}

TEST_CASE_METHOD(one_row_actor,
                 "verification: another grant of the same session, older or later, proves and frees nothing", "[T70]") {
  const auto row = s.make(1);
  const lock_key key("k");
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  REQUIRE(answer(a.release("k", 1)) == outcome::yes);
  REQUIRE(a.acquire("k") == 2);
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
  CHECK(a.at("k").holder == a.id);
  CHECK(a.at("k").kind == lease_kind::session);
}

TEST_CASE_METHOD(two_row_actors, "verification: a match keeps everybody else out until the transaction ends", "[T70]") {
  const auto about = GENERATE_COPY(values<lock_key>({row, "k"}));
  if (about.row() == nullptr) REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  auto fence = a.acquire(about);
  for (const bool commits : {true, false}) {
    s.app->begin();
    REQUIRE(s.app->run(a.verify_text(about, fence)) == 1);
    REQUIRE(s.set("payload=payload+1", row) == 1);
    const auto since = std::chrono::steady_clock::now();
    const seen dead{.holder = a.id, .fence = fence, .nonce = a.nonce, .kind = lease_kind::session, .gone = true};
    if (s.fixture->locks_rows()) {
      REQUIRE(a.close() == outcome::yes);  // stopped for longer than its ttl, and killed
    }
    check_busy(b.take(about), since);
    check_busy(b.take_over(about, dead), since);
    CHECK(answer(b.poll(about)) == outcome::yes);  // what only reads does not wait
    if (commits) {
      s.app->commit();
    } else {
      s.app->rollback();
    }
    a.close();
    CHECK(s.value("payload", row) == "1");
    REQUIRE(answer(b.take_over(about, b.at(about))) == outcome::yes);
    CHECK(s.app->run(a.verify_text(about, fence)) == 0);
    REQUIRE(answer(b.release(about, fence + 1)) == outcome::yes);
    REQUIRE(a.session(session_verb::open, a.id = id128::random(), for_long) == outcome::yes);
    fence = a.acquire(about);
  }
}

TEST_CASE_METHOD(two_row_actors, "verification: an own expiry that has passed still counts until somebody else came") {
  const auto fence = a.acquire(row, for_moments);
  pass_until(*s.fixture, [&] { return b.at(row).expired; });
  s.app->begin();
  CHECK(s.app->run(a.verify_text(row, fence)) == 1);
  check_busy(b.take(row), std::chrono::steady_clock::now());
  s.app->commit();
  CHECK(answer(b.take(row)) == outcome::yes);
  CHECK(s.app->run(a.verify_text(row, fence)) == 0);
}

TEST_CASE_METHOD(two_row_actors,
                 "verification: a release in the application's transaction counts when that is committed") {
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
  CHECK(b.at("k").holder == a.id);
  CHECK(s.app->run(a.release_text(row, fence + 1)) == 0);
  CHECK(s.app->run(a.release_text(key, 2)) == 0);
  s.app->begin();
  CHECK(s.app->run(a.verify_text(row, fence)) == 1);
  CHECK(s.app->run(a.release_text(row, fence)) == 1);
  CHECK(s.app->run(a.release_text(key, 1)) == 1);
  s.app->commit();
  CHECK(b.acquire(row) == fence + 1);
  CHECK(answer(b.take("k")) == outcome::yes);
  CHECK(s.app->run(a.release_text(row, fence)) == 0);
}

TEST_CASE("verification: has one marker for each parameter") {
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
