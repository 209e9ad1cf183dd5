// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "odb/rows/row_fixture.hpp"
//
#include <functional>
#include <memory>
#include <utility>

#include "dlock/odb/locked_row.hpp"

namespace dlock::test {

/// A lock on order 1 and its entity, apart, so that a test can come between the write and the commit.
struct order_in_hand {
  explicit order_in_hand(rows& r) : order_in_hand(r, r.db) {}
  order_in_hand(rows& r, odb::database& through) : db(through) {
    r.add(order{.id = 1, .status = "paid"});
    held = r.locks.acquire(row<order>(r.locks, db, 1));
    entity = r.load<order>(1);
    entity->status = "shipped";
  }
  /// The write of the entity, and then `after`.
  detail::entity_write write_and(std::function<void()> after) const {
    auto both = detail::write_of(db, entity);
    both.write = [write = std::move(both.write), after = std::move(after)] {
      write();
      after();
    };
    return both;
  }

  odb::database& db;
  lease held{};
  std::shared_ptr<order> entity{};
};

}  // namespace dlock::test
