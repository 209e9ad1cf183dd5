// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/row_sql.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "dlock/lock_key.hpp"
#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/sql.hpp"
#include "stores/sql/row_owner.hpp"

using namespace dlock;
using namespace dlock::stores::mysql;
using namespace dlock::stores::mysql::lease_table;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

struct row_sql {
  explicit row_sql(row_table mapped = {}) : table(std::make_shared<row_table>(std::move(mapped))) {
    sql.tables(stores::sql::tables_id(31 * 32 + 1));
  }

  request about(verb action) const {
    return {.action = action,
            .resource = key.view(),
            .session = session,
            .row = key.row(),
            .nonce = 0x2a,
            .fence = 7,
            .kind = own_ttl > microseconds{0} ? lease_kind::expiring : lease_kind::session,
            .ttl = own_ttl};
  }

  std::shared_ptr<row_table> table;
  lock_key key = lock_key::of_row(table, {std::int64_t{-5}});
  id128 session{{0xab}};
  microseconds own_ttl{0};
  // The names that the statements come from.
  lease_sql hot{stores::sql::make_table_names<odb::id_mysql>("x_", '`')};
  mysql_row_sql sql{hot.names(), "lo`cks"};
};

row_table by_session() {
  return {.table = "`app`.`orders`",
          .label = "orders",
          .id = {"`id`"},
          .owner = "`lock_owner`",
          .expires_at = "`lock_expires_at_us`",
          .fence = "`lock_fence`",
          .version = "`version`"};
}

row_table by_column() {
  auto table = by_session();
  table.expires_at = "`lock_expire_time`";
  table.fence = "`version`";
  table.renewal = row_renewal::column;
  table.owner_not_null = true;
  return table;
}

const std::string me = "ab000000000000000000000000000000/00v100000000002a";

