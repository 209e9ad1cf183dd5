// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/transaction.hxx>

namespace dlock::detail {

/// Puts the transaction that is current now, if there is one, back at its end. ODB keeps one for each thread: what dlock
/// does in the middle of the caller's must not replace it.
class odb_outer {
 public:
  odb_outer() noexcept : outer_(odb::transaction::has_current() ? &odb::transaction::current() : nullptr) {}
  ~odb_outer() {
    if (outer_ != nullptr && !outer_->finalized()) {
      odb::transaction::current(*outer_);
    } else {
      odb::transaction::reset_current();
    }
  }
  odb_outer(const odb_outer&) = delete;
  odb_outer& operator=(const odb_outer&) = delete;

 private:
  odb::transaction* const outer_;
};

}  // namespace dlock::detail
