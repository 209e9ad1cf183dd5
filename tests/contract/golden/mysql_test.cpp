// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cstdlib>
#include <regex>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/backends/mysql/schemes.hpp"
#include "contract/golden/golden_sql.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

/// An execution of a prepared statement as its preparation shows it, or nearly: constants are values here, too.
std::string without_values(const std::string& text) {
  static const std::regex value(R"('(?:[^'\\]|\\[^]|'')*'|\b[0-9]+\b)");
  return std::regex_replace(text, value, "?");
}

/// The server's general log, of all connections but those of the test's own.
class mysql_log final : public statement_log {
 public:
  mysql_log() : output_("log_output", "'TABLE'"), on_("general_log", "1") { root_.run("TRUNCATE mysql.general_log"); }

  std::vector<std::string> take() override {
    std::vector<std::string> sent;
    for (const auto& row : root_.rows("SELECT command_type, argument, thread_id, user_host FROM mysql.general_log")) {
      const auto type = row.at(0).value_or("");
      if (row.at(3).value_or("").starts_with("root")) continue;
      const auto text = row.at(1).value_or("");
      if (type == "Query") sent.push_back("text: " + text);
      // The server itself prepares a statement anew when it has opened the table anew, and logs that too.
      if (type == "Prepare" && (sent.empty() || sent.back() != "prepare: " + text)) sent.push_back("prepare: " + text);
      if (type == "Execute") sent.push_back("execute: " + without_values(text));
    }
    root_.run("TRUNCATE mysql.general_log");
    return sent;
  }

 private:
  raw_mysql root_ = raw_mysql::root();
  global_setting output_;
  global_setting on_;
};

std::string name_of(const std::string& kind) {
  const auto* const server = std::getenv("DLOCK_TEST_SERVER");
  return (server == nullptr ? "mariadb_" : std::string(server) + '_') + kind;
}

TEST_CASE("golden sql: what the store of MySQL sends about keys has not changed") {
  mysql_store_fixture fixture;
  mysql_log log;
  check_golden(name_of("keys"), golden_steps(fixture, log, {{fixture.tables.prefix(), "P_"}}));
}

TEST_CASE("golden sql: what the store of MySQL sends about rows has not changed") {
  check_golden_rows(
      name_of("rows"), golden_shapes(), [] { return std::make_unique<mysql_log>(); },
      [](row_scene& rows) {
        auto& fixture = dynamic_cast<mysql_row_fixture&>(*rows.fixture);
        return std::vector<std::pair<std::string, std::string>>{{fixture.locks.prefix(), "P_"},
                                                                {fixture.tables_id(), "<tables>"}};
      });
}

TEST_CASE("golden sql: what the store of MySQL sends about tables of other programs has not changed") {
  for (const char* const scheme : {"unique_insert", "state_row", "shedlock", "t_lock"}) {
    const auto steps = [&](const char* with) {
      const auto fixture = make_team_fixture(scheme, with);
      mysql_log log;
      return golden_steps(*fixture, log, {{fixture->table(), "team_table"}});
    };
    const auto plain = steps("");
    check_golden(name_of(scheme), plain);
    check_golden(name_of(scheme) + "_woken", steps_beside(plain, steps("&wake=on")));
  }
}

TEST_CASE("golden sql: what the store of MySQL sends for locks of a connection has not changed") {
  for (const char* const scheme : {"named_lock", "for_update"}) {
    const auto fixture = make_bound_fixture(scheme);
    mysql_log log;
    const auto* const names = dynamic_cast<named_lock_fixture*>(fixture.get());
    const auto* const team = dynamic_cast<team_table_fixture*>(fixture.get());
    check_golden(name_of(scheme),
                 golden_steps(*fixture, log, {{names != nullptr ? names->prefix() : team->table(), "team_table"}}));
  }
}

}  // namespace

}  // namespace dlock::test
