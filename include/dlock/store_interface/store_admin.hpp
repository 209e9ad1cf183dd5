// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What operators and clean-up ask of a store.

#include <memory>
#include <string_view>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_overview.hpp"

namespace DLOCK_EXPORT dlock {

/// Of the requests only the key or row is looked at.
/// Errors: as store.
/// Thread safety: as store.
class store_admin {
 public:
  virtual ~store_admin() = default;

  /// The holder of one key or row (empty `found`: free or unknown). Of a row, holder_info::key is left empty.
  virtual reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept = 0;
  /// Held keys greater than `after` in byte order, at most `limit`. Rows of the application's are not among them.
  virtual reply list(connection& connection, std::string_view after, std::size_t limit,
                     std::vector<holder_info>& found) noexcept = 0;
  /// Revokes the session that keeps the key or row: it can't renew, the key is free to others when it expires. no: the
  /// key is free, or its lease has a separate expiry (which ends by itself).
  virtual reply revoke(connection& connection, const request& key) noexcept = 0;

  /// One step of clean-up, by primary key, autocommitted: sessions long dead that hold nothing, and free keys not
  /// granted for `idle` (0: none). Deletes at most `limit` rows of each kind, and passes over what a transaction has
  /// locked. reply::fence: how many rows went; `limit` or more: there may be more to do. reply::more: it has not looked
  /// at everything since it began; the next step goes on there.
  virtual reply cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept = 0;

  /// The whole store; at most `limit` sessions and keys are listed. Without an override: of the first 1,000 held keys,
  /// whose holders are the sessions.
  /// Cost: at most three statements however many keys there are.
  virtual reply overview(connection& connection, std::size_t limit, store_overview& found) noexcept;

  /// The waiters of a key, at most `limit` of them with their names. Without an override: they are not known.
  virtual reply waiters(connection& connection, std::string_view key, std::size_t limit,
                        waiter_overview& found) noexcept;

  /// With capabilities::rows: the tables of the lock tables' database whose rows can be locked in place, by the column
  /// names of dlock::lock_columns and dlock::expiring_lock_columns. `name`: that table alone, "orders" or
  /// "shop.orders"; failed, and why, if its rows can't be locked.
  virtual reply row_tables(connection& connection, std::string_view name,
                           std::vector<std::shared_ptr<const row_table>>& found) noexcept;
  /// Rows of such a table that are held, at most `limit`.
  virtual reply held_rows(connection& connection, const std::shared_ptr<const row_table>& table, std::size_t limit,
                          std::vector<held_row>& found) noexcept;

  /// What matters to locks of the server's settings, the user's rights and what is stored. Changes nothing. A setting
  /// that the user may not read is a note. Without an override: nothing.
  virtual reply examine(connection& connection, std::vector<store_finding>& found) noexcept;
};

}  // namespace dlock
