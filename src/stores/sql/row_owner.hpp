// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What a row that is locked in place says of its holder, the same in every database.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/store/id128.hpp"
#include "dlock/store/store_types.hpp"

namespace dlock::stores::sql {

/// Session and attempt.
struct row_owner {
  id128 session{};
  std::uint64_t nonce = 0;

  /// "<32 hexadecimal digits>/<16 of them>", in lower case: 49 characters.
  std::string text() const;
  /// What verify() makes of it, and takes away again: an update that changes nothing would protect nothing on a cluster.
  std::string verified_text() const { return text() + '+'; }
  /// Of either form; nothing if another program wrote it.
  static std::optional<row_owner> parse(std::string_view text) noexcept;
};

/// Stands for a holder that is no session: another program, which keeps its locks by the row's expiry alone.
inline constexpr id128 foreign_owner{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  //
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/// Of a row whose holder has an expiry in it.
inline lease_kind kind_of_expiry(const row_table& table) noexcept {
  return table.renewal == row_renewal::column ? lease_kind::column : lease_kind::expiring;
}

}  // namespace dlock::stores::sql
