// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <cstdlib>

#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/errors.hpp"

namespace dlock::stores::mysql::lease_table {

/// The fence of a grant that was made. It comes with the server's answer, unless the table has a trigger: then that says
/// 0, whatever the trigger does. `select` makes the statement that reads it by session and nonce.
template <class Select>
void tell_fence(mysql_connection& on, std::uint64_t came_along, Select&& select, reply& made) {
  made.fence = came_along;
  if (came_along != 0) return;
  ++made.statements;
  mysql_rows rows;
  const auto said = on.query(select(), "read the fence", &rows, nullptr, made.why);
  if (said == outcome::yes && !rows.empty()) {
    made.fence = std::strtoull(rows.front().at(0).value_or("0").c_str(), nullptr, 10);
  }
  if (made.fence != 0) return;
  // Granted, but nobody knows how: as a grant without an answer it is cancelled, by session and nonce.
  if (said == outcome::yes) {
    made.why = make_own_fault("read the fence: the row is not as it was granted", true, true);
    on.heed(made.why);
  }
  made.why.transient = made.why.connection = true;
  on.interrupt();
  made.result = outcome::unknown;
}

}  // namespace dlock::stores::mysql::lease_table
