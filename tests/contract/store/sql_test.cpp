// SPDX-License-Identifier: BSL-1.0

// sql: what the code above all SQL databases may expect of a driver's connection.

#include "stores/sql/sql_connection.hpp"

#include <limits>
#include <stdexcept>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

using namespace stores::sql;

/// A connection and a table.
struct sql_scene {
  sql_scene() {
    change("CREATE TABLE " + things + " (name VARCHAR(50), number BIGINT, bytes VARBINARY(50), id BINARY(16))");
  }
  ~sql_scene() {
    try {
      static_cast<sql_connection&>(*connect(*store)).change({"DROP TABLE " + things, "drop"}, {});
    } catch (const std::exception& e) {
      WARN("a table of a test stays behind: " << e.what());
    }
  }

  sql_connection& on() { return static_cast<sql_connection&>(*connection); }
  outcome change(const std::string& sql, sql_values values = {}) {
    return answer(on().change({sql, "change"}, values));
  }
  sql_rows read(const std::string& sql, sql_values values = {}) {
    sql_rows rows;
    CHECK(answer(on().read({sql, "read"}, values, rows)) == outcome::yes);
    return rows;
  }
  std::int64_t count() { return read("SELECT COUNT(*) FROM " + things).at(0).integer(0); }

  std::unique_ptr<store_fixture> fixture = make_store_fixture();
  std::shared_ptr<dlock::store> store = fixture->open();
  std::unique_ptr<dlock::connection> connection = connect(*store);
  const std::string things = "things_" + id128::random().hex();
};

}  // namespace

TEST_CASE_METHOD(sql_scene, "sql: values come back as they were written") {
  const std::string name = "it's \"a\" \\ name: `x` ?";
  const std::string bytes("\0'\xff\\", 4);
  const auto number = std::numeric_limits<std::int64_t>::min();
  const auto id = id128::random();
  CHECK(change("INSERT INTO " + things + " VALUES (:name, :number, :bytes, :id)",
               {{"name", name}, {"number", number}, {"bytes", sql_bytes{bytes}}, {"id", id}}) == outcome::yes);
  const auto rows = read("SELECT name, number, bytes, id, ':none' FROM " + things + " WHERE name = :name AND id = :id",
                         {{"id", id}, {"name", name}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].text(0) == name);
  CHECK(rows[0].integer(1) == number);
  CHECK(rows[0].time(1) == 0us);
  CHECK(rows[0].text(2) == bytes);
  CHECK(rows[0].id(3) == id);
  CHECK(rows[0].text(4) == ":none");
  CHECK(rows[0].key(1) == row_value{number});
  CHECK(rows[0].key(0) == row_value{name});
}

TEST_CASE_METHOD(sql_scene, "sql: NULL is told from nothing, and an empty value from NULL") {
  CHECK(change("INSERT INTO " + things + " VALUES (:name, :number, :bytes, NULL)",
               {{"name", std::string_view()}, {"number", sql_value{}}, {"bytes", sql_bytes{}}}) == outcome::yes);
  const auto row = read("SELECT name, number, bytes, id FROM " + things).at(0);
  CHECK_FALSE(row.null(0));
  CHECK(row.null(1));
  CHECK_FALSE(row.null(2));
  CHECK(row.null(3));
  CHECK(row.integer(1) == 0);
  CHECK(row.text(1).empty());
  CHECK(row.id(3) == id128{});
  CHECK(row.id(2) == id128{});
  CHECK(read("SELECT name FROM " + things + " WHERE name = 'none'").empty());
}

TEST_CASE_METHOD(sql_scene, "sql: a change says whether it changed a row") {
  CHECK(change("INSERT INTO " + things + " (number) VALUES (:number)", {{"number", std::int64_t{1}}}) == outcome::yes);
  CHECK(change("UPDATE " + things + " SET number = 1 WHERE number = 1") == outcome::yes);  // matched is enough
  CHECK(change("UPDATE " + things + " SET number = 2 WHERE number = :number", {{"number", std::uint64_t{7}}}) ==
        outcome::no);
  CHECK(change("DELETE FROM " + things) == outcome::yes);
  CHECK(change("DELETE FROM " + things) == outcome::no);
}

TEST_CASE_METHOD(sql_scene, "sql: a parameter without a value and a value without a parameter are mistakes") {
  sql_rows rows;
  const sql_parameter a{"a", std::int64_t{1}};
  CHECK_THROWS_AS(on().read({"SELECT :a", "read"}, {}, rows), std::logic_error);
  CHECK_THROWS_AS(on().read({"SELECT 1", "read"}, {a}, rows), std::logic_error);
  CHECK_THROWS_AS(on().change({"DELETE FROM " + things + " WHERE number = :a AND number = :b", "delete"}, {a}),
                  std::logic_error);
  CHECK(read("SELECT :a + :a", {{"a", std::int64_t{2}}}).at(0).integer(0) == 4);
}

TEST_CASE_METHOD(sql_scene, "sql: what failed is no answer, and the connection goes on") {
  sql_rows rows;
  const auto failed = on().read({"SELECT nothing FROM " + things, "look for nothing"}, {}, rows);
  CHECK(failed.result == outcome::failed);
  CHECK_FALSE(failed.why.text.empty());
  CHECK(rows.empty());
  CHECK(on().change({"DELETE FROM nothing", "delete nothing"}, {}).result == outcome::failed);
  CHECK(count() == 0);
}

TEST_CASE_METHOD(sql_scene, "sql: changes of one body are one commit where there is one lock for the file") {
  const auto insert = [&] { return change("INSERT INTO " + things + " (number) VALUES (1)"); };
  auto all = [&]() -> reply {
    for (int i = 0; i != 3; ++i) CHECK(insert() == outcome::yes);
    return {.result = outcome::yes};
  };
  CHECK(answer(on().transact(body_ref(all))) == outcome::yes);
  CHECK(count() == 3);
  auto half = [&]() -> reply {
    CHECK(insert() == outcome::yes);
    return {.result = outcome::no};
  };
  CHECK(on().transact(body_ref(half)).result == outcome::no);
  CHECK(count() == (on().locks() == row_locks::of_file ? 3 : 4));
  auto thrown = [&]() -> reply {
    CHECK(insert() == outcome::yes);
    throw std::runtime_error("thrown");
  };
  CHECK_THROWS_AS(on().transact(body_ref(thrown)), std::runtime_error);
  CHECK(count() == (on().locks() == row_locks::of_file ? 3 : 5));
  CHECK(insert() == outcome::yes);
  CHECK(count() == (on().locks() == row_locks::of_file ? 4 : 6));
}

TEST_CASE_METHOD(sql_scene, "sql: what a verb throws becomes its reply") {
  const auto thrown = attempt(on(), "try", [](sql_connection&) -> reply { throw std::runtime_error("of the verb"); });
  CHECK(thrown.result != outcome::yes);
  CHECK_THAT(thrown.why.text, Catch::Matchers::ContainsSubstring("of the verb"));
  CHECK(attempt(*connect(*store), "try", [](sql_connection&) { return reply{.result = outcome::no}; }).result ==
        outcome::no);
}

TEST_CASE_METHOD(sql_scene, "sql: an interrupted connection attempts nothing") {
  on().interrupt();
  bool sent = false;
  const auto refused = attempt(on(), "try", [&](sql_connection& with) {
    sql_rows rows;
    auto said = with.read({"SELECT 1", "read"}, {}, rows);
    sent = said.result == outcome::yes;
    return said;
  });
  CHECK(refused.result == outcome::failed);
  CHECK(refused.why.connection);
  CHECK_FALSE(sent);
}

}  // namespace dlock::test
