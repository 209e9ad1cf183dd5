// SPDX-License-Identifier: BSL-1.0

/// The SQLite store without memory: a verb says that it does not know, and leaves nothing behind in its connection. A
/// wait ends, and leaves nothing held.

#include "dlock/lock_key.hpp"
#include "stores/sqlite/client/connection.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scarce_memory.hpp"
#include "support/scratch_folder.hpp"
#include "support/waits_without_memory.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

class scarce_fixture final : public sqlite_file_fixture {
 public:
  scarce_fixture() {
    raw_sqlite raw(path);
    raw.run("CREATE TABLE jobs(id INTEGER PRIMARY KEY, o TEXT NOT NULL DEFAULT '', e TIMESTAMP, f INTEGER DEFAULT 0)");
    raw.run("INSERT INTO jobs(id) VALUES(1)");
  }
  const lock_key job = lock_key::of_row(
      std::make_shared<const row_table>(row_table{.table = "jobs",
                                                  .label = "a table whose name is too long to be kept in place",
                                                  .id = {"id"},
                                                  .owner = "o",
                                                  .expires_at = "e",
                                                  .fence = "f",
                                                  .renewal = row_renewal::column,
                                                  .owner_not_null = true}),
      {std::int64_t{1}});
};

/// Neither a transaction nor a statement is open on it.
void check_idle(connection& connection) {
  auto* const handle = dynamic_cast<stores::sqlite::sqlite_connection&>(connection).handle();
  CHECK(::sqlite3_get_autocommit(handle) == 1);
  for (auto* each = ::sqlite3_next_stmt(handle, nullptr); each != nullptr; each = ::sqlite3_next_stmt(handle, each)) {
    CHECK(::sqlite3_stmt_busy(each) == 0);
  }
}

/// Calls `verb` again and again, each time with one allocation more before memory runs out, until there is enough.
void check_every_allocation(actor& who, const std::function<reply()>& verb) {
  for (std::size_t number = 0;; ++number) {
    REQUIRE(number < 1000);
    INFO("allocation " << number);
    reply answer;
    bool ran_out = false;
    {
      const scarce_memory scarce(number);
      answer = verb();
      ran_out = scarce.ran_out();
    }
    check_idle(*who.connection);
    CHECK(who.connection->usable());
    if (!ran_out) return;
    if (answer.result == outcome::unknown) CHECK(answer.why.transient);
  }
}

}  // namespace

TEST_CASE("sqlite memory: no verb ends the program or leaves its connection in the middle of something") {
  scarce_fixture fixture;
  const std::string label(100, 'x');
  actor a(fixture, for_long, label), b(fixture, for_long, label);
  const auto fence = a.acquire("held");
  const auto ask = [&](verb action, const row_id* row = nullptr) {
    const request q{.action = action,
                    .resource = row != nullptr ? fixture.job.view() : "held",
                    .session = b.id,
                    .row = row,
                    .nonce = 77,
                    .fence = fence,
                    .kind = row != nullptr ? lease_kind::column : lease_kind::session,
                    .ttl = row != nullptr ? microseconds{1h} : 0us};
    return [&b, q] {
      reply answer;
      b.store->execute(*b.connection, {&q, 1}, {&answer, 1});
      return answer;
    };
  };
  for (const verb action : {verb::take, verb::poll, verb::release, verb::cancel, verb::extend}) {
    check_every_allocation(b, ask(action));
    check_every_allocation(b, ask(action, fixture.job.row()));
  }
  check_every_allocation(b, [&] {
    std::array<request, 2> takes = {request{.action = verb::insert, .resource = "x", .session = b.id, .nonce = 1},
                                    request{.action = verb::insert, .resource = "y", .session = b.id, .nonce = 2}};
    std::array<reply, 2> replies;
    b.store->execute(*b.connection, takes, replies);
    return replies[0];
  });
  check_every_allocation(
      b, [&] { return b.store->session(*b.connection, session_verb::renew, {.id = b.id, .ttl = for_long}); });
  check_every_allocation(b,
                         [&] { return b.store->session(*b.connection, session_verb::close, {.id = id128::random()}); });
  check_every_allocation(b, [&] { return b.store->admin()->cleanup(*b.connection, 1us, 100); });
  check_every_allocation(b, [&] { return b.store->admin()->revoke(*b.connection, {.resource = "nobody's"}); });
  std::vector<holder_info> found;
  check_every_allocation(b, [&] { return b.store->admin()->inspect(*b.connection, {.resource = "held"}, found); });
  check_every_allocation(b, [&] { return b.store->admin()->list(*b.connection, "", 100, found); });
  CHECK(a.at("held").holder == a.id);
  CHECK(a.renew(for_long) == outcome::yes);
}

TEST_CASE("sqlite memory: a wait that runs out of it ends, and leaves nothing held") {
  const scratch_folder folder;
  check_waits_without_memory("sqlite:" + (folder / "locks.db"));
}
