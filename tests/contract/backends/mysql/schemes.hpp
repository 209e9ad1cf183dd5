// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The schemes of MySQL beside lease_table, each in a place of its own that is gone at the end.

#include <memory>
#include <string>
#include <utility>

#include "contract/store_fixture.hpp"
#include "dlock/stores/mysql_for_update.hpp"
#include "dlock/stores/mysql_named_lock.hpp"
#include "dlock/stores/mysql_shared_tables.hpp"
#include "support/mysql_fixture.hpp"
#include "support/sql_file.hpp"

namespace dlock::test {

/// A table as a team has it.
class team_table_fixture : public url_fixture {
 public:
  ~team_table_fixture() override {
    raw_mysql with(owner_);
    with.run("SET SESSION lock_wait_timeout=10");  // what was killed may have a transaction for a moment
    for (const auto& table : {table_, waiter_table()}) with.run("DROP TABLE IF EXISTS " + table);
  }
  std::string url() const override { return url({}); }
  /// With more parameters, e.g. "&make_rows=1".
  std::string url(const std::string& more) const {
    return with_parameters(owner_, "scheme=" + scheme_ + "&table=" + table_ + with_ + more);
  }
  const std::string& table() const noexcept { return table_; }
  std::string waiter_table() const { return "dlock_waiter_" + table_; }
  bool names_waiters() const override { return false; }
  bool looks_apart() const override { return !with_.empty(); }

 protected:
  /// `with`: parameters of all URLs. Those of "&wake=on" find a waiter table.
  team_table_fixture(const char* scheme, const char* columns, std::string with = {})
      : scheme_(scheme), table_(scheme_ + "_" + id128::random().hex()), with_(std::move(with)) {
    raw_mysql owner(owner_);
    owner.run("CREATE TABLE " + table_ + " " + columns);
    if (with_ != "&wake=on") return;
    for (const auto& statement : statements_of("waiter.sql")) {
      owner.run(replaced(replaced(statement, "@LOCKS@", owner.one("SELECT DATABASE()")), "@TABLE@", table_));
    }
  }

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string scheme_;
  const std::string table_;
  const std::string with_;
};

class unique_insert_fixture final : public team_table_fixture {
 public:
  explicit unique_insert_fixture(std::string with = {})
      : team_table_fixture("unique_insert", columns, std::move(with)) {}
  bool may_be_contended() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{2}; }
  bool deletes_free_rows() const override { return true; }

  static constexpr const char* columns =
      "(`id` bigint(20) NOT NULL AUTO_INCREMENT, "
      "`resource` varchar(50) NOT NULL, "
      "`lock_owner` varchar(50) NOT NULL DEFAULT '', "
      "`lock_expire_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, "
      "PRIMARY KEY (`id`), "
      "UNIQUE KEY unique_resource(`resource`)) "
      "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
};

class state_row_fixture final : public team_table_fixture {
 public:
  explicit state_row_fixture(std::string with = {}) : team_table_fixture("state_row", columns, std::move(with)) {}
  bool may_be_contended() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{2}; }

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
};

class shedlock_fixture final : public team_table_fixture {
 public:
  explicit shedlock_fixture(std::string with = {}) : team_table_fixture("shedlock", columns, std::move(with)) {}
  bool may_be_contended() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::milliseconds{2}; }

  // As ShedLock's pages have it.
  static constexpr const char* columns =
      "(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL, "
      "locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL, "
      "PRIMARY KEY (name))";
};

class t_lock_fixture final : public team_table_fixture {
 public:
  explicit t_lock_fixture(std::string with = {}) : team_table_fixture("t_lock", columns, std::move(with)) {}
  bool may_be_contended() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{2}; }  // the skew

  static constexpr const char* columns =
      "(lock_key varchar(32) PRIMARY KEY NOT NULL, "
      "request_id varchar(64) NOT NULL DEFAULT '', "
      "lock_count INT NOT NULL DEFAULT 0, "
      "timeout BIGINT NOT NULL DEFAULT 0, "
      "version INT NOT NULL DEFAULT 0)";
};

/// Keys get their rows at their first use.
class for_update_fixture final : public team_table_fixture {
 public:
  using team_table_fixture::url;

  for_update_fixture() : team_table_fixture("for_update", columns) {}
  std::string url() const override { return url("&make_rows=1"); }
  bool makes_rows_first() const override { return true; }
  bool hides_holders() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{1}; }

  static constexpr const char* columns =
      "(`id` bigint(20) NOT NULL AUTO_INCREMENT, "
      "`resource` varchar(64) NOT NULL, "
      "`description` varchar(100) NOT NULL DEFAULT '', "
      "PRIMARY KEY (`id`), "
      "UNIQUE KEY uiq_idx_resource(`resource`)) "
      "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
};

/// Names that begin with a prefix of their own.
class named_lock_fixture final : public url_fixture {
 public:
  std::string url() const override { return with_parameters(owner_, "scheme=named_lock&prefix=" + prefix_); }
  bool hides_holders() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{1}; }
  bool deletes_free_rows() const override { return true; }
  const std::string& prefix() const noexcept { return prefix_; }

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string prefix_ = id128::random().hex().substr(0, 16) + ":";
};

/// A scheme on a table of a team's: "unique_insert", "state_row", "shedlock" or "t_lock".
inline std::unique_ptr<team_table_fixture> make_team_fixture(const std::string& scheme, const std::string& with = {}) {
  if (scheme == "unique_insert") return std::make_unique<unique_insert_fixture>(with);
  if (scheme == "state_row") return std::make_unique<state_row_fixture>(with);
  if (scheme == "shedlock") return std::make_unique<shedlock_fixture>(with);
  return std::make_unique<t_lock_fixture>(with);
}

/// The columns of such a table.
inline const char* team_columns(const std::string& scheme) {
  if (scheme == "unique_insert") return unique_insert_fixture::columns;
  if (scheme == "state_row") return state_row_fixture::columns;
  if (scheme == "shedlock") return shedlock_fixture::columns;
  return t_lock_fixture::columns;
}

/// Of a scheme whose locks end with a connection: "named_lock" or "for_update".
inline std::unique_ptr<store_fixture> make_bound_fixture(const std::string& scheme) {
  if (scheme == "named_lock") return std::make_unique<named_lock_fixture>();
  return std::make_unique<for_update_fixture>();
}

}  // namespace dlock::test
