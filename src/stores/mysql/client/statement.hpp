// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/mysql/mysql.hxx>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dlock/store/store_types.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::detail {

/// The client library's truth value: char in one, bool in the other.
using mysql_bool = std::remove_cv_t<std::remove_reference_t<decltype(*MYSQL_BIND{}.is_null)>>;

/// Bytes of a fixed room, as the client library binds them.
template <std::size_t Size>
struct mysql_bytes {
  std::array<char, Size> bytes{};
  unsigned long size = 0;

  /// What does not fit is cut off: callers check before.
  void assign(std::string_view text) noexcept { size = static_cast<unsigned long>(text.copy(bytes.data(), Size)); }
  std::string_view view() const noexcept { return {bytes.data(), size}; }
};

/// Room for all parameters of the hot statements, one for each connection: they are bound once, to these places.
struct mysql_values {
  mysql_bytes<255> key{};
  mysql_bytes<16> session{};
  mysql_bytes<16> holder{};
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  std::uint64_t seen_fence = 0;
  std::int64_t own_ttl = 0;
  mysql_bool no_own_ttl = 0;  ///< binds NULL instead: kept by the session
  std::int64_t min_hold = 0;
  std::int64_t ttl = 0;
  std::int64_t pid = 0;
  mysql_bytes<1020> host{};  // characters of utf8mb4 have up to four bytes
  mysql_bytes<256> label{};
};

/// The row that look reads.
struct mysql_look_row {
  mysql_bytes<16> holder{};
  std::uint64_t fence = 0;
  std::int64_t kept = 0;
  std::int64_t gone = 0;
  std::int64_t left_us = 0;
  mysql_bytes<1020> host{};
  std::int64_t pid = 0;
  mysql_bytes<256> label{};
};

/// What an UPDATE, INSERT or DELETE did.
struct mysql_done {
  std::uint64_t rows = 0;       ///< that matched
  std::uint64_t insert_id = 0;  ///< the value of LAST_INSERT_ID
};

/// The statement with its parameters written in, for servers that prepare no more.
std::string written_out(const mysql_hot_text& text, const mysql_values& values);
/// The row that such a look reads.
void take_look_row(mysql_look_row& to, const std::vector<std::optional<std::string>>& from);

/// A hot statement prepared on one connection.
class mysql_statement {
 public:
  /// Null, and the reason, if the server does not take it. `values` must outlive it.
  static std::unique_ptr<mysql_statement> prepare(MYSQL* handle, const mysql_hot_text& text, mysql_values& values,
                                                  fault& why);
  ~mysql_statement();
  mysql_statement(const mysql_statement&) = delete;
  mysql_statement& operator=(const mysql_statement&) = delete;

  /// One round trip. yes: done() tells the rest. Else failed or unknown, and why.
  outcome execute(fault& why);
  mysql_done done() const noexcept;
  /// After execute() of look: yes, and the row, or absent.
  outcome fetch(mysql_look_row& row, fault& why);

 private:
  mysql_statement(MYSQL_STMT* native, const mysql_hot_text& text) noexcept : native_(native), text_(text) {}
  bool bind(mysql_values& values);
  fault fault_now() const;

  MYSQL_STMT* native_;
  const mysql_hot_text& text_;
};

}  // namespace dlock::detail
