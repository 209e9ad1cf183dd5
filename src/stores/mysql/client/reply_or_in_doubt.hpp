// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/exceptions.hxx>
#include <odb/mysql/exceptions.hxx>

#include <cstdint>
#include <cstdlib>
#include <exception>

#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/errors.hpp"

namespace dlock::stores::mysql {

/// Runs the body of a verb, which must not throw: what it throws becomes a fault. The outcome is unknown
/// then, because the statement may have been sent.
template <class Body>
reply reply_or_in_doubt(mysql_connection& connection, const char* doing, Body&& body) noexcept {
  reply failed;
  failed.result = outcome::unknown;
  try {
    reply answer = body();
    connection.explain(answer.why);
    return answer;
  } catch (const odb::mysql::database_exception& e) {
    try {
      failed.why = make_mysql_fault(e.error(), e.sqlstate(), e.message(), doing);
      failed.result = outcome_of_mysql_error(e.error());
      connection.note_error(failed.why);
      connection.explain(failed.why);
    } catch (...) {
      failed.why.transient = true;
    }
  } catch (const odb::exception& e) {
    // ODB has exceptions without a number for a deadlock or a lost connection; the handle still has it.
    try {
      const unsigned code = mysql_errno(connection.handle());
      failed.why = make_mysql_fault(code, mysql_sqlstate(connection.handle()), e.what(), doing);
      if (code != 0) failed.result = outcome_of_mysql_error(code);
      connection.note_error(failed.why);
    } catch (...) {
      failed.why.transient = true;
    }
  } catch (const std::exception& e) {
    try {
      failed.why = make_own_fault(std::string(doing) + ": " + e.what(), true);
    } catch (...) {
      failed.why.transient = true;
    }
  } catch (...) {
    failed.why.transient = true;
  }
  if (failed.result == outcome::unknown) {
    // The cancellation ends this connection at the server, by its identity: it must not be used any more.
    failed.why.transient = failed.why.connection = true;
    connection.interrupt();
  }
  return failed;
}

/// Puts the fence of a grant that was made into the answer. The server sends it with its answer, unless the table has a
/// trigger: then the server sends 0, whatever the trigger does. `select` makes the statement that reads it by session
/// and nonce.
template <class Select>
void tell_fence(mysql_connection& connection, std::uint64_t came_along, Select&& select, reply& answer) {
  answer.fence = came_along;
  if (came_along != 0) return;
  ++answer.statements;
  mysql_rows rows;
  const auto said = connection.query(select(), "read the fence", &rows, nullptr, answer.why);
  if (said == outcome::yes && !rows.empty()) {
    answer.fence = std::strtoull(rows.front().at(0).value_or("0").c_str(), nullptr, 10);
  }
  if (answer.fence != 0) return;
  // Granted, but its fence is unknown: as a grant without an answer it is cancelled, by session and nonce.
  if (said == outcome::yes) {
    answer.why = make_own_fault("read the fence: the row is not as it was granted", true, true);
    connection.note_error(answer.why);
  }
  answer.why.transient = answer.why.connection = true;
  connection.interrupt();
  answer.result = outcome::unknown;
}

}  // namespace dlock::stores::mysql
