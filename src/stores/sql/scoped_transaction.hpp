// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/transaction.hxx>

#include "stores/sql/outer_transaction.hpp"

namespace dlock::detail {

/// An ODB transaction on a connection of ours. ODB keeps one current transaction for each thread: the
/// caller's own, if it has one, is put back at the end, so that dlock may be called in the middle of it.
class odb_scope {
 public:
  explicit odb_scope(odb::connection& on);
  /// Rolls back unless committed.
  ~odb_scope();
  odb_scope(const odb_scope&) = delete;
  odb_scope& operator=(const odb_scope&) = delete;

  void commit();

 private:
  const odb_outer outer_{};  // before mine_: put back after its end
  odb::transaction mine_;
};

}  // namespace dlock::detail
