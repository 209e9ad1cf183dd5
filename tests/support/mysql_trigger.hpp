// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>

#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// A trigger of the database's own people, gone with its table.
inline void make_trigger(const std::string& table, const std::string& when, const std::string& body) {
  static int count = 0;
  const auto dot = table.find('.');
  const auto schema = dot == std::string::npos ? std::string() : table.substr(0, dot + 1);
  raw_mysql::root().run("CREATE TRIGGER " + schema + "dlock_test_trigger" + std::to_string(++count) + " " + when +
                        " ON " + table + " FOR EACH ROW " + body);
}

/// A log of changes, as auditors want one: a table with an auto-increment column, in which triggers write.
class audit {
 public:
  explicit audit(const mysql_fixture& beside) : audit("`locks`." + beside.table("audit")) {}
  explicit audit(std::string name) : table_(std::move(name)) {
    root_.run("CREATE TABLE " + table_ +
              " (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20)) ENGINE=InnoDB AUTO_INCREMENT=5000");
  }
  ~audit() { root_.run("DROP TABLE " + table_); }
  audit(const audit&) = delete;
  audit& operator=(const audit&) = delete;

  /// `when`: AFTER UPDATE and the like.
  void watch(const std::string& table, const std::string& when) {
    make_trigger(table, when, "INSERT INTO " + table_ + "(what) VALUES ('" + when + "')");
  }
  std::string lines() { return root_.one("SELECT COUNT(*) FROM " + table_); }

 private:
  raw_mysql root_ = raw_mysql::root();
  std::string table_;
};

}  // namespace dlock::test
