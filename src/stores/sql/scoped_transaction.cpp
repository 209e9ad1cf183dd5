// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/scoped_transaction.hpp"

namespace dlock::stores::sql {

scoped_transaction::scoped_transaction(odb::connection& connection) : mine_(connection.begin(), false) {
  odb::transaction::current(mine_);
}

scoped_transaction::~scoped_transaction() {
  if (mine_.finalized()) return;
  try {
    mine_.rollback();
  } catch (...) {
    // The connection broke: the server rolls back.
  }
}

void scoped_transaction::commit() { mine_.commit(); }

}  // namespace dlock::stores::sql
