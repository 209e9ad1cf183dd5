// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mysql.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "harness.hpp"

namespace dlock::bench {

/// A connection to a private server, without the library. `socket`: the environment variable that names its socket.
class raw_database {
 public:
  explicit raw_database(const store_url& at, const char* socket = "DLOCK_TEST_MYSQL_SOCKET")
      : my_(mysql_init(nullptr)) {
    check(mysql_real_connect(my_, nullptr, at.user.c_str(), at.password.c_str(), at.path.c_str(), 0,
                             need_env(socket).c_str(), CLIENT_FOUND_ROWS) != nullptr);
  }
  ~raw_database() { mysql_close(my_); }
  raw_database(const raw_database&) = delete;
  raw_database& operator=(const raw_database&) = delete;

  void run(const std::string& sql) { check(mysql_query(my_, sql.c_str()) == 0); }
  /// Rows that the statement has changed or, with CLIENT_FOUND_ROWS, matched.
  unsigned long long changed(const std::string& sql) {
    run(sql);
    return mysql_affected_rows(my_);
  }
  /// The first row, none of whose values is NULL; empty: there is none.
  std::vector<std::string> row(const std::string& sql) {
    run(sql);
    MYSQL_RES* const result = mysql_store_result(my_);
    std::vector<std::string> values;
    if (const MYSQL_ROW found = mysql_fetch_row(result)) values.assign(found, found + mysql_num_fields(result));
    mysql_free_result(result);
    return values;
  }
  std::string one(const std::string& sql) { return row(sql).at(0); }
  /// A global status variable.
  std::string status(const std::string& name) {
    run("show global status like '" + name + "'");
    MYSQL_RES* const result = mysql_store_result(my_);
    std::string value = mysql_fetch_row(result)[1];
    mysql_free_result(result);
    return value;
  }

 protected:
  void check(bool good) const {
    if (!good) throw std::runtime_error(mysql_error(my_));
  }
  MYSQL* my_;
};

/// Two prepared statements that take and free a lock, each with the key as its text or without any. What a SELECT
/// finds must be a number other than 0.
class by_hand : public raw_database {
 public:
  by_hand(const store_url& at, const std::string& take, const std::string& free, std::string key = "raw:4711")
      : raw_database(at), key_(std::move(key)), take_(prepared(take)), free_(prepared(free)) {}
  ~by_hand() {
    mysql_stmt_close(take_);
    mysql_stmt_close(free_);
  }

  void take() { run(take_); }
  void release() { run(free_); }
  void pair() {
    take();
    release();
  }
  using raw_database::run;

 private:
  MYSQL_STMT* prepared(const std::string& sql) {
    MYSQL_STMT* const made = mysql_stmt_init(my_);
    check(mysql_stmt_prepare(made, sql.c_str(), static_cast<unsigned long>(sql.size())) == 0);
    return made;
  }
  void run(MYSQL_STMT* statement) {
    MYSQL_BIND key;
    std::memset(&key, 0, sizeof key);
    key.buffer_type = MYSQL_TYPE_STRING;
    key.buffer = key_.data();
    key.buffer_length = static_cast<unsigned long>(key_.size());
    const bool of_the_key = mysql_stmt_param_count(statement) != 0;
    check((!of_the_key || !mysql_stmt_bind_param(statement, &key)) && mysql_stmt_execute(statement) == 0);
    if (mysql_stmt_field_count(statement) == 0) {
      if (of_the_key && mysql_stmt_affected_rows(statement) != 1) throw std::runtime_error("nothing was changed");
      return;
    }
    long long value = 0;
    MYSQL_BIND found;
    std::memset(&found, 0, sizeof found);
    found.buffer_type = MYSQL_TYPE_LONGLONG;
    found.buffer = &value;
    check(!mysql_stmt_bind_result(statement, &found) && mysql_stmt_store_result(statement) == 0);
    if (mysql_stmt_fetch(statement) != 0 || value == 0) throw std::runtime_error("there is no row, or it says no");
    mysql_stmt_free_result(statement);
  }

  std::string key_;
  MYSQL_STMT* take_;
  MYSQL_STMT* free_;
};

}  // namespace dlock::bench
