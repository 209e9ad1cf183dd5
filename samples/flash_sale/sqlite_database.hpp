// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "database.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace flash_sale {

class sqlite_database final : public database {
 public:
  /// Opens or makes the file. Throws database_error.
  explicit sqlite_database(const std::string& file);
  std::vector<row> query(std::string_view sql, const std::vector<value>& parameters) override;
  std::uint64_t execute(std::string_view sql, const std::vector<value>& parameters) override;
  void begin() override;
  void commit() override;
  void rollback() noexcept override;
  std::string_view table_options() const override { return ""; }

 private:
  struct closer {
    void operator()(sqlite3* handle) const noexcept;
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  [[noreturn]] void fail(std::string_view doing) const;
  std::vector<row> run(std::string_view sql, const std::vector<value>& parameters);

  std::string file_;
  std::unique_ptr<sqlite3, closer> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, closer>, std::less<>> statements_;
};

}  // namespace flash_sale
