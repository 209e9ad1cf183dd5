// SPDX-License-Identifier: BSL-1.0
#pragma once

/// How rows name their holder, the same in every database: those of tables that other programs share, and those that
/// are locked in place.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::sql {

/// Session and attempt, as tables that other programs share have them.
struct row_owner {
  id128 session{};
  std::uint64_t nonce = 0;

  /// "<32 hexadecimal digits>/<16 of them>", in lower case: 49 characters.
  std::string text() const;
  /// Nothing if another program wrote it.
  static std::optional<row_owner> parse(std::string_view text) noexcept;
};

/// Short id of lock tables, made once and kept in the floor table. A row that is locked in place names
/// the lock tables in which its holder's session is: only those tables show whether the holder is alive.
class tables_id {
 public:
  static constexpr int floor_row = 4;
  static constexpr std::uint64_t most = (1U << 20) - 1;
  static constexpr std::size_t size = 4;  ///< characters of text()

  /// Not known yet: no owner is of these tables.
  tables_id() = default;
  explicit tables_id(std::uint64_t number) noexcept : number_(static_cast<std::uint32_t>(number & most)) {}
  /// That of tables that have none yet. `name` differs between lock tables of one server (or file).
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
  /// The same where memory must not run out. `to` has room for `size` characters.
  static constexpr std::size_t size = 49;
  void write(char* to) const noexcept;
  /// What verify() makes of it, and takes away again: an update that changes nothing would protect nothing on a
  /// cluster.
  std::string verified_text() const { return text() + verified_mark; }
  static constexpr char verified_mark = '+';
  /// Of either form. Nothing if another program wrote it, or one that has its sessions in other lock tables.
  static std::optional<row_holder> parse(std::string_view text, tables_id ours) noexcept;
  /// How messages name a holder that parse() does not know.
  static std::string describe_foreign(std::string_view text);
};

/// For messages: "host/pid label".
std::string describe_holder(std::string_view host, std::int64_t pid, std::string_view label);

/// Stands for a holder that is no session: another program, which keeps its locks by the row's expiry alone.
inline constexpr id128 foreign_owner{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  //
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/// Of a row whose holder has an expiry in it.
inline lease_kind kind_of_expiry(const row_table& table) noexcept {
  return table.renewal == row_renewal::column ? lease_kind::column : lease_kind::expiring;
}

}  // namespace dlock::stores::sql
