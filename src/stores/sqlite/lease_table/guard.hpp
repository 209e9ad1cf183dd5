// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/exceptions.hxx>

#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/lease_table/connection.hpp"

namespace dlock::stores::sqlite::lease_table {

/// Calls `body` on a connection that may be used; what it throws becomes the reply.
template <class Body>
reply reply_or_in_doubt(connection& connection, Body body) noexcept try {
  auto& link = static_cast<lease_connection&>(connection);
  if (const int code = link.check(); code != SQLITE_OK) return link.refused(code, false);
  try {
    return body(link);
  } catch (const odb::exception& e) {
    return {.why = {.text = "SQLite file '" + link.file().settings.path + "': " + e.what()}};
  }
} catch (...) {
  return out_of_memory();
}

}  // namespace dlock::stores::sqlite::lease_table
