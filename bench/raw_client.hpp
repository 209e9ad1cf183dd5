// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <mysql.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "dlock/store/store_url.hpp"
#include "harness.hpp"

namespace dlock::bench {

/// The two statements of a lock by hand: prepared, on a connection of its own, without the library.
class raw_client {
 public:
  /// `socket`: the variable that names the server's socket.
  explicit raw_client(const dlock::store_url& at, const char* socket = "DLOCK_TEST_MYSQL_SOCKET") {
    my_ = mysql_init(nullptr);
    check(mysql_real_connect(my_, nullptr, at.user.c_str(), at.password.c_str(), at.path.c_str(), 0,
                             need_env(socket).c_str(), CLIENT_FOUND_ROWS) != nullptr);
    check(mysql_query(my_, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED") == 0);
    take_ = prepared(
        "UPDATE dlock_lock SET session_id=?, nonce=?, fence=LAST_INSERT_ID(fence+1),"
        " acquired_at_us=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)),"
        " expires_at_us=?+TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), verified_by=0"
        " WHERE lock_key=? AND (session_id IS NULL OR"
        " expires_at_us<=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))");
    free_ = prepared(
        "UPDATE dlock_lock SET session_id=NULL, expires_at_us=NULL WHERE lock_key=? AND session_id=? AND fence=?");
  }
  ~raw_client() {
    mysql_stmt_close(take_);
    mysql_stmt_close(free_);
    mysql_close(my_);
  }
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  void pair(std::string& key) {
    MYSQL_BIND take[4];
    std::memset(take, 0, sizeof take);
    blob(take[0], session_.data(), session_.size());
    number(take[1], nonce_);
    take[2].buffer_type = MYSQL_TYPE_NULL;
    blob(take[3], key.data(), key.size());
    ++nonce_;
    check(!mysql_stmt_bind_param(take_, take) && mysql_stmt_execute(take_) == 0);
    check(mysql_stmt_affected_rows(take_) == 1);
    unsigned long long fence = mysql_stmt_insert_id(take_);
    MYSQL_BIND free[3];
    std::memset(free, 0, sizeof free);
    blob(free[0], key.data(), key.size());
    blob(free[1], session_.data(), session_.size());
    number(free[2], fence);
    check(!mysql_stmt_bind_param(free_, free) && mysql_stmt_execute(free_) == 0);
    check(mysql_stmt_affected_rows(free_) == 1);
  }

  /// Locks the key's row in a transaction that stays open until unblock().
  void block(const std::string& key) {
    check(mysql_query(my_, "START TRANSACTION") == 0);
    const auto sql = "SELECT 1 FROM dlock_lock WHERE lock_key = '" + key + "' FOR UPDATE";
    check(mysql_query(my_, sql.c_str()) == 0);
    mysql_free_result(mysql_store_result(my_));
  }
  void unblock() { check(mysql_query(my_, "ROLLBACK") == 0); }

  /// Prepared statements executed at the server since its start, by everybody.
  unsigned long long executed() {
    check(mysql_query(my_, "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'") == 0);
    MYSQL_RES* const result = mysql_store_result(my_);
    const unsigned long long value = std::strtoull(mysql_fetch_row(result)[1], nullptr, 10);
    mysql_free_result(result);
    return value;
  }

 private:
  static void blob(MYSQL_BIND& to, char* data, std::size_t size) {
    to.buffer_type = MYSQL_TYPE_STRING;
    to.buffer = data;
    to.buffer_length = size;
  }
  static void number(MYSQL_BIND& to, unsigned long long& value) {
    to.buffer_type = MYSQL_TYPE_LONGLONG;
    to.buffer = &value;
    to.is_unsigned = true;
  }
  void check(bool fine) {
    if (!fine) throw std::runtime_error(mysql_error(my_));
  }
  MYSQL_STMT* prepared(const char* sql) {
    MYSQL_STMT* const made = mysql_stmt_init(my_);
    if (mysql_stmt_prepare(made, sql, std::strlen(sql)) != 0) throw std::runtime_error(mysql_stmt_error(made));
    return made;
  }
  MYSQL* my_ = nullptr;
  MYSQL_STMT* take_ = nullptr;
  MYSQL_STMT* free_ = nullptr;
  std::string session_ = "0123456789abcdef";
  unsigned long long nonce_ = 1;
};

}  // namespace dlock::bench
