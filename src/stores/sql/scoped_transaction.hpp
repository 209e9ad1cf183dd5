// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/transaction.hxx>

namespace dlock::stores::sql {

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

/// An ODB transaction on a connection of ours. ODB keeps one current transaction for each thread: the
/// caller's own, if it has one, is put back at the end, so that dlock may be called in the middle of it.
class scoped_transaction {
 public:
  explicit scoped_transaction(odb::transaction_impl* begun) : mine_(begun, false) { odb::transaction::current(mine_); }
  explicit scoped_transaction(odb::connection& connection) : scoped_transaction(connection.begin()) {}
  /// Rolls back unless committed.
  ~scoped_transaction() {
    if (mine_.finalized()) return;
    try {
      mine_.rollback();
    } catch (...) {
      // The connection broke: the server rolls back.
    }
  }
  scoped_transaction(const scoped_transaction&) = delete;
  scoped_transaction& operator=(const scoped_transaction&) = delete;

  void commit() { mine_.commit(); }

 private:
  const outer_transaction outer_{};  // before mine_: put back after its end
  odb::transaction mine_;
};

}  // namespace dlock::stores::sql
