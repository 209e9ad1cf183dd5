// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The application of these tests: wallets in a database, on connections of its own.

#include <dlock/detail/odb_compat.hpp>
//
#include <cstdint>
#include <functional>
#include <memory>
#include <odb/database.hxx>
#include <odb/transaction.hxx>
#include <string>
#include <vector>

#include "dlock/lock_key.hpp"
#include "odb/verify/wallet.hpp"

namespace dlock {
class lock_service;
}

namespace dlock::test {

/// `url`: sqlite:<file> or mysql://user:password@host:port/database or mysql://user:password@/database?socket=<path>.
std::unique_ptr<odb::database> open_bank(const std::string& url);
/// Makes the tables anew: wallets 1 to `wallets`.
void make_bank(odb::database& db, std::uint64_t wallets, std::int64_t balance);
bool is_sqlite(odb::database& db);
/// For an odb::transaction: one that may verify.
odb::transaction_impl* begin(odb::database& db);

/// What locks a wallet in the transfer tests: those with an even number are rows locked in place, the others keys.
lock_key wallet_key(lock_service& locks, odb::database& db, std::uint64_t id);

// ---- in a transaction of their own -----------------------------------------------------------------------------
wallet read(odb::database& db, std::uint64_t id);
std::vector<wallet> all_wallets(odb::database& db);
std::vector<entry> all_entries(odb::database& db);

// ---- in the current transaction --------------------------------------------------------------------------------
wallet load(odb::database& db, std::uint64_t id);
/// How many wallets came, row by row from the server; `at_each` is called in between.
int wallets_one_by_one(odb::database& db, const std::function<void()>& at_each);
/// Writes balance and fence, whatever they were.
void write(odb::database& db, std::uint64_t id, std::int64_t balance, std::uint64_t fence = 0);
void persist(odb::database& db, entry entry);

}  // namespace dlock::test
