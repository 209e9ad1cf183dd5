// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <dlock/store_url.hpp>

#include "database.hpp"

struct st_mysql;
struct st_mysql_stmt;

namespace flash_sale {

class mysql_database final : public database {
 public:
  /// Connects to the first host of the URL. Throws database_error.
  explicit mysql_database(const dlock::store_url& url);
  std::vector<row> query(std::string_view sql, const std::vector<value>& parameters) override;
  std::uint64_t execute(std::string_view sql, const std::vector<value>& parameters) override;
  void begin() override;
  void commit() override;
  void rollback() noexcept override;
  std::string_view table_options() const override { return " ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"; }

 private:
  struct closer {
    void operator()(st_mysql* handle) const noexcept;
    void operator()(st_mysql_stmt* statement) const noexcept;
  };
  [[noreturn]] void fail(std::string_view doing) const;
  [[noreturn]] void fail(std::string_view doing, st_mysql_stmt* statement) const;
  st_mysql_stmt* run(std::string_view sql, const std::vector<value>& parameters);
  void command(const char* sql);

  std::string name_;
  std::unique_ptr<st_mysql, closer> handle_;
  std::map<std::string, std::unique_ptr<st_mysql_stmt, closer>, std::less<>> statements_;
};

}  // namespace flash_sale
