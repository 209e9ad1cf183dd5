// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mysql.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "dlock/store_interface/store_url.hpp"
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
    if (take_row_ != nullptr) mysql_stmt_close(take_row_);
    if (free_row_ != nullptr) mysql_stmt_close(free_row_);
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

  /// Makes a table with rows that are locked in place, with the ids 1 to `count`.
  void make_rows(int count) {
    drop_rows();
    run("CREATE TABLE bench_row (id BIGINT NOT NULL PRIMARY KEY, payload INT NOT NULL DEFAULT 0,"
        " lock_owner VARCHAR(50) NULL, lock_expires_at_us BIGINT NULL, lock_fence BIGINT UNSIGNED NOT NULL DEFAULT 0,"
        " version INT NOT NULL DEFAULT 0) ENGINE=InnoDB");
    for (int id = 1; id <= count; ++id) run("INSERT INTO bench_row(id) VALUES (" + std::to_string(id) + ")");
  }
  void drop_rows() { run("DROP TABLE IF EXISTS bench_row"); }

  /// The two statements that lock and free such a row: prepared at the first call.
  void row_pair(std::uint64_t id) {
    if (take_row_ == nullptr) {
      take_row_ = prepared(
          "UPDATE bench_row SET lock_owner=?, lock_fence=LAST_INSERT_ID(lock_fence+1), version=version+1,"
          " lock_expires_at_us=NULL WHERE id=? AND (lock_owner IS NULL OR lock_owner='' OR"
          " lock_expires_at_us<=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))");
      free_row_ = prepared(
          "UPDATE bench_row SET lock_owner=NULL, lock_expires_at_us=NULL WHERE id=? AND lock_owner=? AND lock_fence=?");
    }
    unsigned long long row = id;
    MYSQL_BIND take[2];
    std::memset(take, 0, sizeof take);
    blob(take[0], owner_.data(), owner_.size());
    number(take[1], row);
    check(!mysql_stmt_bind_param(take_row_, take) && mysql_stmt_execute(take_row_) == 0);
    check(mysql_stmt_affected_rows(take_row_) == 1);
    unsigned long long fence = mysql_stmt_insert_id(take_row_);
    MYSQL_BIND free[3];
    std::memset(free, 0, sizeof free);
    number(free[0], row);
    blob(free[1], owner_.data(), owner_.size());
    number(free[2], fence);
    check(!mysql_stmt_bind_param(free_row_, free) && mysql_stmt_execute(free_row_) == 0);
    check(mysql_stmt_affected_rows(free_row_) == 1);
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
  void run(const std::string& sql) { check(mysql_query(my_, sql.c_str()) == 0); }
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
  MYSQL_STMT* take_row_ = nullptr;
  MYSQL_STMT* free_row_ = nullptr;
  std::string owner_ = "0123456789abcdef0123456789abcdef/0000000000000001";
  std::string session_ = "0123456789abcdef";
  unsigned long long nonce_ = 1;
};

}  // namespace dlock::bench
