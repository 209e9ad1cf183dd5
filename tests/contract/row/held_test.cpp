// SPDX-License-Identifier: BSL-1.0

/// The rows of a table that are held, as operators list them. Of databases, whose tables can be asked for their
/// columns.

#include <algorithm>
#include <vector>

#include "contract/row/row_contract.hpp"

namespace dlock::test {

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

TEST_CASE("held rows: each has its key, its id and its holder; a free row is none", "[contract][rows]") {
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

TEST_CASE("held rows: what has expired is free, and a dead session's row is dead", "[contract][rows]") {
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

TEST_CASE("held rows: the tables that can be locked are found by their columns' names", "[contract][rows]") {
  row_scene s;
  row_actor a(s);
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

TEST_CASE("held rows: a table shared with other programs is found, and shows their locks", "[contract][rows]") {
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

TEST_CASE("held rows: a table whose rows can't be locked is refused by name, with the reason", "[contract][rows]") {
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
