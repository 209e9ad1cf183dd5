// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/store/store_contract.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store_interface/row_table.hpp"
#include "support/raw_sqlite.hpp"

namespace dlock::test {

/// A new table of the application's, with the rows 1 to `rows`: id, and o, e and f for the lock.
inline std::shared_ptr<const row_table> make_lock_table(const std::string& path, const std::string& name, int rows,
                                                        row_renewal renewal = row_renewal::session) {
  const bool column = renewal == row_renewal::column;
  raw_sqlite raw(path);
  raw.run("CREATE TABLE " + name + "(id INTEGER PRIMARY KEY, o TEXT " +
          (column ? "NOT NULL DEFAULT '', e TIMESTAMP, f INTEGER DEFAULT 0)" : ", e INTEGER, f INTEGER)"));
  for (int id = 1; id <= rows; ++id) raw.run("INSERT INTO " + name + "(id) VALUES(" + std::to_string(id) + ")");
  return std::make_shared<const row_table>(row_table{.table = name,
                                                     .label = name,
                                                     .id = {"id"},
                                                     .owner = "o",
                                                     .expires_at = "e",
                                                     .fence = "f",
                                                     .renewal = renewal,
                                                     .owner_not_null = column});
}

}  // namespace dlock::test
