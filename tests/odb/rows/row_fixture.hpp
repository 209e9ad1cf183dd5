// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A database with the tables of entities.hpp, and locks in it.

#include <dlock/detail/odb_compat.hpp>
//
#include <chrono>
#include <cstdint>
#include <memory>
#include <odb/connection.hxx>
#include <odb/database.hxx>
#include <odb/transaction.hxx>
#include <string>
#include <vector>

#include "dlock/lock_service.hpp"
#include "entities-odb.hxx"
#include "stores/sql/row_owner.hpp"

namespace dlock::test {

class row_fixture {
 public:
  virtual ~row_fixture() = default;

  virtual odb::database& db() = 0;
  /// Of the locks.
  virtual std::string url() const = 0;
  /// Where neither the tables nor the locks are; null: this test has none.
  virtual std::unique_ptr<odb::database> elsewhere() = 0;
  /// The tables and the locks' server, reached through a port of this host, by connections with a character set; null:
  /// there is no such way.
  virtual std::unique_ptr<odb::database> through(std::uint16_t /*port*/, const std::string& /*charset*/ = "utf8mb4") {
    return nullptr;
  }
  /// Begins the names of the locks' tables.
  virtual std::string prefix() const { return "dlock_"; }
  /// The rows that a SELECT over both finds, each value as text.
  virtual std::vector<std::vector<std::string>> select(const std::string& sql) = 0;
  /// Executes a check as a program does that binds its parameters; rows changed.
  virtual std::uint64_t execute(odb::connection& connection, const verification& check) = 0;
  /// From now on sent() knows.
  virtual void watch() = 0;
  /// What the server (SQLite: the library) has had to execute on the application's connections since watch() or the
  /// last call, in its order.
  virtual std::vector<std::string> sent() = 0;
  virtual bool is_sqlite() const = 0;
  /// Whether FOR UPDATE can't be told which of several tables it means (MariaDB).
  virtual bool locks_joined_rows() const { return false; }
  /// A literal or name of this database: the time `seconds` from now as an expiry column has it.
  virtual std::string time_from_now(int seconds) const = 0;
};

/// Each program has the one of its database.
std::unique_ptr<row_fixture> make_row_fixture();

/// Two services, as two processes would have, on one place.
struct rows {
  std::unique_ptr<row_fixture> fixture = make_row_fixture();
  odb::database& db = fixture->db();
  lock_service locks{fixture->url(), {.label = "one"}};
  lock_service others{fixture->url(), {.label = "two"}};

  /// Rows changed, outside of any mapped class.
  unsigned long long sql(const std::string& text) {
    odb::transaction in(db.begin());
    const auto changed = db.execute(text);
    in.commit();
    return changed;
  }
  template <class T>
  void add(T entity) {
    odb::transaction in(db.begin());
    db.persist(entity);
    in.commit();
  }
  /// As anybody would read it.
  template <class T, class Id>
  std::unique_ptr<T> load(const Id& id) {
    odb::transaction in(db.begin());
    std::unique_ptr<T> entity(db.load<T>(id));
    in.commit();
    return entity;
  }
  template <class T>
  void update(T& entity) {
    odb::transaction in(db.begin());
    db.update(entity);
    in.commit();
  }
  /// What another process on the same lock tables does that found the holder of an order dead: the row is granted anew.
  void take_over(int id) {
    const auto tables = fixture->select("SELECT fence FROM " + fixture->prefix() + "floor WHERE id = 4").at(0).at(0);
    sql("UPDATE orders SET lock_owner = '00112233445566778899aabbccddeeff/" +
        stores::sql::tables_id(std::stoull(tables)).text() +
        "000000000001', "
        "lock_fence = lock_fence + 1, version = version + 1 WHERE id = " +
        std::to_string(id));
  }
};

/// The same with order 1, which is paid.
struct paid_order : rows {
  paid_order() { add(order{.id = 1, .status = "paid"}); }
};

inline const lock_options at_once{.wait = std::chrono::milliseconds{0}};

}  // namespace dlock::test
