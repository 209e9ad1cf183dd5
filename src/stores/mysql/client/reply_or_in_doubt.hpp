// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>

#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {

/// A reply that the request was not executed, for a lasting reason.
inline reply refuse(std::string text) { return {.why = make_own_fault(std::move(text))}; }

/// The reply of a verb whose exception is being handled. Its outcome is unknown, because the statement may have been
/// sent.
reply reply_of_exception(mysql_connection& connection, const char* doing) noexcept;

/// Runs the body of a verb, which must not throw. Exceptions of the body become faults.
template <class Body>
reply reply_or_in_doubt(mysql_connection& connection, const char* doing, Body&& body) noexcept {
  try {
    reply answer = body();
    connection.explain(answer.why);
    return answer;
  } catch (...) {
    return reply_of_exception(connection, doing);
  }
}

/// Turns the error of an INSERT whose row exists into a "no", because another process made the row.
inline reply unless_there(reply answer) {
  return answer.why.native == static_cast<int>(mysql_duplicate_key) ? reply{.result = outcome::no} : answer;
}

/// Completes the fence of a grant. The server sends it with its reply, unless the table has a trigger: then the server
/// sends 0, whatever the trigger does. `select` makes the statement that reads it by session and nonce.
template <class Select>
void tell_fence(mysql_connection& connection, Select&& select, reply& answer) {
  if (answer.fence != 0) return;
  ++answer.statements;
  mysql_rows rows;
  const auto said = connection.query(select(), "read the fence", &rows, nullptr, answer.why);
  if (said == outcome::yes && !rows.empty()) {
    answer.fence = unsigned_of(rows.front().at(0));
  }
  if (answer.fence != 0) return;
  // Granted, but with an unknown fence: like a grant without a reply it is cancelled by session and nonce.
  if (said == outcome::yes) {
    answer.why = make_own_fault("read the fence: the row no longer has the values of the grant", true, true);
    connection.note_error(answer.why);
  }
  answer.why.transient = answer.why.connection = true;
  connection.interrupt();
  answer.result = outcome::unknown;
}

}  // namespace dlock::stores::mysql
