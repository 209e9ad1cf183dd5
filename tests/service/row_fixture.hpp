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
    fault why;
    const auto connection = rows->connect(1s, why);
    request ask{.action = verb::insert, .resource = key.view(), .session = id128::random()};
    reply answer;
    rows->execute(*connection, {&ask, 1}, {&answer, 1});
    ask.action = verb::release;
    ask.fence = answer.fence;
    if (answer.result == outcome::yes) rows->execute(*connection, {&ask, 1}, {&answer, 1});
    return key;
  }

  /// Somebody edits the table: whoever holds the row does so no more.
  void steal(const lock_key& key) {
    const auto row = thief_->holder(lock_key::from_stored(key.view()));
    fault why;
    const auto connection = rows->connect(1s, why);
    const request ask{.action = verb::release, .resource = key.view(), .session = row->session, .fence = row->fence};
    reply answer;
    rows->execute(*connection, {&ask, 1}, {&answer, 1});
  }

  /// As engine_fixture's, for a row.
  bool is_free(const lock_key& key) { return engine_fixture::is_free(lock_key::from_stored(key.view())); }

 private:
  std::unique_ptr<lock_service> thief_ = foreign();
};

}  // namespace dlock::test
