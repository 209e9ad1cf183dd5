// SPDX-License-Identifier: BSL-1.0

#include "stores/mysql/lease_table/sql.hpp"
#include "dlock/lock_key.hpp"
#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/sql/row_owner.hpp"
#include "support/mysql_row_text.hpp"
#include "support/test.hpp"

using namespace dlock::stores::mysql::lease_table;
using namespace dlock::stores::mysql;
using namespace dlock;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using dlock::test::text_of;

namespace {

dlock::stores::sql::table_names names(const std::string& prefix) {
  return dlock::stores::sql::make_table_names(prefix, '`');
}

std::string written_out(const dlock::stores::sql::statement_text& text, lease_values& values) {
  return make_statement(text, values).written_out();
}

}  // namespace

TEST_CASE("mysql sql: each statement has as many markers as values and no placeholder left") {
  const lease_sql sql(names("dlock_"));
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto& text = sql.statement(static_cast<statement_id>(i));
    INFO(text.sql);
    CHECK(static_cast<std::size_t>(std::count(text.sql.begin(), text.sql.end(), '?')) == text.parameters.size());
    CHECK(text.sql.find_first_of("{}") == std::string::npos);
    CHECK(*text.name != '\0');
  }
}

TEST_CASE("mysql sql: the prefix stands in every table name and nowhere is the default left") {
  const lease_sql sql(names("app7_"));
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto& text = sql.statement(static_cast<statement_id>(i)).sql;
    INFO(text);
    CHECK(text.find("`app7_") != std::string::npos);
    CHECK(text.find("dlock_") == std::string::npos);
  }
}

TEST_CASE("mysql sql: a key is held by its row alone, never by a named lock", "[T61]") {
  const lease_sql sql(names("dlock_"));
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto& text = sql.statement(static_cast<statement_id>(i)).sql;
    INFO(text);
    CHECK(text.find("_LOCK(") == std::string::npos);  // GET_, RELEASE_, IS_FREE_, IS_USED_
  }
}

TEST_CASE("mysql sql: a take over names holder and fence, and a take reads no session") {
  const lease_sql sql(names("dlock_"));
  CHECK(sql.statement(statement_id::take).sql.find("dlock_session") == std::string::npos);
  const auto& over = sql.statement(statement_id::take_over);
  CHECK(over.sql.find("`session_id` = ? AND `fence` = ?") != std::string::npos);
  // The insert reads the floor with a lock; without it a fence could go back.
  CHECK(sql.statement(statement_id::insert).sql.find("LOCK IN SHARE MODE") != std::string::npos);
}

TEST_CASE("mysql sql: a statement that is sent as text has each value in its place") {
  const lease_sql sql(names("x_"));
  lease_values values;
  values.key.assign(std::string_view("a?'\0", 4));
  values.session.assign(std::string(16, '\x01'));
  values.holder.assign(std::string(16, '\x02'));
  values.nonce = 18446744073709551615u;
  values.fence = 7;
  values.seen_fence = 8;
  values.own_ttl = 9;
  values.host.assign("h\xc3\xb6st");
  const std::string first = "X'01010101010101010101010101010101'";
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto& hot = sql.statement(static_cast<statement_id>(i));
    INFO(hot.sql);
    CHECK(written_out(hot, values).find('?') == std::string::npos);
  }
  const auto take = written_out(sql.statement(statement_id::take), values);
  CHECK(take.find("`session_id` = " + first + ", `nonce` = 18446744073709551615,") != std::string::npos);
  CHECK(take.find("`expires_at_us` = 9 + TIMESTAMPDIFF") != std::string::npos);
  CHECK(take.find("`lock_key` = X'613F2700'") != std::string::npos);
  values.no_own_ttl = 1;
  CHECK(written_out(sql.statement(statement_id::take), values).find("`expires_at_us` = NULL + TIMESTAMPDIFF") !=
        std::string::npos);
  const auto over = written_out(sql.statement(statement_id::take_over), values);
  CHECK(over.find("`session_id` = X'02020202020202020202020202020202' AND `fence` = 8") != std::string::npos);
  const auto open = written_out(sql.statement(statement_id::session_open), values);
  CHECK(open.find("_utf8mb4 X'68C3B67374', 0, ''") != std::string::npos);
}

