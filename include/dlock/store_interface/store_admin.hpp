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

/// The functions use only the key or row of a request.
/// Errors: as store.
/// Thread safety: as store.
class store_admin {
 public:
  virtual ~store_admin() = default;

  /// The holder of one key or row; `found` stays empty if it is free or unknown. For a row, holder_info::key is empty.
  virtual reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept = 0;
  /// Held keys greater than `after` in byte order, at most `limit`. Rows of the application are not among them.
  virtual reply list(connection& connection, std::string_view after, std::size_t limit,
                     std::vector<holder_info>& found) noexcept = 0;
  /// Revokes the session that keeps the key or row: it can't renew, so the key is free when it expires. Returns no if
  /// the key is free, or its lease has a separate expiry (which passes anyway).
  virtual reply revoke(connection& connection, const request& key) noexcept = 0;

  /// One step of clean-up, by primary key, autocommitted: sessions long dead that hold nothing, and free keys not
  /// granted for `idle` (0: none). Deletes at most `limit` rows of each kind, and skips rows that a transaction has
  /// locked. reply::fence is the number of deleted rows; if it is `limit` or more, there may be more to do.
  /// reply::more: it has not read everything since it began; the next step continues there.
  virtual reply cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept = 0;

  /// An overview of the whole store, with at most `limit` sessions and keys. Without an override: of the first 1,000
  /// held keys and their sessions.
  /// Cost: at most four statements however many keys there are.
  virtual reply overview(connection& connection, std::size_t limit, store_overview& found) noexcept;

  /// The waiters of a key, at most `limit` of them with their names. Without an override they are unknown.
  virtual reply waiters(connection& connection, std::string_view key, std::size_t limit,
                        waiter_overview& found) noexcept;

  /// With capabilities::rows: the tables of the lock tables' database whose rows can be locked in place, by the column
  /// names of dlock::lock_columns and dlock::expiring_lock_columns. `name`: only that table, "orders" or "shop.orders";
  /// returns failed with the reason if its rows can't be locked.
  virtual reply row_tables(connection& connection, std::string_view name,
                           std::vector<std::shared_ptr<const row_table>>& found) noexcept;
  /// Rows of such a table that are held, at most `limit`.
  virtual reply held_rows(connection& connection, const std::shared_ptr<const row_table>& table, std::size_t limit,
                          std::vector<held_row>& found) noexcept;

  /// Examines the server's settings, the user's rights and the stored data. Changes nothing. A setting that the user
  /// may not read is a note. Without an override it finds nothing.
  virtual reply examine(connection& connection, std::vector<store_finding>& found) noexcept;
};

}  // namespace dlock
