// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sqlite3.h>

#include "dlock/store_interface/verification.hpp"
#include "support/raw_sqlite.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Rows that it changed, by the parameters' way, as another client library would bind them.
inline int run_bound(raw_sqlite& client, const verification& check) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(::sqlite3_prepare_v2(client.handle(), check.sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  int at = 0;
  for (const auto& each : check.parameters) {
    ++at;
    if (const auto* bytes = std::get_if<verification::bytes>(&each)) {
      ::sqlite3_bind_blob(statement, at, bytes->value.data(), static_cast<int>(bytes->value.size()), SQLITE_STATIC);
    } else if (const auto* text = std::get_if<std::string>(&each)) {
      ::sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
    } else {
      ::sqlite3_bind_int64(statement, at, std::get<std::int64_t>(each));
    }
  }
  CHECK(at == ::sqlite3_bind_parameter_count(statement));
  const int code = ::sqlite3_step(statement);
  ::sqlite3_finalize(statement);
  REQUIRE(code == SQLITE_DONE);
  return client.changes();
}

}  // namespace dlock::test
