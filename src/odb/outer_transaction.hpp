// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/transaction.hxx>

namespace dlock::detail {

/// Puts the transaction that is current now, if there is one, back at its end. ODB keeps one for each thread: what
/// dlock does in the middle of the caller's must not replace it.
class outer_transaction {
 public:
  outer_transaction() noexcept : outer_(odb::transaction::has_current() ? &odb::transaction::current() : nullptr) {}
  ~outer_transaction() {
    if (outer_ != nullptr && !outer_->finalized()) {
      odb::transaction::current(*outer_);
    } else {
      odb::transaction::reset_current();
    }
  }
  outer_transaction(const outer_transaction&) = delete;
  outer_transaction& operator=(const outer_transaction&) = delete;

 private:
  odb::transaction* const outer_;
};

}  // namespace dlock::detail
