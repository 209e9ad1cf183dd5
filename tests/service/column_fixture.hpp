// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <memory>

#include "service/row_fixture.hpp"

namespace dlock::test {

inline const lock_options half_minute{.ttl = 30s};

/// Rows whose own expiry is renewed, and a service.
struct column_fixture : row_fixture {
  const std::shared_ptr<const row_table> table = table_named("t", row_renewal::column);
  std::unique_ptr<lock_service> locks = service();

  lock_key row(std::int64_t id) { return existing(lock_key::of_row(table, {id})); }
  /// Time passes until the next regular renewal has been sent.
  void renewal_time(std::size_t rows_held = 1) {
    const auto before = store->count(verb::extend);
    clock.advance(10s + 1ms);
    CHECK(eventually([&] { return store->count(verb::extend) == before + rows_held; }));
  }
};

}  // namespace dlock::test
