// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The interface of a database's driver for the code that is the same for all databases: it runs a text with values
/// that reads or changes rows, and may combine several changes into one commit.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/row_table.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::sql {

// ---- values in ------------------------------------------------------------------------------------------------------

/// Does not copy text or bytes, which must outlive the call.
struct sql_bytes {
  std::string_view value{};
};
using sql_value =
    std::variant<std::monostate /* NULL */, std::int64_t, std::uint64_t, std::string_view, sql_bytes, id128>;

/// The value of the parameter ":name".
struct sql_parameter {
  std::string_view name;
  sql_value value{};
};

/// The values of a text's parameters, in any order. Each must occur in the text. The driver may set further parameters
/// itself: SQLite's :now is its clock, :wall the time of day, and :boot the boot.
class sql_values {
 public:
  sql_values() = default;
  sql_values(std::initializer_list<sql_parameter> all) noexcept : all_(all.begin(), all.size()) {}
  sql_values(const std::vector<sql_parameter>& all) noexcept : all_(all) {}

  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
  std::size_t size() const noexcept { return all_.size(); }

 private:
  std::span<const sql_parameter> all_{};
};

/// A statement that is sent as text.
struct sql_text {
  std::string sql;    ///< one line; names of tables are expanded, parameters have names
  const char* doing;  ///< for messages: "list holders"
  /// What the statement does about a row that another transaction has locked. With `avoid` a server that supports it
  /// fails the statement at once, with fault::contended.
  row_wait if_locked = row_wait::accept;
  /// Each connection prepares it at its first use, and keeps it. The text must outlive the connections, its values have
  /// the same names in the same order each time, and of what it reads only the first row counts.
  bool kept = false;
};

// ---- rows out -------------------------------------------------------------------------------------------------------

/// A row of a result. Columns count from 0. NULL reads as 0, as an empty text and as the id of zeros.
class sql_row {
 public:
  using cell = std::variant<std::monostate /* NULL */, std::int64_t, std::uint64_t, std::string>;

  sql_row() = default;
  explicit sql_row(std::vector<cell> cells) noexcept : cells_(std::move(cells)) {}

  void add(cell value) { cells_.push_back(std::move(value)); }

  bool null(std::size_t column) const { return cells_.at(column).index() == 0; }
  /// A number. A text counts as the number that it begins with.
  std::int64_t integer(std::size_t column) const;
  std::uint64_t natural(std::size_t column) const;
  bool truth(std::size_t column) const { return integer(column) != 0; }
  /// At least 0.
  microseconds time(std::size_t column) const;
  /// Valid as long as the row. Empty for a number.
  std::string_view text(std::size_t column) const;
  /// 16 bytes. Anything else is the id of zeros.
  id128 id(std::size_t column) const;
  /// A value of a primary key.
  row_value key(std::size_t column) const;

 private:
  std::vector<cell> cells_{};
};
using sql_rows = std::vector<sql_row>;

// ---- the connection -------------------------------------------------------------------------------------------------

/// What a change does if another transaction has locked the row.
enum class row_locks : std::uint8_t {
  of_file,     ///< the database has one lock for all rows, for which each change waits
  refused,     ///< with row_wait::avoid the change fails at once, with fault::contended
  waited_for,  ///< it waits even with row_wait::avoid; only SELECT ... FOR UPDATE can check before
};

/// Refers to a function of the caller, which must outlive the call.
class body_ref {
 public:
  template <class Function>
  explicit body_ref(Function& function) noexcept
      : function_(&function), call_([](void* to) { return reply((*static_cast<Function*>(to))()); }) {}
  reply operator()() const { return call_(function_); }

 private:
  void* function_;
  reply (*call_)(void*);
};

/// A connection to a database, for any statement.
class sql_connection : public connection {
 public:
  virtual row_locks locks() const noexcept = 0;

  /// Runs a text that reads. Returns yes and all its rows, or how it failed; rows of a failed attempt do not count.
  /// Throws std::bad_alloc, and std::logic_error for a parameter without a value.
  virtual reply read(const sql_text& statement, sql_values values, sql_rows& rows) = 0;
  /// Runs a text that changes rows, and returns no if it changed none. reply::fence is the number that it returned:
  /// LAST_INSERT_ID or the first column of RETURNING. Throws as read().
  virtual reply change(const sql_text& statement, sql_values values) = 0;

  /// Runs a body of several changes. Where each commit costs a sync of the disk, they are one transaction, committed if
  /// the body returns yes and rolled back otherwise. Elsewhere each change is committed by itself, so that no row stays
  /// locked in between. The body must be correct in both cases. Must not be nested.
  virtual reply transact(body_ref changes) = 0;

  /// Calls the body of a verb if the connection may be used, and turns its exceptions into a reply.
  virtual reply attempt(const char* doing, body_ref verb) noexcept = 0;
};

/// sql_connection::attempt() on a connection of the engine, which the body gets with its own type.
template <class Connection = sql_connection, class Body>
reply attempt(connection& on, const char* doing, Body&& body) noexcept {
  auto& with = static_cast<Connection&>(on);
  auto verb = [&] { return body(with); };
  return with.attempt(doing, body_ref(verb));
}

// ---- for drivers that send values inside the text -------------------------------------------------------------------

/// Replaces each parameter by `literal(value)`. Throws std::logic_error for a parameter without a value or a value
/// without a parameter, and names it.
std::string write_out(std::string_view sql, sql_values values, std::string (*literal)(const sql_value& value));

/// Replaces each parameter by a '?', and says which of the values each stands for. Throws as write_out().
std::string with_markers(std::string_view sql, sql_values values, std::vector<std::size_t>& order);

}  // namespace dlock::stores::sql
