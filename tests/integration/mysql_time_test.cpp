// SPDX-License-Identifier: GPL-2.0-or-later

/// The expression that is the time of every statement.

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"
#include "stores/mysql_sql.hpp"
#include "support/mysql_place.hpp"

namespace dlock::test {

TEST_CASE("mysql time: microseconds since 1970 UTC in every zone, also where a local clock jumps",
          "[mysql][T26][T27]") {
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  const detail::mysql_sql sql(detail::make_odb_names<odb::id_mysql>("dlock_", '`'));
  const auto now = sql.names().expand("SELECT {now}");
  // Half an hour before, at, and half an hour after both changes of a year in Europe: 2026-03-29 and 2026-10-25,
  // 01:00 UTC.
  for (const long long second :
       {1774744200LL, 1774746000LL, 1774747800LL, 1792888200LL, 1792890000LL, 1792891800LL, 2147483646LL}) {
    for (const char* const zone : {"SYSTEM", "+00:00", "+01:00", "+02:00", "-11:30", "+13:00"}) {
      INFO(second << " in " << zone);
      raw.run(std::string("SET time_zone='") + zone + "'");
      raw.run("SET timestamp=" + std::to_string(second) + ".000001");
      CHECK(raw.one(now) == std::to_string(second) + "000001");
    }
  }
}

}  // namespace dlock::test
