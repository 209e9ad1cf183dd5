// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What operators and clean-up ask of a store.

#include <string_view>
#include <vector>

#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store.hpp"

namespace dlock {

/// Thread safety and errors: as store. Of the requests only the key or row is looked at.
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
  /// locked. reply::fence: how many rows went; `limit` or more: there may be more to do.
  virtual reply cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept = 0;
};

}  // namespace dlock
