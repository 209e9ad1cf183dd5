// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/transaction.hxx>

#include <functional>

#include "odb/application.hpp"

namespace dlock::detail {

/// What a guarded transaction must still be able to say of itself. Throws if it can't.
using transaction_check = std::function<void(odb::connection&)>;

/// Where the server may end a transaction without the program learning of it (application_database::ends_unseen()):
/// makes `check` run again, in the transaction, before its first write after a read, and before its COMMIT. If the
/// check throws, or the transaction turns out to have ended, it is rolled back, and each later statement of it and its
/// commit throw the same. `about` tells checks apart: a second one about the same is left out. `missed` is
/// called if the transaction was committed and nothing could be checked, because the program had replaced the
/// connection's tracer. Elsewhere: does nothing.
///
/// ODB calls back only after a commit, but a connection's tracer before each statement, COMMIT included.
void guard_transaction(odb::transaction& in, const odb_application& application, const void* about,
                       transaction_check check, std::function<void()> missed = {});

/// From now on this runs before COMMIT instead of the checks: the last statement of the transaction. Precondition: the
/// transaction is guarded.
void check_at_commit(odb::transaction& in, transaction_check last);

}  // namespace dlock::detail
