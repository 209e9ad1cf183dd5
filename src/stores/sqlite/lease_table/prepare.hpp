// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The parts of sqlite_store::prepare().

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/exceptions.hxx>
#include <odb/sqlite/exceptions.hxx>
#include <string>

#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/lease_table/connection.hpp"

namespace dlock::stores::sqlite::lease_table {

/// Frees what was held under a boot that is over. What may be alive stays, whatever its boot id says.
void forget_other_boots(lease_connection& connection);

/// Calls `step` until SQLite is not busy. The step leaves no transaction open.
template <class Step>
void patiently(sqlite_connection& connection, Step step) {
  sqlite_busy_retry retry(connection, lane::write, connection.file().settings.busy_timeout);
  int code = retry.begin();
  std::string text;
  if (code != SQLITE_OK) refuse(sqlite_fault(code, connection.file().settings.path));
  do {
    try {
      return step();
    } catch (const odb::timeout&) {
      code = SQLITE_BUSY;
    } catch (const odb::sqlite::database_exception& e) {
      code = e.extended_error();
      text = e.message();
    }
  } while (retry.again(code));
  refuse(sqlite_fault(code, connection.file().settings.path, is_busy(code) ? "" : text));
}

}  // namespace dlock::stores::sqlite::lease_table