TEST_CASE("odb names: ODB's own statements get the prefix and may meet tables that are there") {
  const auto prefixed = names("x_");
  CHECK(prefixed.adapt("CREATE TABLE `dlock_lock` (`lock_key` VARBINARY(255))") ==
        "CREATE TABLE IF NOT EXISTS `x_lock` (`lock_key` VARBINARY(255))");
  CHECK(prefixed.adapt("INSERT IGNORE INTO `dlock_schema_version` (`name`) VALUES ('dlock')") ==
        "INSERT IGNORE INTO `x_schema_version` (`name`) VALUES ('dlock')");
  CHECK(prefixed.table("lock") == "x_lock");
}

TEST_CASE("odb names: a prefix is a word of at most 40 characters") {
  for (const std::string bad : {"", "a-b", "a`b", "a.b", "a b", "\xc3\xa4"})
    CHECK_THROWS_AS(names(bad), std::invalid_argument);
  CHECK_THROWS_AS(names(std::string(41, 'a')), std::invalid_argument);
  CHECK_NOTHROW(names(std::string(40, 'a')));
}

TEST_CASE("odb names: an unknown placeholder is a mistake that shows at once") {
  CHECK_THROWS_AS(names("x_").expand("SELECT {lock.colour}"), std::logic_error);
  CHECK_THROWS_AS(names("x_").expand("SELECT {lock"), std::logic_error);
}

TEST_CASE("mysql text: what a column can't hold is cut between characters or replaced") {
  CHECK(clip_utf8("host-7", 255) == "host-7");
  CHECK(clip_utf8("h\xc3\xa4\xc3\xa4", 2) == "h\xc3\xa4");
  CHECK(clip_utf8("a\xff\xc3", 9) == "a??");
  CHECK(clip_utf8("\xed\xa0\x80", 9) == "???");  // a surrogate
  CHECK(clip_utf8("\xf0\x9f\x94\x92!", 1) == "\xf0\x9f\x94\x92");
  CHECK(clip_utf8("\xe0\x80\x80", 9) == "???");  // overlong
  CHECK(clip_utf8(std::string_view("a\0b", 3), 9) == "a?b");
  CHECK(clip_utf8("", 9).empty());
}

TEST_CASE("mysql server: its version is that of its text, also where MySQL's client library takes MariaDB for 5.5.5") {
  CHECK(version_in("10.11.19-MariaDB-0+deb12u1") == 101119);
  CHECK(version_in("5.5.5-10.11.7-MariaDB-2ubuntu2") == 101107);
  CHECK(version_in("11.8.9-MariaDB") == 110809);
  CHECK(version_in("9.7.0") == 90700);
  CHECK(version_in("8.0.36-0ubuntu0.24.04.1") == 80036);
  CHECK(version_in("5.5.5-log") == 50505);
  CHECK(version_in("10.11") == 0);
  CHECK(version_in("ten") == 0);
  CHECK(version_in("") == 0);
}

TEST_CASE("mysql server: only the same start of the same process can be asked to end a connection") {
  using enum lost_connection;
  const dlock::connection_identity lost{"s1", "1700000000@node", 7};
  CHECK(compare_servers(lost, {"s1", "1700000000@node", 9}) == reachable);
  CHECK(compare_servers(lost, {"s1", "1700000044@node", 9}) == ended);          // it was restarted since
  CHECK(compare_servers(lost, {"s2", "1700000000@node", 9}) == out_of_reach);   // another server
  CHECK(compare_servers(lost, {"s1", "1700000044@other", 9}) == out_of_reach);  // another node of the cluster
  CHECK(compare_servers({"s1", "@node", 7}, {"s1", "1700000000@node", 9}) == out_of_reach);
  CHECK(compare_servers({"s1", "5@proxy", 7}, {"s1", "5@proxy", 9}) == out_of_reach);
}

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
  lease_sql hot{stores::sql::make_table_names("x_", '`')};
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

