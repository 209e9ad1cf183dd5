// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <mysql.h>  // no forward declarations: MariaDB and MySQL name these structs differently

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <dlock/store/store_url.hpp>

#include "database.hpp"

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
    void operator()(MYSQL* handle) const noexcept;
    void operator()(MYSQL_STMT* statement) const noexcept;
  };
  [[noreturn]] void fail(std::string_view doing) const;
  [[noreturn]] void fail(std::string_view doing, MYSQL_STMT* statement) const;
  MYSQL_STMT* run(std::string_view sql, const std::vector<value>& parameters);
  void command(const char* sql);

  std::string name_;
  std::unique_ptr<MYSQL, closer> handle_;
  std::map<std::string, std::unique_ptr<MYSQL_STMT, closer>, std::less<>> statements_;
};

}  // namespace flash_sale
