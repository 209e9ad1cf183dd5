// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/transaction.hxx>

#include "stores/sql/outer_transaction.hpp"

namespace dlock::stores::sql {

/// An ODB transaction on a connection of ours. ODB keeps one current transaction for each thread: the
/// caller's own, if it has one, is put back at the end, so that dlock may be called in the middle of it.
class scoped_transaction {
 public:
  explicit scoped_transaction(odb::connection& connection);
  /// Rolls back unless committed.
  ~scoped_transaction();
  scoped_transaction(const scoped_transaction&) = delete;
  scoped_transaction& operator=(const scoped_transaction&) = delete;

  void commit();

 private:
  const outer_transaction outer_{};  // before mine_: put back after its end
  odb::transaction mine_;
};

}  // namespace dlock::stores::sql
