// SPDX-License-Identifier: BSL-1.0

/// The pieces of SQL that claims of many rows are made of.

#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "contract/row/row_contract.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::test {

namespace {

const stores::sql::application_database& database_of(const row_actor& actor) {
  const auto* const application = stores::sql::application_database_of(*actor.store);
  REQUIRE(application != nullptr);
  return *application;
}

std::vector<const row_id*> ids(const std::vector<lock_key>& rows) {
  std::vector<const row_id*> ids;
  for (const auto& row : rows) ids.push_back(row.row());
  return ids;
}

/// The ids of rows that a condition selects.
std::vector<std::string> where(row_scene& s, const std::string& condition, const std::string& end = "") {
  auto found = s.app->all("SELECT " + s.table->id.back() + " FROM " + s.table->table + " WHERE " + condition + end);
  std::sort(found.begin(), found.end());
  return found;
}

using Catch::Matchers::ContainsSubstring;
using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("row claim: free rows are those that nobody holds, abandoned ones may be dead", "[contract][rows][T74]") {
  row_scene s;
  row_actor a(s), gone(s), late(s, for_moments);
  const auto& sql = database_of(a);
  for (std::int64_t i = 1; i != 8; ++i) s.make(i);
  const auto row = [&](std::int64_t i) { return s.key({i}); };
  a.acquire(row(2));
  gone.acquire(row(3));
  gone.close();
  late.acquire(row(4));
  a.acquire(row(5), for_moments);
  a.acquire(row(6), for_long);
  s.set(s.table->owner + "='another program, whose text is as long as ours is'", row(7));
  pass_until(*s.fixture, [&] { return a.at(row(5)).expired && a.at(row(4)).expired; });
  CHECK(where(s, sql.free_rows(*s.table)) == texts{"1", "5"});
  CHECK(where(s, sql.abandoned_rows(*s.table)) == texts{"3", "4"});
}

TEST_CASE("row claim: takes all rows that the transaction has locked in one statement", "[contract][rows]") {
  const auto kind = GENERATE(row_id_kind::integer, row_id_kind::text, row_id_kind::composite);
  row_scene s({.id = kind});
  row_actor a(s), b(s);
  const auto& sql = database_of(a);
  std::vector<lock_key> rows;
  for (int i = 1; i != 5; ++i) rows.push_back(s.make_numbered(i));
  b.acquire(rows[3]);
  rows.pop_back();
  const auto wanted = ids(rows);
  s.app->begin();
  CHECK(where(s, sql.free_rows(*s.table), sql.lock_and_skip(*s.table)).size() == 3);
  CHECK(where(s, sql.rows_by_id(*s.table, wanted)).size() == 3);
  ++a.nonce;
  REQUIRE(s.app->run(sql.claim({*s.table, wanted, a.id, a.nonce, {}})) == 3);
  s.app->commit();
  for (const auto& row : rows) {
    const seen now = b.at(row);
    CHECK(now.holder == a.id);
    CHECK(now.nonce == a.nonce);
    CHECK(now.fence == 1);
    CHECK(now.kind == lease_kind::session);
    CHECK(s.number(s.table->version, row) == 1);
    CHECK(answer(a.release(row, 1)) == outcome::yes);
  }
  CHECK(s.number(s.table->fence, s.key(rows[0].row()->values)) == 1);
}

TEST_CASE("row claim: passes over what is held meanwhile", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const std::vector<lock_key> rows = {s.make(1), s.make(2)};
  b.acquire(rows[1]);
  ++a.nonce;
  CHECK(s.app->run(database_of(a).claim({*s.table, ids(rows), a.id, a.nonce, {}})) == 1);
  CHECK(b.at(rows[1]).holder == b.id);
  CHECK(b.at(rows[0]).holder == a.id);
}

TEST_CASE("row claim: where a column renews, the rows get an expiry, rounded up", "[contract][rows]") {
  row_scene s({.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true});
  row_actor a(s);
  const auto& sql = database_of(a);
  const std::vector<lock_key> rows = {s.make(1), s.make(2), s.make(3)};
  s.set(s.table->owner + "='java-1', " + s.table->expires_at + "=" + s.fixture->plain_expiry(60), rows[0]);
  s.set(s.table->owner + "='java-2', " + s.table->expires_at + "=" + s.fixture->plain_expiry(-5), rows[1]);
  CHECK(where(s, sql.free_rows(*s.table)) == texts{"2", "3"});
  CHECK(where(s, sql.abandoned_rows(*s.table)).empty());
  ++a.nonce;
  CHECK(s.app->run(sql.claim({*s.table, ids(rows), a.id, a.nonce, 20s})) == 2);
  const seen now = a.at(rows[1]);
  CHECK(now.holder == a.id);
  CHECK(now.kind == lease_kind::column);
  CHECK(now.remaining > 10s);
  CHECK(now.remaining < 23s);
  CHECK(a.at(rows[0]).who == "java-1");
  CHECK(answer(a.extend(rows[1], now.fence, 30s)) == outcome::yes);
}

TEST_CASE("row claim: lock columns can be added to a table that has rows", "[contract][rows]") {
  const auto renewal = GENERATE(row_renewal::session, row_renewal::column);
  const bool column = renewal == row_renewal::column;
  row_scene s({.renewal = renewal, .owner_not_null = column, .fence_is_version = column, .without_lock_columns = true});
  const auto row = s.make(1);
  row_actor a(s);
  // As many statements as the database needs.
  std::string all = database_of(a).add_columns(*s.table);
  while (!all.empty()) {
    const auto end = all.find(';');
    const auto statement = all.substr(0, end);
    all = end == std::string::npos ? std::string() : all.substr(end + 1);
    if (statement.find_first_not_of(" \n") != std::string::npos) s.app->run(statement);
  }
  CHECK_FALSE(a.at(row).holder);
  CHECK(answer(a.take(row, column ? 20s : 0s)) == outcome::yes);
  CHECK(a.at(row).holder == a.id);
  CHECK(a.at(row).fence == 1);
}

TEST_CASE("row: a holder whose session is in other lock tables keeps its row, and messages name those tables",
          "[contract][rows][T16]") {
  row_scene s;
  row_actor a(s);
  const auto row = s.make(1), brief = s.make(2);
  a.acquire(row);
  a.acquire(brief, for_moments);
  const auto written = s.owner(row);
  const auto foreign = s.fixture->open_other_tables();
  if (foreign == nullptr) SKIP("this place has one set of lock tables");
  const auto connection = connect(*foreign, 10s);
  const auto ask = [&](request q) {
    q.session = id128{{7}};
    q.nonce = 3;
    return executed(*foreign, *connection, q);
  };
  const auto about = [&](verb action, const lock_key& of) { return a.about(action, of); };
  CHECK(ask(about(verb::take, row)).result == outcome::no);
  const auto shown = ask(about(verb::poll, row)).holder;
  CHECK(shown.holder != a.id);
  CHECK_FALSE(shown.gone);
  CHECK_FALSE(shown.expired);
  CHECK_THAT(shown.who, ContainsSubstring("other lock tables (id " + s.fixture->tables_id() + ")") &&
                            ContainsSubstring(a.id.hex()));
  auto taking = about(verb::take_over, row);
  taking.expected = &shown;
  CHECK(ask(taking).result == outcome::no);
  std::vector<holder_info> found;
  REQUIRE(foreign->admin()->inspect(*connection, about(verb::poll, row), found).result == outcome::yes);
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].session);
  CHECK_FALSE(found[0].dead);
  CHECK(foreign->admin()->revoke(*connection, about(verb::poll, row)).result == outcome::no);
  // A claim neither takes the row nor finds it abandoned.
  const auto& sql = *stores::sql::application_database_of(*foreign);
  const auto* const id = row.row();
  CHECK(s.app->run(sql.claim({*s.table, {&id, 1}, id128{{7}}, 4, 0us})) == 0);
  CHECK(s.app->one("SELECT COUNT(*) FROM " + s.table->table + " WHERE " + sql.abandoned_rows(*s.table)) == "0");
  CHECK(s.owner(row) == written);
  // Time is the server's: an expiry in the row counts, whoever wrote it.
  pass_until(*s.fixture, [&] { return a.at(brief).expired; });
  CHECK(ask(about(verb::take, brief)).result == outcome::yes);
  CHECK(a.at(brief).who.find("other lock tables") != std::string::npos);
  // The first program's row is still its own.
  CHECK(a.at(row).holder == a.id);
}

}  // namespace dlock::test
