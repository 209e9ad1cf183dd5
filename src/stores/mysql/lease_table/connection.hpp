// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/mysql/connection.hxx>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "dlock/store/store.hpp"
#include "stores/mysql/client/factory.hpp"
#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/statement.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::detail {

/// One ODB connection, its prepared statements and room for their parameters.
class mysql_connection final : public connection {
 public:
  /// `sql` and `hosts` must outlive it. Throws std::system_error if there is no file descriptor left.
  mysql_connection(mysql_opened from, const mysql_sql& sql, mysql_hosts& hosts);
  ~mysql_connection() override;
  mysql_connection(const mysql_connection&) = delete;
  mysql_connection& operator=(const mysql_connection&) = delete;

  void interrupt() noexcept override;
  bool usable() const noexcept override { return !broken_.load(std::memory_order_acquire); }
  bool alive() noexcept override;
  const connection_identity& identity() const noexcept override { return identity_; }

  odb::mysql::connection& odb() noexcept { return *native_; }
  MYSQL* handle() noexcept { return native_->handle(); }
  /// What a take begins with, so that it does not wait for a locked row; empty where the server has nothing for it.
  std::string_view quick_prefix() const noexcept { return quick_ ? mysql_sql::quick_prefix : std::string_view(); }
  /// What the names of the lock tables begin with.
  const std::string& prefix() const noexcept { return sql_.names().prefix(); }
  /// Where the parameters of the next run() go.
  mysql_values& values() noexcept { return values_; }

  /// Executes a hot statement; a deadlock, or a row that changed meanwhile, is tried again. yes: `done` tells what it
  /// did. Else failed or unknown.
  outcome run(mysql_hot which, mysql_done& done, fault& why) { return run(which, done, nullptr, why); }
  /// The hot statement that reads: yes and the row, or absent. Else failed or unknown.
  outcome look(mysql_look_row& row, fault& why);
  /// Executes a statement whose text holds all its values; likewise. `rows` and `affected` may be null.
  outcome query(const std::string& sql, const char* doing, mysql_rows* rows, std::uint64_t* affected, fault& why);
  /// Prepares all hot statements: what the server won't have shows now. False, and the reason.
  bool prepare_all(fault& why);

  /// Takes note of an error: some end the connection. Adds which server it was.
  void heed(fault& why) noexcept;

 private:
  struct tries {
    unsigned count = 0;
    std::chrono::steady_clock::time_point first{};
  };

  outcome run(mysql_hot which, mysql_done& done, mysql_look_row* row, fault& why);
  outcome execute(mysql_hot which, mysql_done& done, mysql_look_row* row, fault& why);
  outcome execute_as_text(mysql_hot which, mysql_done& done, mysql_look_row* row, fault& why);
  mysql_statement* statement(mysql_hot which, fault& why);
  bool may_run(fault& why);
  bool retry(const fault& why, tries& made) const;

  odb::mysql::connection_ptr native_;
  const mysql_sql& sql_;
  mysql_hosts& hosts_;
  const std::size_t host_;
  const std::uint64_t refusals_;  // of that host, when this connection was made
  const bool quick_;
  const bool encrypted_;
  const std::string where_;
  connection_identity identity_;
  // A descriptor of our own for the same socket: the client library closes its one without telling, and the
  // number may then be anybody's.
  int socket_;
  std::atomic<bool> broken_{false};
  mysql_values values_{};
  std::array<std::unique_ptr<mysql_statement>, mysql_hot_count> statements_{};
  unsigned as_text_ = 0;  // so many more are not tried to be prepared
};

}  // namespace dlock::detail
