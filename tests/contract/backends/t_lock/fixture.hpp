// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "contract/store_fixture.hpp"
#include "dlock/stores/mysql_shared_tables.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// A table as a team has it, gone at the end.
class t_lock_fixture final : public store_fixture {
 public:
  t_lock_fixture() { raw_mysql(owner_).run("CREATE TABLE " + table_ + " " + columns); }
  ~t_lock_fixture() override { raw_mysql(owner_).run("DROP TABLE IF EXISTS " + table_); }

  std::shared_ptr<store> open() override {
    auto store = open_store(url());
    store->prepare();
    return store;
  }
  std::string url() const override {
    return owner_ + (owner_.find('?') == std::string::npos ? "?" : "&") + "scheme=t_lock&table=" + table_;
  }
  bool may_be_contended() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{2}; }  // the skew
  bool counts_grants() const override { return false; }
  const std::string& table() const noexcept { return table_; }

  static constexpr const char* columns =
      "(lock_key varchar(32) PRIMARY KEY NOT NULL, "
      "request_id varchar(64) NOT NULL DEFAULT '', "
      "lock_count INT NOT NULL DEFAULT 0, "
      "timeout BIGINT NOT NULL DEFAULT 0, "
      "version INT NOT NULL DEFAULT 0)";

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string table_ = "t_lock_" + id128::random().hex();
};

}  // namespace dlock::test
