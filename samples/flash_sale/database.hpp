// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// The shop's own access to its database: just enough of SQLite and MySQL for this sample. It has nothing to
/// do with dlock, which uses connections of its own.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flash_sale {

class database_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using value = std::variant<std::int64_t, std::string>;
using row = std::vector<std::string>;  ///< the columns as text

/// One connection, in autocommit until begin(). Not thread-safe.
class database {
 public:
  virtual ~database() = default;
  /// `sql` has a ? for each parameter. Statements are prepared once for each text. Throws database_error.
  virtual std::vector<row> query(std::string_view sql, const std::vector<value>& parameters = {}) = 0;
  /// Returns the number of rows that an INSERT, UPDATE or DELETE matched, whether or not their values changed.
  virtual std::uint64_t execute(std::string_view sql, const std::vector<value>& parameters = {}) = 0;
  virtual void begin() = 0;
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  /// What CREATE TABLE needs at its end, so that text compares byte for byte.
  virtual std::string_view table_options() const = 0;
};

/// Rolls back unless committed.
class transaction {
 public:
  explicit transaction(database& db) : db_(&db) { db.begin(); }
  ~transaction() {
    if (db_ != nullptr) db_->rollback();
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  void commit() {
    db_->commit();
    db_ = nullptr;
  }

 private:
  database* db_;
};

/// By URL: sqlite:file, mysql://user:password@host:port/database. Throws database_error,
/// std::invalid_argument.
std::unique_ptr<database> open_database(std::string_view url);

/// Whether this build can open mysql:// URLs.
bool has_mysql() noexcept;

}  // namespace flash_sale
