// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a database's driver offers to the code above it, which is the same for all databases: a text with values is
/// read or changes rows, and several changes may become one commit.

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

/// Text and bytes are not copied: they must outlive the call.
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

/// All parameters of a text, in any order. Each must occur in the text. A text may have further parameters that the
/// driver knows: SQLite's clock is :now, and its boot is :boot.
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
  /// What the statement does about a row that another transaction has locked. `avoid`: a server that can be asked by
  /// the same statement fails it at once, with fault::contended.
  row_wait if_locked = row_wait::accept;
};

// ---- rows out -------------------------------------------------------------------------------------------------------

/// A row of a result. Columns count from 0. A column that is NULL reads as 0, as an empty text and as the id of zeros.
class sql_row {
 public:
  using cell = std::variant<std::monostate /* NULL */, std::int64_t, std::uint64_t, std::string>;

  sql_row() = default;
  explicit sql_row(std::vector<cell> cells) noexcept : cells_(std::move(cells)) {}

  void add(cell value) { cells_.push_back(std::move(value)); }

  bool null(std::size_t column) const { return cells_.at(column).index() == 0; }
  /// A number; of a text, the one that it begins with.
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

/// What a change does where another transaction has locked what it needs.
enum class row_locks : std::uint8_t {
  of_file,     ///< there is one lock for all rows, for which each change waits
  refused,     ///< row_wait::avoid fails the change at once, with fault::contended
  waited_for,  ///< it waits for the row, whatever it says: only SELECT ... FOR UPDATE can ask before
};

/// Refers to a function of the caller, which must outlive the call and no more.
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

/// A connection to a database. It knows no table.
class sql_connection : public connection {
 public:
  virtual row_locks locks() const noexcept = 0;

  /// Runs a text that reads: yes, and all its rows, or how it failed. Rows of a try that failed do not count. Throws
  /// std::bad_alloc, and std::logic_error for a parameter without a value.
  virtual reply read(const sql_text& statement, sql_values values, sql_rows& rows) = 0;
  /// Runs a text that changes rows: no if it changed none. reply::fence: the number that it made known, LAST_INSERT_ID
  /// or the first column of RETURNING. Throws likewise.
  virtual reply change(const sql_text& statement, sql_values values) = 0;

  /// Runs a body of several changes. Where each commit costs a sync of the disk, they are one transaction: it is
  /// committed if the body answers yes, and otherwise the body's changes are undone. Elsewhere each change stands for
  /// itself, so that no row stays locked between them: the body must be right in both cases. Not to be nested.
  virtual reply transact(body_ref changes) = 0;

  /// Calls the body of a verb if the connection may be used, and turns what the body throws into a reply.
  virtual reply attempt(const char* doing, body_ref verb) noexcept = 0;
};

/// sql_connection::attempt() on a connection as the engine gives it; the body gets it as what it is.
template <class Connection = sql_connection, class Body>
reply attempt(connection& on, const char* doing, Body&& body) noexcept {
  auto& with = static_cast<Connection&>(on);
  auto verb = [&] { return body(with); };
  return with.attempt(doing, body_ref(verb));
}

// ---- for drivers that send values inside the text -------------------------------------------------------------------

/// The text with `literal(value)` in place of each parameter. Throws std::logic_error, which names it, for a parameter
/// without a value and for a value without a parameter.
std::string write_out(std::string_view sql, sql_values values, std::string (*literal)(const sql_value& value));

}  // namespace dlock::stores::sql