TEST_CASE("mysql row sql: a take is one update by primary key that reads no session") {
  const row_sql s(by_session());
  const auto take = text_of(s.sql, s.about(verb::take));
  CHECK_THAT(take, StartsWith("UPDATE `app`.`orders` SET `lock_owner` = '" + me +
                              "', "
                              "`lock_fence` = LAST_INSERT_ID(`lock_fence` + 1), `version` = `version` + 1, "
                              "`lock_expires_at_us` = NULL + TIMESTAMPDIFF("));
  CHECK_THAT(take, ContainsSubstring(" WHERE `id` = -5 AND (`lock_owner` IS NULL OR "));
  CHECK(take.find("session") == std::string::npos);
  CHECK(take.find_first_of("{}?") == std::string::npos);
}

TEST_CASE("mysql row sql: one prepared statement serves all rows of a table, however long their ids are") {
  row_sql s(by_session());
  using stores::sql::row_statement;
  const auto take = s.sql.prepared(row_statement::take, *s.table);
  CHECK_THAT(take.sql, StartsWith("UPDATE `app`.`orders` SET `lock_owner` = ?, ") &&
                           ContainsSubstring("`lock_expires_at_us` = ? + TIMESTAMPDIFF(") &&
                           ContainsSubstring(" WHERE `id` = ? AND ("));
  CHECK(take.parameters.size() == 3);
  const auto over = s.sql.prepared(row_statement::take_over, *s.table);
  CHECK(count(over.sql, "?") == over.parameters.size());
  CHECK(over.parameters.size() == 7);
  // The most that a primary key can have.
  for (int i = 2; i <= 16; ++i) s.table->id.push_back("`id" + std::to_string(i) + "`");
  const auto longest = s.sql.prepared(row_statement::take_over, *s.table);
  CHECK(longest.parameters.size() <= stores::mysql::mysql_statement::most_fields);
  CHECK(count(longest.sql, "?") == longest.parameters.size());
}

TEST_CASE("mysql row sql: a name with a question mark or a colon is no parameter") {
  auto table = by_session();
  table.table = "`app`.`what? :id1`";
  const row_sql s(table);
  CHECK_THAT(text_of(s.sql, s.about(verb::take)),
             StartsWith("UPDATE `app`.`what? :id1` SET `lock_owner` = '" + me + "'") &&
                 ContainsSubstring("WHERE `id` = -5 AND"));
}

TEST_CASE("mysql row sql: a text is a parameter where the column has the same characters") {
  const std::string ascii = "plain", other = "gr\xc3\xbc\xc3\x9f";
  const auto bound = [](std::string charset, const std::string& value, std::string of_application = "") {
    auto table = by_session();
    table.charset = std::move(of_application);
    table.id_text = {{std::move(charset), "any"}};
    return stores::mysql::lease_table::can_be_bound({std::make_shared<row_table>(table), {value}});
  };
  CHECK(bound("utf8mb4", other));
  CHECK(bound("", other));
  CHECK(bound("binary", other));
  CHECK(bound("latin1", ascii));
  CHECK_FALSE(bound("latin1", other));
  CHECK(bound("utf8mb4", other, "utf8mb4"));
  CHECK_FALSE(bound("utf8mb4", other, "latin1"));
  CHECK(bound("utf8mb4", ascii, "latin1"));
  CHECK(bound("binary", other, "latin1"));
}

