// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "service/engine_fixture.hpp"

namespace dlock::test {

/// A store that locks rows: as memory knows them, by the bytes of their keys.
struct row_fixture : engine_fixture {
  row_fixture() { store->lock_rows(); }

  static std::shared_ptr<const row_table> table_named(const std::string& name, row_renewal renewal,
                                                      const std::string& label = {}) {
    return std::make_shared<const row_table>(row_table{.table = "`" + name + "`",
                                                       .label = label.empty() ? name : label,
                                                       .id = {"`id`"},
                                                       .owner = "`lock_owner`",
                                                       .expires_at = "`lock_expire_time`",
                                                       .fence = "`fence`",
                                                       .renewal = renewal});
  }

  /// Makes the row, unless it is there: free, with fence 1.
  lock_key existing(const lock_key& key) {
    request ask{.action = verb::insert, .resource = key.view(), .session = id128::random()};
    const auto made = answer_to(ask);
    ask.action = verb::release;
    ask.fence = made.fence;
    if (made.result == outcome::yes) answer_to(ask);
    return key;
  }

  /// As engine_fixture's, for a row.
  void steal(const lock_key& key) { engine_fixture::steal(lock_key::from_stored(key.view())); }
  bool is_free(const lock_key& key) { return engine_fixture::is_free(lock_key::from_stored(key.view())); }
};

}  // namespace dlock::test
