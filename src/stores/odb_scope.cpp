// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/odb_scope.hpp"

namespace dlock::detail {

odb_scope::odb_scope(odb::connection& on)
    : outer_(odb::transaction::has_current() ? &odb::transaction::current() : nullptr), mine_(on.begin(), false) {
  odb::transaction::current(mine_);
}

odb_scope::~odb_scope() {
  if (!mine_.finalized()) {
    try {
      mine_.rollback();
    } catch (...) {
      // The connection broke: the server rolls back.
    }
  }
  restore();
}

void odb_scope::commit() { mine_.commit(); }

void odb_scope::restore() noexcept {
  if (outer_ != nullptr) {
    odb::transaction::current(*outer_);
  } else {
    odb::transaction::reset_current();
  }
}

}  // namespace dlock::detail
