// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "contract/store_fixture.hpp"
#include "dlock/stores/mysql_for_update.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// A table as a team has it, gone at the end. Keys get their rows at their first use.
class for_update_fixture final : public store_fixture {
 public:
  for_update_fixture() { raw_mysql(owner_).run("CREATE TABLE " + table_ + " " + columns); }
  ~for_update_fixture() override {
    raw_mysql with(owner_);
    with.run("SET SESSION lock_wait_timeout=10");  // what was killed may have a transaction for a moment
    with.run("DROP TABLE IF EXISTS " + table_);
  }

  std::shared_ptr<store> open() override {
    auto store = open_store(url());
    store->prepare();
    return store;
  }
  std::string url() const override { return url("&make_rows=1"); }
  std::string url(const std::string& more) const {
    return owner_ + (owner_.find('?') == std::string::npos ? "?" : "&") + "scheme=for_update&table=" + table_ + more;
  }
  bool makes_rows_first() const override { return true; }
  bool hides_holders() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{1}; }
  const std::string& table() const noexcept { return table_; }

  static constexpr const char* columns =
      "(`id` bigint(20) NOT NULL AUTO_INCREMENT, "
      "`resource` varchar(64) NOT NULL, "
      "`description` varchar(100) NOT NULL DEFAULT '', "
      "PRIMARY KEY (`id`), "
      "UNIQUE KEY uiq_idx_resource(`resource`)) "
      "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string table_ = "for_update_" + id128::random().hex();
};

}  // namespace dlock::test
