// SPDX-License-Identifier: BSL-1.0

/// schema=create|verify|none: the lock tables are made once, and found in whatever state somebody left them.

#include "contract/schema/schema_contract.hpp"
#include "support/calls.hpp"

namespace dlock::test {

namespace {

struct tables_scene {
  std::string said(const std::string& mode = "create") { return complaint(at->url("schema=" + mode)); }
  void drop(const std::string& table) { at->run("DROP TABLE " + at->table(table)); }
  /// Takes and releases "k" so many times. The last fence.
  std::uint64_t use_key(int times) {
    actor a(*at);
    std::uint64_t fence = 0;
    for (int i = 0; i != times; ++i) REQUIRE(answer(a.release("k", fence = a.acquire("k"))) == outcome::yes);
    return fence;
  }
  std::string version() {
    const auto from = " FROM " + at->table("schema_version") + " WHERE name = 'dlock'";
    return at->one("SELECT version" + from) + " " + at->one("SELECT migration" + from);
  }
  /// What a whole set of tables is good for.
  void check_works() {
    CHECK(said("verify").empty());
    actor a(*at), b(*at);
    CHECK(a.acquire("new key") > 0);
    CHECK(answer(b.take("new key")) == outcome::no);
    CHECK(version() == "1 0");
    at->check_made();
  }

  const std::unique_ptr<tables_fixture> at = make_tables_fixture();
};

/// Tables that are there, whole.
struct made_tables : tables_scene {
  made_tables() { REQUIRE(said().empty()); }
};

}  // namespace

TEST_CASE_METHOD(tables_scene, "schema: create makes all tables, with one floor and the version, and finds them") {
  CHECK(said().empty());
  at->check_made();
  CHECK(at->one("SELECT fence FROM " + at->table("floor") + " WHERE id = 1") == "0");
  CHECK(version() == "1 0");
  for (const char* const mode : {"create", "verify", "none"}) CHECK(said(mode).empty());
  actor a(*at), b(*at);
  a.acquire("k");
  CHECK(b.at("k").holder == a.id);
}

TEST_CASE_METHOD(tables_scene, "schema: many may create the same tables at once") {
  std::vector<std::string> all(12);
  std::latch start(12);
  on_threads(12, [&](int i) {
    start.arrive_and_wait();
    all[static_cast<std::size_t>(i)] = said();
  });
  for (const auto& each : all) CHECK(each.empty());
  CHECK(at->one("SELECT COUNT(*) FROM " + at->table("floor") + " WHERE id = 1") == "1");
}

TEST_CASE("schema: create finishes what a creation left half done, at every step") {
  // The version is written last. Somebody who creates by hand may have begun with any table.
  for (const bool without_version_table : {true, false}) {
    for (const auto& tables : std::vector<std::vector<const char*>>{
             {}, {"session"}, {"session", "lock"}, {"floor"}, {"floor", "lock", "session"}}) {
      made_tables s;
      s.at->run("DELETE FROM " + s.at->table("schema_version"));
      if (without_version_table) s.drop("schema_version");
      for (const char* const table : tables) s.drop(table);
      INFO(tables.size() << " tables are missing, and the version" << (without_version_table ? "'s table" : ""));
      CHECK_FALSE(s.said("verify").empty());
      CHECK(s.said().empty());
      s.check_works();
    }
  }
}

TEST_CASE_METHOD(made_tables, "schema: a migration that was interrupted is finished by create where it can be") {
  const auto fence = use_key(3);
  at->run("UPDATE " + at->table("schema_version") + " SET migration = 1");
  CHECK_THAT(said("verify"), ContainsSubstring("was begun and not finished"));
  CHECK(version() == "1 1");
  if (at->finishes_migrations()) {
    const auto missing = GENERATE(as<std::string>{}, "", "session", "floor");
    if (missing == "session") drop(missing);
    if (missing == "floor") at->run("DELETE FROM " + at->table(missing));
  }
  CHECK(said().empty());
  check_works();
  CHECK(actor(*at).acquire("k") == fence + 1);  // what there was is still there
}

TEST_CASE_METHOD(made_tables, "schema: tables of a later version, or on their way to it, are refused and not touched") {
  at->run("UPDATE " + at->table("schema_version") + " SET version = 7");
  for (const char* const mode : {"create", "verify"})
    CHECK_THAT(said(mode), ContainsSubstring("version 7") && ContainsSubstring("only 1"));
  at->run("UPDATE " + at->table("schema_version") + " SET migration = 1");
  for (const char* const mode : {"create", "verify"})
    CHECK_THAT(said(mode), ContainsSubstring("version 7 was begun and not finished"));
  CHECK(version() == "7 1");
}

TEST_CASE_METHOD(made_tables, "schema: a floor row that was lost is made far above all fences, and only by create",
                 "[T58]") {
  const auto fence = use_key(7);
  actor a(*at);
  at->run("DELETE FROM " + at->table("floor"));
  const reply refused = a.insert("new");  // it is not taken for a busy key
  CHECK(refused.result == outcome::failed);
  CHECK_THAT(refused.why.text, ContainsSubstring("floor") && ContainsSubstring("schema=create"));
  CHECK_THAT(said("verify"), ContainsSubstring("floor") && ContainsSubstring("schema=create"));
  CHECK(said().empty());
  CHECK(at->one("SELECT fence FROM " + at->table("floor") + " WHERE id = 1") == std::to_string(fence + 1'000'000));
  CHECK(a.acquire("new") == fence + 1'000'001);  // those that were deleted were higher
}

TEST_CASE_METHOD(tables_scene, "schema: verify makes nothing and says what is missing") {
  at->run("CREATE TABLE " + at->table("neighbour") + "(id INTEGER)");
  CHECK_THAT(said("verify"), ContainsSubstring("schema_version"));
  CHECK(at->tables() == 1);
  CHECK(said().empty());
  CHECK(at->tables() > 1);
  CHECK(said("verify").empty());
  drop("neighbour");
}

TEST_CASE_METHOD(made_tables, "schema: a table that is dropped while a service runs is told with the way to make it") {
  actor a(*at);
  drop("lock");
  const reply taken = a.take("k");
  CHECK(taken.result == outcome::failed);
  CHECK_FALSE(taken.why.transient);
  CHECK_THAT(taken.why.text, ContainsSubstring("lock") && ContainsSubstring("open the store once with schema=create"));
}

TEST_CASE_METHOD(made_tables, "schema: two prefixes in one database know nothing of each other") {
  const auto other = at->beside();
  actor a(*at), b(*other);
  CHECK(a.acquire("k") == 1);
  CHECK(b.acquire("k") == 1);
  CHECK(b.kill(a.id) == outcome::no);
  const auto held = b.inspected("k");
  REQUIRE(held.size() == 1);
  CHECK(held[0].session == b.id);
  for (auto* const each : {at.get(), other.get()})
    CHECK(each->one("SELECT COUNT(*) FROM " + each->table("lock")) == "1");
}

TEST_CASE_METHOD(made_tables, "schema: the database's file in sql/ makes what create makes") {
  const auto by_hand = make_tables_fixture();
  for (const auto& statement : by_hand->statements_by_hand()) by_hand->run(statement);
  by_hand->more = "schema=verify";
  by_hand->open();  // in a file, which has no clock of its own, it makes rows of the floor
  CHECK(by_hand->contents() == at->contents());
  actor a(*by_hand), b(*by_hand);
  CHECK(a.acquire("k") == 1);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(a.release("k", 1)) == outcome::yes);
}

}  // namespace dlock::test