std::size_t count(const std::string& in, const std::string& part) {
  std::size_t found = 0;
  for (auto at = in.find(part); at != std::string::npos; at = in.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("mysql row sql: a take is one update by primary key that reads no session", "[unit]") {
  const row_sql s(by_session());
  const auto take = s.sql.change(s.about(verb::take));
  CHECK_THAT(take, StartsWith("UPDATE `app`.`orders` SET `lock_owner` = '" + me +
                              "', "
                              "`lock_fence` = LAST_INSERT_ID(`lock_fence` + 1), `version` = `version` + 1, "
                              "`lock_expires_at_us` = NULL WHERE `id` = -5 AND (`lock_owner` IS NULL OR "));
  CHECK(take.find("session") == std::string::npos);
  CHECK(take.find_first_of("{}?") == std::string::npos);
}

TEST_CASE("mysql row sql: a take over names what was seen, in both of its forms", "[unit]") {
  const row_sql s(by_session());
  auto q = s.about(verb::take_over);
  seen dead{.holder = id128{{0xcd}}, .fence = 9, .nonce = 1, .kind = lease_kind::session, .gone = true};
  q.expected = &dead;
  const auto text = s.sql.change(q);
  const std::string holder = "cd000000000000000000000000000000/00v1000000000001";
  CHECK_THAT(text, ContainsSubstring("`lock_owner` IN ('" + holder + "', '" + holder + "+')"));
  CHECK_THAT(text, ContainsSubstring("`lock_fence` = 9"));
  CHECK_THAT(text, ContainsSubstring("NOT EXISTS (SELECT 1 FROM `lo``cks`.`x_session` s WHERE "
                                     "s.`id` = X'cd000000000000000000000000000000')"));
  // Nobody can say whether another program lives.
  dead.holder = stores::sql::foreign_owner;
  CHECK(s.sql.change(q).find("NOT EXISTS") == std::string::npos);
}

TEST_CASE("mysql row sql: a version that is the fence is raised once and proves nothing", "[unit]") {
  row_sql s(by_column());
  s.own_ttl = std::chrono::seconds{10};
  const auto take = s.sql.change(s.about(verb::take));
  CHECK(count(take, "`version` + 1") == 1);
  CHECK_THAT(take, ContainsSubstring("DIV 1000000)"));  // whole seconds, up
  for (const auto& text : {s.sql.change(s.about(verb::extend)), s.sql.change(s.about(verb::release)),
                           s.sql.verify(s.about(verb::poll)).text, s.sql.change(s.about(verb::cancel))}) {
    INFO(text);
    CHECK(text.find("version") == std::string::npos);
    CHECK_THAT(text, ContainsSubstring("IN ('" + me + "', '" + me + "+')"));
  }
  const row_sql own(by_session());
  for (const auto& text : {own.sql.change(own.about(verb::extend)), own.sql.change(own.about(verb::release)),
                           own.sql.verify(own.about(verb::poll)).text}) {
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("`lock_fence` = 7"));
    CHECK(text.find("version") == std::string::npos);  // raised by grants alone
  }
}

TEST_CASE("mysql row sql: claims of composite ids name the columns one by one", "[unit]") {
  auto table = by_session();
  table.id = {"`region`", "`name`"};
  const auto shared = std::make_shared<row_table>(table);
  const auto first = lock_key::of_row(shared, {std::int64_t{1}, std::string("it's")});
  const auto second = lock_key::of_row(shared, {std::int64_t{2}, std::string("b")});
  const std::vector<const row_id*> rows{first.row(), second.row()};
  const row_sql s(by_session());
  CHECK(s.sql.rows_by_id(table, rows) ==
        "((`orders`.`region` = 1 AND `orders`.`name` = _utf8mb4 X'69742773') OR (`orders`.`region` = 2 AND "
        "`orders`.`name` = 'b'))");
  CHECK_THAT(s.sql.claim({table, rows, s.session, 1, {}}, session_zone::utc),
             ContainsSubstring("`lock_fence` = `lock_fence` + 1"));
}

TEST_CASE("mysql row sql: added columns make free rows, whatever the server's defaults are", "[unit]") {
  const row_sql s(by_session());
  CHECK(s.sql.add_columns(*s.table) ==
        "ALTER TABLE `app`.`orders` ADD COLUMN `lock_owner` VARCHAR(50) NULL, ADD COLUMN `lock_expires_at_us` BIGINT "
        "NULL, ADD COLUMN `lock_fence` BIGINT UNSIGNED NOT NULL DEFAULT 0");
  const row_sql column(by_column());
  const auto text = column.sql.add_columns(*column.table);
  CHECK_THAT(text, ContainsSubstring("`lock_owner` VARCHAR(50) NOT NULL DEFAULT ''"));
  CHECK_THAT(text, EndsWith("TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP"));
}

TEST_CASE("mysql row sql: names and values survive quotation", "[unit]") {
  CHECK(quote_mysql_name("a`b") == "`a``b`");
  CHECK(stores::sql::bare_name("`app`.`orders`", '`') == "orders");
  CHECK(stores::sql::bare_name("`a.b`.`c``d.e`", '`') == "c`d.e");
  CHECK(stores::sql::bare_name("orders", '`') == "orders");
  CHECK(mysql_value_literal(std::int64_t{-9}) == "-9");
  CHECK(mysql_value_literal(std::uint64_t{18446744073709551615u}) == "18446744073709551615");
  CHECK(mysql_value_literal(std::string("a/B9+")) == "'a/B9+'");
  CHECK(mysql_value_literal(std::string("\\'")) == "_utf8mb4 X'5C27'");
  CHECK(mysql_value_literal(std::string()) == "''");
  CHECK(mysql_value_literal(verification::bytes{std::string("\0", 1)}) == "X'00'");
}

TEST_CASE("mysql sql: takes can be told not to wait, and nothing else is", "[unit]") {
  const lease_sql sql(stores::sql::make_table_names<odb::id_mysql>("dlock_", '`'));
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto which = static_cast<statement_id>(i);
    const bool take = which == statement_id::take || which == statement_id::take_over;
    const auto expected = (take ? std::string(lease_sql::quick_prefix) : std::string()) + sql.statement(which).sql;
    CHECK(sql.statement(which, true).sql == expected);
    CHECK(sql.statement(which, true).parameters == sql.statement(which).parameters);
  }
}
