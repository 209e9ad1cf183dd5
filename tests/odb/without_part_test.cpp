// SPDX-License-Identifier: BSL-1.0

/// dlock::odb without its part for a database, which CMake's target brings and other build systems may forget.

#include "dlock/odb/database.hpp"
//
#include <odb/sqlite/database.hxx>
#include <odb/transaction.hxx>

#include "dlock/lock_service.hpp"
#include "dlock/odb/verify.hpp"
#include "support/scratch_folder.hpp"
#include "support/test.hpp"

namespace dlock::test {

TEST_CASE("odb: a program without the part for its database is told what to link, and no lock is lost") {
  const scratch_folder folder;
  const auto path = folder / "locks.db";
  const auto tells = MessageMatches(ContainsSubstring("link dlock::odb_sqlite"));
  CHECK_THROWS_MATCHES(open_database("sqlite:" + path), std::logic_error, tells);

  lock_service locks("sqlite:" + path);
  odb::sqlite::database database(path);
  CHECK_THROWS_MATCHES(begin_write(database), std::logic_error, tells);
  auto held = locks.acquire("k");
  {
    odb::transaction in(database.begin());
    CHECK_THROWS_MATCHES(verify(in, held), std::logic_error, tells);
    CHECK(in.finalized());
  }
  held.release();
  CHECK(locks.acquire("k").fencing_token() == 2);
}

}  // namespace dlock::test
