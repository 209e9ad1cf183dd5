// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The text that names the holder of a row, in tables that other programs share and in rows that are locked in place.
/// It is the same in every database.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::sql {

/// Session and attempt, for tables that other programs share.
struct row_owner {
  id128 session{};
  std::uint64_t nonce = 0;

  /// "<32 hexadecimal digits>/<16 of them>", in lower case: 49 characters.
  std::string text() const;
  /// Returns nothing for a text that another program wrote.
  static std::optional<row_owner> parse(std::string_view text) noexcept;
};

/// A short id of lock tables, made once and kept in the floor table. A row that is locked in place names the lock
/// tables that have its holder's session, because only those tables show whether the holder is alive.
class tables_id {
 public:
  static constexpr int floor_row = 4;
  static constexpr std::uint64_t most = (1U << 20) - 1;
  static constexpr std::size_t size = 4;  ///< characters of text()

  /// Not known yet; no owner's text has this id.
  tables_id() = default;
  explicit tables_id(std::uint64_t number) noexcept : number_(static_cast<std::uint32_t>(number & most)) {}
  /// Makes the id of new tables. `name` differs between lock tables of one server (or file).
  static tables_id made_of(std::string_view name);

  bool known() const noexcept { return number_ <= most; }
  std::uint32_t number() const noexcept { return number_; }
  /// Base 32, the same in every collation.
  std::string text() const;

 private:
  std::uint32_t number_ = ~0U;
};

/// The holder of a row: "<session>/<id of the lock tables><attempt>", 32, 4 and 12 digits, 49 characters.
struct row_holder {
  id128 session{};
  std::uint64_t nonce = 0;
  tables_id tables{};

  std::string text() const;
  /// Writes text() to `to`, which has room for `size` characters, without an allocation.
  static constexpr std::size_t size = 49;
  void write(char* to) const noexcept;
  /// verify() adds and removes a mark in turn, because an update that changes nothing would protect nothing on a
  /// cluster.
  std::string verified_text() const { return text() + verified_mark; }
  static constexpr char verified_mark = '+';
  /// Reads either form. Returns nothing if the text is another program's, or that of a process with other lock tables.
  static std::optional<row_holder> parse(std::string_view text, tables_id ours) noexcept;
  /// How messages name a holder that parse() does not know.
  static std::string describe_foreign(std::string_view text);
};

/// Stands for another program as the holder, which has no session, only the row's expiry.
inline constexpr id128 foreign_owner{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  //
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/// The lease kind of rows that contain their holder's expiry.
inline lease_kind kind_of_expiry(const row_table& table) noexcept {
  return table.renewal == row_renewal::column ? lease_kind::column : lease_kind::expiring;
}

}  // namespace dlock::stores::sql