TEST_CASE("mysql row sql: a take over names what was seen, in both of its forms") {
  const row_sql s(by_session());
  auto q = s.about(verb::take_over);
  seen dead{.holder = id128{{0xcd}}, .fence = 9, .nonce = 1, .kind = lease_kind::session, .gone = true};
  q.expected = &dead;
  const auto text = text_of(s.sql, q);
  const std::string holder = "cd000000000000000000000000000000/00v1000000000001";
  CHECK_THAT(text, ContainsSubstring("`lock_owner` IN ('" + holder + "', '" + holder + "+')"));
  CHECK_THAT(text, ContainsSubstring("`lock_fence` = 9"));
  CHECK_THAT(text, ContainsSubstring("NOT EXISTS (SELECT 1 FROM `lo``cks`.`x_session` s WHERE "
                                     "s.`id` = X'CD000000000000000000000000000000')"));
  // Nobody can say whether another program lives.
  dead.holder = stores::sql::foreign_owner;
  CHECK(text_of(s.sql, q).find("NOT EXISTS") == std::string::npos);
}

TEST_CASE("mysql row sql: a version that is the fence is raised once and proves nothing") {
  row_sql s(by_column());
  s.own_ttl = std::chrono::seconds{10};
  const auto take = text_of(s.sql, s.about(verb::take));
  CHECK(count(take, "`version` + 1") == 1);
  CHECK_THAT(take, ContainsSubstring("DIV 1000000)"));  // whole seconds, up
  for (const auto& text : {text_of(s.sql, s.about(verb::extend)), text_of(s.sql, s.about(verb::release)),
                           s.sql.about(s.about(verb::poll), stores::sql::row_statement::verify).text,
                           text_of(s.sql, s.about(verb::cancel))}) {
    INFO(text);
    CHECK(text.find("version") == std::string::npos);
    CHECK_THAT(text, ContainsSubstring("IN ('" + me + "', '" + me + "+')"));
  }
  const row_sql own(by_session());
  for (const auto& text : {text_of(own.sql, own.about(verb::extend)), text_of(own.sql, own.about(verb::release)),
                           own.sql.about(own.about(verb::poll), stores::sql::row_statement::verify).text}) {
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("`lock_fence` = 7"));
    CHECK(text.find("version") == std::string::npos);  // raised by grants alone
  }
}

TEST_CASE("mysql row sql: claims of composite ids name the columns one by one") {
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
  CHECK_THAT(s.sql.claim({table, rows, s.session, 1, {}}), ContainsSubstring("`lock_fence` = `lock_fence` + 1"));
}

TEST_CASE("mysql row sql: added columns make free rows, whatever the server's defaults are") {
  const row_sql s(by_session());
  CHECK(
      s.sql.add_columns(*s.table) ==
      "ALTER TABLE `app`.`orders` ADD COLUMN `lock_owner` VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NULL, ADD "
      "COLUMN `lock_expires_at_us` BIGINT NULL, ADD COLUMN `lock_fence` BIGINT UNSIGNED NOT NULL DEFAULT 0");
  const row_sql column(by_column());
  const auto text = column.sql.add_columns(*column.table);
  CHECK_THAT(text, ContainsSubstring("`lock_owner` VARCHAR(50) NOT NULL DEFAULT ''"));
  CHECK_THAT(text, EndsWith("TIMESTAMP(0) NOT NULL DEFAULT '2000-01-01 00:00:00'"));
}

TEST_CASE("mysql row sql: names and values survive quotation") {
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

TEST_CASE("mysql sql: what can meet a row lock can be told not to wait, and nothing else is") {
  const lease_sql sql(stores::sql::make_table_names("dlock_", '`'));
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto which = static_cast<statement_id>(i);
    const auto all = {statement_id::take,    statement_id::take_over, statement_id::extend,
                      statement_id::pass_on, statement_id::release,   statement_id::release_min_hold,
                      statement_id::cancel,  statement_id::reserve};
    const bool quick = std::find(all.begin(), all.end(), which) != all.end();
    const auto expected = (quick ? std::string(stores::mysql::quick_prefix) : std::string()) + sql.statement(which).sql;
    CHECK(sql.statement(which, true).sql == expected);
    CHECK(sql.statement(which, true).parameters == sql.statement(which).parameters);
  }
}
