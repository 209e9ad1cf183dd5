// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/transaction.hxx>

namespace dlock::detail {

/// Its destructor makes the transaction current again that was current before. ODB keeps one for each thread, which
/// dlock's own transactions must not replace for the caller.
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
