// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "contract/store_fixture.hpp"
#include "dlock/stores/mysql_shared_tables.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// A table as a team has it, gone at the end.
class state_row_fixture final : public store_fixture {
 public:
  state_row_fixture() { raw_mysql(owner_).run("CREATE TABLE " + table_ + " " + columns); }
  ~state_row_fixture() override { raw_mysql(owner_).run("DROP TABLE IF EXISTS " + table_); }

  std::shared_ptr<store> open() override {
    auto store = open_store(url());
    store->prepare();
    return store;
  }
  std::string url() const override {
    return owner_ + (owner_.find('?') == std::string::npos ? "?" : "&") + "scheme=state_row&table=" + table_;
  }
  bool may_be_contended() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{2}; }
  const std::string& table() const noexcept { return table_; }

  static constexpr const char* columns =
      "(`id` INT(11) NOT NULL AUTO_INCREMENT, "
      "`expiration_time` datetime DEFAULT NULL, "
      "`lock_name` VARCHAR(64) NOT NULL, "
      "`lock_state` INT(11) NOT NULL, "
      "`lock_info` VARCHAR(64) NOT NULL, "
      "`create_time` DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, "
      "`update_time` DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, "
      "PRIMARY KEY (`id`), "
      "UNIQUE INDEX `uniq_method_name` (`lock_name`)) "
      "COLLATE='utf8_general_ci' ENGINE=InnoDB";

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string table_ = "state_row_" + id128::random().hex();
};

}  // namespace dlock::test
