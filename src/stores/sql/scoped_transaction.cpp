// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sql/scoped_transaction.hpp"

namespace dlock::detail {

odb_scope::odb_scope(odb::connection& on) : mine_(on.begin(), false) { odb::transaction::current(mine_); }

odb_scope::~odb_scope() {
  if (mine_.finalized()) return;
  try {
    mine_.rollback();
  } catch (...) {
    // The connection broke: the server rolls back.
  }
}

void odb_scope::commit() { mine_.commit(); }

}  // namespace dlock::detail
