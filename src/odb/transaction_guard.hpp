// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/transaction.hxx>

#include <functional>

#include "odb/application.hpp"

namespace dlock::detail {

/// Checks that a guarded transaction still has what it relies on, and throws if not.
using transaction_check = std::function<void(odb::connection&)>;

/// Repeats `check` in the transaction before its first write after a read and before its COMMIT, where the server may
/// end a transaction unseen (application_database::ends_unseen()); elsewhere does nothing. If the check throws, or the
/// transaction turns out to have ended, the guard rolls back, and each later statement and the commit throw the same.
/// A second check with the same `about` is left out. Calls `missed` if the transaction was committed unchecked, because
/// the program had replaced the connection's tracer.
///
/// It uses tracers because ODB calls a transaction's callbacks only after the commit, but a connection's tracer before
/// each statement, COMMIT included.
void guard_transaction(odb::transaction& in, const odb_application& application, const void* about,
                       transaction_check check, std::function<void()> missed = {});

/// Runs `last`, the last statement of the transaction, before COMMIT instead of the checks. Precondition: the
/// transaction is guarded.
void check_at_commit(odb::transaction& in, transaction_check last);

}  // namespace dlock::detail
