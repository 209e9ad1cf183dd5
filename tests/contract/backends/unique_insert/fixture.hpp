// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "contract/store_fixture.hpp"
#include "dlock/stores/mysql_shared_tables.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// A table as a team has it, gone at the end.
class unique_insert_fixture final : public store_fixture {
 public:
  unique_insert_fixture() { raw_mysql(owner_).run("CREATE TABLE " + table_ + " " + columns); }
  ~unique_insert_fixture() override { raw_mysql(owner_).run("DROP TABLE IF EXISTS " + table_); }

  std::shared_ptr<store> open() override {
    auto store = open_store(url());
    store->prepare();
    return store;
  }
  std::string url() const override {
    return owner_ + (owner_.find('?') == std::string::npos ? "?" : "&") + "scheme=unique_insert&table=" + table_;
  }
  bool may_be_contended() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{2}; }
  bool deletes_free_rows() const override { return true; }
  const std::string& table() const noexcept { return table_; }

  static constexpr const char* columns =
      "(`id` bigint(20) NOT NULL AUTO_INCREMENT, "
      "`resource` varchar(50) NOT NULL, "
      "`lock_owner` varchar(50) NOT NULL DEFAULT '', "
      "`lock_expire_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, "
      "PRIMARY KEY (`id`), "
      "UNIQUE KEY unique_resource(`resource`)) "
      "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string table_ = "unique_insert_" + id128::random().hex();
};

}  // namespace dlock::test
