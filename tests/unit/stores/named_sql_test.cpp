// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/named_sql.hpp"
#include "support/test.hpp"

using namespace dlock::stores::sql;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr std::array<std::string_view, 3> known{"key", "session", "now"};
using positions = std::vector<std::size_t>;

enum class id { first, second };

const table_names& names() {
  static const table_names names = [] {
    table_names prefixed("x_", '`');
    prefixed.add_text("lock", "`x_lock`");
    return prefixed;
  }();
  return names;
}

}  // namespace

TEST_CASE("named sql: a statement over several lines is sent in one, and quoted texts stay as they are") {
  CHECK(in_one_line("\nSELECT a,\n       b\nFROM  t\nWHERE c = 'x  y\n''  z' AND `d  e` = \"f  g\"\n") ==
        "SELECT a, b FROM t WHERE c = 'x  y\n''  z' AND `d  e` = \"f  g\"");
  CHECK(in_one_line(" \n ").empty());
}

TEST_CASE("named sql: each use of a parameter is a marker, or each name is one, as the database has it") {
  const auto* const text =
      "UPDATE t SET a = :session,\n  b = 12:00, c = ':key', d = :now WHERE e=:key AND f = :session";
  const auto marked = find_parameters("take", text, known, marker::question);
  CHECK(marked.sql == "UPDATE t SET a = ?, b = 12:00, c = ':key', d = ? WHERE e=? AND f = ?");
  CHECK(marked.parameters == positions{1, 2, 0, 1});
  const auto named = find_parameters("take", text, known, marker::name);
  CHECK(named.sql == "UPDATE t SET a = :session, b = 12:00, c = ':key', d = :now WHERE e=:key AND f = :session");
  CHECK(named.parameters == positions{1, 2, 0});
}

TEST_CASE("named sql: a parameter that is not known, or that no statement uses, fails at once and is named") {
  CHECK_THROWS_MATCHES(find_parameters("take", "DELETE FROM t WHERE a = :sesion", known, marker::question),
                       std::logic_error, MessageMatches(ContainsSubstring("'take'") && ContainsSubstring(":sesion")));
  const std::array sources{statement_source<id>{id::first, "one", "SELECT :key FROM {lock}"},
                           statement_source<id>{id::second, "two", "SELECT :session"}};
  CHECK_THROWS_MATCHES(make_statements<id>({sources}, dictionary({}, &names()), known, marker::name), std::logic_error,
                       MessageMatches(ContainsSubstring("':now'")));
  const auto statements = make_statements<id>({sources}, dictionary({}, &names()),
                                              std::array<std::string_view, 2>{"key", "session"}, marker::name);
  CHECK(statements.at(0).sql == "SELECT :key FROM `x_lock`");
}

TEST_CASE("named sql: statements that are not in the order of their ids fail at once") {
  const std::array sources{statement_source<id>{id::second, "two", "SELECT :key"}};
  CHECK_THROWS_MATCHES(make_statements<id>({sources}, dictionary({}, &names()), known, marker::name), std::logic_error,
                       MessageMatches(ContainsSubstring("'two'")));
}

TEST_CASE("named sql: values are written in once, where their names stand, and each must be used") {
  CHECK(write_values("SELECT :key, ':key' FROM t WHERE a IN (:keys) OR b = :key",
                     {{"key", "':keys'"}, {"keys", "1,2"}}) ==
        "SELECT ':keys', ':key' FROM t WHERE a IN (1,2) OR b = ':keys'");
  CHECK_THROWS_MATCHES(write_values("SELECT :key", {}), std::logic_error, MessageMatches(ContainsSubstring(":key")));
  CHECK_THROWS_MATCHES(write_values("SELECT :key", {{"key", "1"}, {"fence", "2"}}), std::logic_error,
                       MessageMatches(ContainsSubstring("'fence'")));
}

TEST_CASE("named sql: a statement in both forms has a parameter for each marker") {
  const std::vector<named_value> values{{"min", std::int64_t{7}, "7"}, {"key", std::string("a"), "'a'"}};
  const auto both = with_values("UPDATE t SET b = b + :min, c = :min WHERE d = :key", values);
  CHECK(both.sql == "UPDATE t SET b = b + ?, c = ? WHERE d = ?");
  CHECK(both.text == "UPDATE t SET b = b + 7, c = 7 WHERE d = 'a'");
  REQUIRE(both.parameters.size() == 3);
  CHECK(std::get<std::int64_t>(both.parameters[1]) == 7);
  CHECK(std::get<std::string>(both.parameters[2]) == "a");
}

TEST_CASE("named sql: parts of a text are not expanded again, and each must be used") {
  CHECK(expand(names(), "SELECT {column} FROM {lock}", {{"column", "`{lock}`"}}) == "SELECT `{lock}` FROM `x_lock`");
  CHECK_THROWS_MATCHES(expand(names(), "SELECT {colour} FROM {lock}", {}), std::logic_error,
                       MessageMatches(ContainsSubstring("{colour}")));
  CHECK_THROWS_MATCHES(expand(names(), "SELECT 1 FROM {lock}", {{"row", "a=1"}}), std::logic_error,
                       MessageMatches(ContainsSubstring("'row'")));
}

TEST_CASE("named sql: a word uses others, hides those of later lists and of names, and a value stays as it is") {
  constexpr named_part own[] = {{"free", "({held} = 0 OR {passed})"}, {"lock", "`theirs`"}};
  constexpr named_part shared[] = {{"free", "TRUE"}, {"passed", "{until} < 7"}};
  dictionary words({own, shared}, &names());
  CHECK(words.set("held", "`{a}`").set("until", "u").fill("SELECT {free}\n  FROM {lock} ") ==
        "SELECT (`{a}` = 0 OR u < 7) FROM `theirs`");
  CHECK(dictionary({shared}, &names()).fill("{free} {lock}") == "TRUE `x_lock`");
  CHECK(words.knows("passed"));
  CHECK_FALSE(words.knows("dead"));
  CHECK_THROWS_MATCHES(dictionary({own}).fill("{free}"), std::logic_error, MessageMatches(ContainsSubstring("{held}")));
}
