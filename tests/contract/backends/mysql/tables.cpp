// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include "contract/schema/schema_contract.hpp"
#include "support/mysql_fixture.hpp"
#include "support/sql_file.hpp"

namespace dlock::test {

namespace {

class mysql_tables final : public tables_fixture {
 public:
  void run(const std::string& sql) override { owner_.run(sql); }
  std::string one(const std::string& sql) override { return owner_.one(sql); }
  std::string table(const std::string& name) const override { return tables_.table(name); }
  std::size_t tables() override { return std::stoul(one(count_ + "'")); }
  std::unique_ptr<tables_fixture> beside() override { return std::make_unique<mysql_tables>(); }
  std::vector<std::string> statements_by_hand() const override {
    auto all = statements_of("schema-mysql.sql");
    for (const auto* file : {"done-mysql.sql", "member-mysql.sql"}) {
      for (auto& each : statements_of(file)) all.push_back(std::move(each));
    }
    for (auto& each : all) each = replaced(each, "dlock_", tables_.prefix());
    return all;
  }
  /// The short id of the tables, which no other prefix has, is shown as that.
  std::vector<std::string> contents() override {
    std::vector<std::string> lines;
    const auto id =
        one("SELECT CONV(LEFT(SHA2(CONCAT(DATABASE(), '." + tables_.prefix() + "'), 256), 8), 16, 10) & 1048575");
    for (const char* name : {"done", "floor", "lock", "member", "schema_version", "session", "waiter"}) {
      const auto shown = owner_.rows("SHOW CREATE TABLE " + table(name)).at(0).at(1).value_or("");
      lines.push_back(replaced(shown, tables_.prefix(), "dlock_"));
      for (const auto& row : owner_.rows("SELECT * FROM " + table(name) + " ORDER BY 1")) {
        lines.push_back(name);
        for (const auto& value : row)
          lines.back() += " " + (value == id ? "the id of the tables" : value.value_or("NULL"));
      }
    }
    return lines;
  }
  void check_made() override { CHECK(one(count_ + "' AND engine='InnoDB'") == "7"); }
  bool finishes_migrations() const override { return false; }

 protected:
  std::string plain_url() const override { return tables_.url(); }

 private:
  const mysql_fixture tables_{};
  raw_mysql owner_{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  // Without LIKE, for which the '_' of a prefix is any character: t17_1_ would count the tables of t1731_ as well.
  const std::string count_ = fmt::format(
      "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND LEFT(table_name, {})='{}",
      tables_.prefix().size(), tables_.prefix());
};

}  // namespace

std::unique_ptr<tables_fixture> make_tables_fixture() { return std::make_unique<mysql_tables>(); }

}  // namespace dlock::test
