// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <odb/database.hxx>

namespace support {

/// Makes the tables of all mapped classes of the program anew.
void make_tables(odb::database& db);

}  // namespace support
