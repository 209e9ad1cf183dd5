// SPDX-License-Identifier: BSL-1.0

/// The pieces of SQL that claims of many rows are made of.

#include <fmt/format.h>

#include "contract/row/row_contract.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::test {

using enum outcome;
using answers = std::vector<outcome>;

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

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("row claim: free rows are those that nobody holds, abandoned ones may be dead", "[T74]") {
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

TEST_CASE("row claim: takes all rows that the transaction has locked in one statement") {
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

TEST_CASE("row claim: passes over what is held meanwhile") {
  row_scene s;
  row_actor a(s), b(s);
  const std::vector<lock_key> rows = {s.make(1), s.make(2)};
  b.acquire(rows[1]);
  ++a.nonce;
  CHECK(s.app->run(database_of(a).claim({*s.table, ids(rows), a.id, a.nonce, {}})) == 1);
  CHECK(b.at(rows[1]).holder == b.id);
  CHECK(b.at(rows[0]).holder == a.id);
}

TEST_CASE("row claim: where a column renews, the rows get an expiry, rounded up") {
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

TEST_CASE("row claim: lock columns can be added to a table that has rows") {
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

TEST_CASE_METHOD(one_row_actor,
                 "row: a holder whose session is in other lock tables keeps its row, and messages name those tables",
                 "[T16]") {
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

// Many rows of one table in one batch: each request has its own answer.

namespace {

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

TEST_CASE_METHOD(one_row_actor, "row: a table that is not there is not taken for a lock table, whatever it is called") {
  s.make(1);
  auto gone = std::make_shared<row_table>(*s.table);
  // The names of lock tables begin with dlock_, or with what the label begins with.
  const std::string name = GENERATE_COPY(std::string("dlock_gone"), s.table->label + "_gone");
  gone->table.replace(gone->table.find(s.table->label), s.table->label.size(), name);
  const auto row = lock_key::of_row(gone, {std::int64_t{1}});
  for (const auto& refused : {a.take(row), a.poll(row)}) {
    CHECK(refused.result == failed);
    CHECK_THAT(refused.why.text, ContainsSubstring(name) && !ContainsSubstring("schema=create"));
  }
}

TEST_CASE("row batch: 64 takes are granted together, each with its own fence and attempt, and released together") {
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

TEST_CASE("row batch: a take has its own answer among rows that are held, absent, expired or another program's") {
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

TEST_CASE("row batch: a release or cancel has its own answer among rows that are not ours any more") {
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

TEST_CASE("row batch: releases go by the attempt where the fence is a version that ordinary updates raise") {
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

TEST_CASE("row batch: of two requests that the database takes for the same row one is granted") {
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

TEST_CASE("row batch: the rows of acquire_all are taken and released by few statements") {
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

// The rows of a table that are held, as operators list them. Of databases, whose tables can be asked for their
// columns.

namespace {

std::vector<held_row> held(row_actor& actor, const std::shared_ptr<const row_table>& table, std::size_t limit = 100) {
  std::vector<held_row> found;
  CHECK(answer(actor.store->admin()->held_rows(*actor.connection, table, limit, found)) == outcome::yes);
  return found;
}

/// The tables that the store finds by itself, or that one.
std::vector<std::shared_ptr<const row_table>> tables(row_actor& actor, const std::string& name = {}) {
  std::vector<std::shared_ptr<const row_table>> found;
  CHECK(answer(actor.store->admin()->row_tables(*actor.connection, name, found)) == outcome::yes);
  return found;
}

/// The name of the table with its database, as an operator writes it.
std::string plain_name(const row_table& table) {
  std::string name = table.table;
  std::erase_if(name, [](char c) { return c == '`' || c == '"'; });
  return name;
}

}  // namespace

TEST_CASE("held rows: each has its key, its id and its holder, and a free row is none") {
  row_scene s({.id = row_id_kind::composite});
  row_actor a(s), b(s);
  const auto row = s.make(7, "it's"), other = s.make(8, "x:y"), freed = s.make(9, "z");
  CHECK(held(b, s.table).empty());
  const auto fence = a.acquire(row);
  a.acquire(other, 20min);
  REQUIRE(answer(a.release(freed, a.acquire(freed))) == outcome::yes);
  const auto found = held(b, s.table);
  REQUIRE(found.size() == 2);
  CHECK(found[0].holder.key == row.view());
  CHECK(found[0].id == row.row()->values);
  CHECK(found[0].holder.session == a.id);
  CHECK(found[0].holder.fence == fence);
  CHECK(found[0].holder.host == "host-a");
  CHECK(found[0].holder.kind == lease_kind::session);
  CHECK(found[1].holder.key == other.view());
  CHECK(found[1].holder.kind == lease_kind::expiring);
  CHECK(held(b, s.table, 1).size() == 1);
}

TEST_CASE("held rows: what has expired is free, and a dead session's row is dead") {
  row_scene s;
  row_actor a(s), b(s);
  const auto soon = s.make(1), gone = s.make(2);
  b.acquire(soon, for_moments);
  a.acquire(gone);
  a.close();
  pass_until(*s.fixture, [&] { return b.at(soon).expired; });
  const auto found = held(b, s.table);
  REQUIRE(found.size() == 1);
  CHECK(found[0].holder.key == gone.view());
  CHECK(found[0].holder.dead);
}

TEST_CASE_METHOD(one_row_actor, "held rows: the tables that can be locked are found by their columns' names") {
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  const auto found = tables(a, plain_name(*s.table));
  REQUIRE(found.size() == 1);
  const auto& table = *found.front();
  CHECK(table.table == s.table->table);
  CHECK(table.label == s.table->label);
  CHECK(table.id == s.table->id);
  CHECK(table.renewal == row_renewal::session);
  const auto rows = held(a, found.front());
  REQUIRE(rows.size() == 1);
  // The row can be asked for, and freed, by what was found.
  const auto key = lock_key::of_row(found.front(), rows.front().id);
  CHECK(key.view() == row.view());
  std::vector<holder_info> holder;
  CHECK(answer(a.store->admin()->inspect(*a.connection, {.row = key.row()}, holder)) == outcome::yes);
  REQUIRE(holder.size() == 1);
  CHECK(holder[0].fence == fence);
  CHECK(answer(a.release(key, fence)) == outcome::yes);
  CHECK(held(a, found.front()).empty());
}

TEST_CASE("held rows: a table shared with other programs is found, and shows their locks") {
  row_scene s({.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true});
  row_actor a(s);
  const auto row = s.make(1);
  REQUIRE(s.app->run(s.fixture->plain_take(*s.table, s.where(row), "java-7", 60)) == 1);
  const auto found = tables(a, plain_name(*s.table));
  REQUIRE(found.size() == 1);
  CHECK(found.front()->renewal == row_renewal::column);
  const auto rows = held(a, found.front());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].holder.label == "java-7");
  CHECK(rows[0].holder.kind == lease_kind::column);
  s.set(s.table->expires_at + "=" + s.fixture->plain_expiry(-5), row);
  CHECK(held(a, found.front()).empty());
}

TEST_CASE("held rows: a table whose rows can't be locked is refused by name, with the reason") {
  row_scene s({.without_lock_columns = true});
  row_actor a(s);
  for (const auto& name : {plain_name(*s.table), std::string("no_such_table")}) {
    std::vector<std::shared_ptr<const row_table>> found;
    const auto answered = a.store->admin()->row_tables(*a.connection, name, found);
    CHECK(answered.result == outcome::failed);
    CHECK(answered.why.text.find(name.substr(name.rfind('.') + 1)) != std::string::npos);
    CHECK(found.empty());
  }
}

}  // namespace dlock::test
