// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <memory>
#include <odb/database.hxx>
#include <odb/transaction.hxx>
#include <string>

namespace support {

/// The application's database, for ODB: sqlite:FILE or mysql://USER:PASSWORD@HOST/DATABASE, as for locks. Parameters of
/// the URL are about locks. Connects to nothing yet. Throws std::invalid_argument for anything else.
std::unique_ptr<odb::database> open_database(const std::string& url);

/// Makes the tables of all mapped classes of the program anew.
void make_tables(odb::database& db);

/// Begins a transaction that writes: odb::transaction t(begin(db)). On SQLite it must be immediate, because one that
/// has read something may not write any more once anybody else wrote.
odb::transaction_impl* begin(odb::database& db);

}  // namespace support
