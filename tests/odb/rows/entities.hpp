// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Classes of an application, mapped in the ways that rows can be locked in place.

#include <dlock/odb/lock_columns.hpp>

#include <cstdint>
#include <memory>
#include <odb/core.hxx>
#include <odb/lazy-ptr.hxx>
#include <string>

namespace dlock {
namespace test {

// clang-format off
// [entity]
#pragma db object table("orders") optimistic
struct order {
  #pragma db id
  std::int32_t id = 0;
  #pragma db mysql:type("VARCHAR(40)")
  std::string status{};
  std::int64_t amount = 0;
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};
// [/entity]

/// An id that is a text, members that nobody else can see, and ODB's object cache.
#pragma db object table("wallet") optimistic session
class wallet {
 public:
  wallet(std::string owner, std::int64_t cents) : owner_(owner), cents_(cents) {}

  const std::string& owner() const { return owner_; }
  std::int64_t cents() const { return cents_; }
  void pay(std::int64_t cents) { cents_ -= cents; }

 private:
  friend class odb::access;
  wallet() {}

  #pragma db id mysql:type("VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
  std::string owner_;
  std::int64_t cents_ = 0;
  dlock::lock_columns lock_;
  #pragma db version
  std::uint32_t version_ = 0;
};

#pragma db value
struct line_id {
  #pragma db mysql:type("VARCHAR(40)")
  std::string document{};
  std::uint32_t number = 0;
};

/// An id of two columns.
#pragma db object table("line") optimistic
struct line {
  #pragma db id
  line_id id{};
  std::int32_t count = 0;
  dlock::lock_columns lock{};
  #pragma db version
  std::uint64_t version = 0;
};

#pragma db value
struct seat_id {
  #pragma db column("the row")
  std::int64_t row = 0;
  #pragma db column("order")
  std::int64_t number = 0;
  #pragma db column("hall-Name") mysql:type("VARCHAR(40)")
  std::string hall{};
};

/// An id of three columns, with names that need their quotation marks.
#pragma db object table("seat") optimistic
struct seat {
  #pragma db id column("")
  seat_id id{};
  std::int32_t sold = 0;
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};

#pragma db value
struct note_id {
  std::int32_t number = 0;
  #pragma db transient
  std::int32_t cached = 0;
};

/// An id with a member that is no column.
#pragma db object table("memo") optimistic
struct memo {
  #pragma db id
  note_id id{};
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};

/// Two tables that a query may join.
#pragma db object table("receiver")
struct receiver {
  #pragma db id
  std::int32_t id = 0;
  #pragma db mysql:type("VARCHAR(40)")
  std::string town{};
};

#pragma db object table("parcel") optimistic
struct parcel {
  #pragma db id
  std::int32_t id = 0;
  #pragma db not_null
  std::shared_ptr<receiver> to{};
  #pragma db column("mutex_")
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};

/// A class whose rows are in two tables.
#pragma db object table("vehicle") optimistic polymorphic
struct vehicle {
  virtual ~vehicle() {}
  #pragma db id
  std::int32_t id = 0;
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};

#pragma db object table("truck")
struct truck : vehicle {
  std::int32_t load = 0;
};

/// An id, lock columns and a version that a base class without a table has.
#pragma db object abstract optimistic
struct marked {
  #pragma db id
  line_id id{};
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};

#pragma db object table("mark")
struct mark : marked {
  std::int32_t count = 0;
};

/// A class whose queries read another table each time: its pointer is in that one.
struct sender;

#pragma db object table("letter") pointer(std::shared_ptr)
struct letter {
  #pragma db id
  std::int32_t id = 0;
  #pragma db not_null
  std::shared_ptr<sender> from{};
};

#pragma db object table("sender") optimistic
struct sender {
  #pragma db id
  std::int32_t id = 0;
  #pragma db inverse(from)
  odb::lazy_weak_ptr<letter> last{};
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};

/// A table shared with programs that lock its rows by plain SQL.
#pragma db object table("job") optimistic
struct job {
  #pragma db id
  std::int32_t id = 0;
  #pragma db mysql:type("VARCHAR(40)")
  std::string state{};
  dlock::expiring_lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};
// clang-format on

}  // namespace test
}  // namespace dlock
