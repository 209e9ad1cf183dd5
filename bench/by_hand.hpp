// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mysql.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "dlock/store_interface/store_url.hpp"
#include "harness.hpp"

namespace dlock::bench {

/// A connection to the private server, without the library.
class raw_database {
 public:
  explicit raw_database(const store_url& at) : my_(mysql_init(nullptr)) {
    check(mysql_real_connect(my_, nullptr, at.user.c_str(), at.password.c_str(), at.path.c_str(), 0,
                             need_env("DLOCK_TEST_MYSQL_SOCKET").c_str(), CLIENT_FOUND_ROWS) != nullptr);
  }
  ~raw_database() { mysql_close(my_); }
  raw_database(const raw_database&) = delete;
  raw_database& operator=(const raw_database&) = delete;

  void run(const std::string& sql) { check(mysql_query(my_, sql.c_str()) == 0); }
  std::string one(const std::string& sql) {
    run(sql);
    MYSQL_RES* const result = mysql_store_result(my_);
    const MYSQL_ROW row = mysql_fetch_row(result);
    std::string value = row[0];
    mysql_free_result(result);
    return value;
  }
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

/// Two prepared statements that take and free a lock, each with the key as its text or without any.
class by_hand : public raw_database {
 public:
  by_hand(const store_url& at, const std::string& take, const std::string& free)
      : raw_database(at), take_(prepared(take)), free_(prepared(free)) {}
  ~by_hand() {
    mysql_stmt_close(take_);
    mysql_stmt_close(free_);
  }

  void pair() {
    run(take_);
    run(free_);
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
    check(mysql_stmt_store_result(statement) == 0);
    if (mysql_stmt_num_rows(statement) != 1) throw std::runtime_error("there is no row");
    mysql_stmt_free_result(statement);
  }

  std::string key_ = "raw:4711";
  MYSQL_STMT* take_;
  MYSQL_STMT* free_;
};

}  // namespace dlock::bench
