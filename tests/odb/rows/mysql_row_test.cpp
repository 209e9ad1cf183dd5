// SPDX-License-Identifier: BSL-1.0

// Claims where transactions lock rows.

#include <odb/connection.hxx>
#include <odb/exceptions.hxx>
#include <odb/mysql/database.hxx>
#include <odb/query-dynamic.hxx>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/verify.hpp"
#include "odb/rows/order_in_hand.hpp"
#include "support/calls.hpp"
#include "support/mysql_trigger.hpp"
#include "support/tcp_proxy.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using namespace dlock;
using loss = tcp_proxy::loss;
using query = odb::query<order>;

TEST_CASE_METHOD(
    rows, "mysql rows: a claim passes over a row that somebody's transaction has locked and does not wait for it") {
  for (int id = 1; id <= 3; ++id) add(order{.id = id});
  const auto other = db.connection();
  other->execute("BEGIN");
  other->execute("UPDATE orders SET amount = 1 WHERE id = 1");
  const auto begun = std::chrono::steady_clock::now();
  {
    const auto claimed = claim<order>(locks, db, query("ORDER BY id"), 3);
    REQUIRE(claimed.size() == 2);
    CHECK(claimed[0]->id == 2);
    CHECK(claimed[1]->id == 3);
  }
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  other->execute("ROLLBACK");
  CHECK(claim<order>(locks, db, query("ORDER BY id"), 3).size() == 3);
}

// Ids that are texts, in columns of every kind: other character sets, other collations, bytes.

namespace {

void make_wallets(rows& r, const std::string& type) {
  r.sql("DROP TABLE wallet");
  r.sql("CREATE TABLE wallet (owner " + type +
        " NOT NULL PRIMARY KEY, cents BIGINT NOT NULL, lock_owner VARCHAR(50) NULL, lock_expires_at_us BIGINT NULL, "
        "lock_fence BIGINT UNSIGNED NOT NULL DEFAULT 0, version INT UNSIGNED NOT NULL) ENGINE=InnoDB");
}

/// Everything that is done with one row.
void check_all(rows& r, odb::database& db, const std::string& id) {
  auto row = lock_row<wallet>(r.locks, db, id);
  CHECK(row->owner() == id);
  CHECK_FALSE(granted(try_lock_row<wallet>(r.others, db, id)));
  row->pay(10);
  row.update();
  {
    odb::transaction in(db.begin());
    dlock::verify(in, row.held());
    row.update(in);
    in.commit();
  }
  row->pay(20);
  row.commit();
  auto claimed = dlock::claim<wallet>(r.others, db, odb::query<wallet>("cents = 70"), 5);
  REQUIRE(claimed.size() == 1);
  CHECK(claimed.front()->owner() == id);
  claimed.front()->pay(70);
  claimed.front().commit();
  CHECK(lock_row<wallet>(r.locks, db, id)->cents() == 0);
}

const std::string german = "Gr\xc3\xbc\xc3\x9f' \\";
const std::string japanese = "\xe6\x97\xa5\xe6\x9c\xac";

}  // namespace

TEST_CASE_METHOD(rows, "mysql rows: a text id is found in a column of any character set and collation", "[T56]") {
  const auto type =
      GENERATE(as<std::string>{}, "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci",
               "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_german1_ci",
               "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_bin", "VARCHAR(40) CHARACTER SET utf8mb3",
               "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "VARCHAR(40) CHARACTER SET ucs2",
               "VARCHAR(40) CHARACTER SET utf16 COLLATE utf16_bin", "VARBINARY(40)");
  CAPTURE(type);
  make_wallets(*this, type);
  add(wallet(german, 100));
  add(wallet("plain", 1));
  check_all(*this, db, german);
  if (type.find("latin1") == std::string::npos) {
    add(wallet(japanese, 100));
    check_all(*this, db, japanese);
  }
}

TEST_CASE_METHOD(
    rows, "mysql rows: an id with characters that the column can't have names no row, not one with question marks",
    "[T56]") {
  make_wallets(*this, "VARCHAR(40) CHARACTER SET latin1");
  add(wallet("??", 100));
  add(wallet("?", 100));
  for (const auto& id : {japanese, std::string("\xf0\x9f\x94\x92"), std::string("\xe2\x80\x8b?")}) {
    const auto error = caught<dlock::lock_refused>([&] { return try_lock_row<wallet>(locks, db, id); });
    CHECK(error.code() == dlock::errc::no_such_row);
  }
  CHECK(lock_row<wallet>(locks, db, "??")->cents() == 100);
}

TEST_CASE_METHOD(rows, "mysql rows: an id of bytes is compared as bytes", "[T56]") {
  make_wallets(*this, "VARBINARY(40)");
  const std::string bytes("\xff\x00'\xe9", 4);
  sql("INSERT INTO wallet (owner, cents, version) VALUES (X'FF0027E9', 100, 1)");
  auto row = lock_row<wallet>(locks, db, bytes);
  CHECK(row->owner() == bytes);
  const auto check = row.held().verification();
  CHECK(std::holds_alternative<dlock::verification::bytes>(check.parameters.at(3)));
  row->pay(30);
  row.commit();
  CHECK(dlock::claim<wallet>(locks, db, odb::query<wallet>("cents = 70"), 1).size() == 1);
}

TEST_CASE_METHOD(rows, "mysql rows: an id is what the application's connections say it is, whatever they speak",
                 "[T56]") {
  const auto type = GENERATE(as<std::string>{}, "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                             "VARCHAR(40) CHARACTER SET latin1");
  CAPTURE(type);
  make_wallets(*this, type);
  const auto latin =
      fixture->through(static_cast<std::uint16_t>(std::stoul(mysql_setting("DLOCK_TEST_MYSQL_PORT"))), "latin1");
  add(wallet(german, 100));
  check_all(*this, *latin, "Gr\xfc\xdf' \\");
}

TEST_CASE_METHOD(rows, "mysql rows: an id that is no text at all is refused with its column before any lock is taken") {
  CHECK_THROWS_AS(dlock::row<wallet>(locks, db, "\xff"), std::invalid_argument);
  const auto error = caught<std::invalid_argument>([&] { return lock_row<wallet>(locks, db, "a\xe9z"); });
  CHECK(std::string(error.what()).find("`owner` = 'a?z' is not UTF-8") != std::string::npos);
}

TEST_CASE_METHOD(rows,
                 "mysql rows: spellings that a collation takes for one row exclude each other, and are no re-entry",
                 "[T56]") {
  make_wallets(*this, "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci");
  add(wallet("Ada", 100));
  auto mine = lock_row<wallet>(locks, db, "ada");
  CHECK(mine->owner() == "Ada");
  CHECK_FALSE(granted(try_lock_row<wallet>(others, db, "ADA")));
  CHECK_FALSE(granted(try_lock_row<wallet>(locks, db, "ADA")));  // by the holder itself: another key
  CHECK(try_lock_row<wallet>(locks, db, "ada").held().reentered());
  mine->pay(1);
  mine.commit();
  CHECK(lock_row<wallet>(others, db,
                         "\xc3\xa1"
                         "da")
            ->cents() == 99);
}

TEST_CASE("mysql rows: a table with an audit trigger is locked, claimed and written as any other") {
  const mysql_fixture beside;
  rows r;
  audit log(beside);
  const auto table = "`" + std::string(static_cast<odb::mysql::database&>(r.db).db()) + "`.`orders`";
  log.watch(table, "BEFORE UPDATE");
  log.watch(table, "AFTER UPDATE");
  r.add(order{.id = 1, .status = "new", .amount = 10});
  r.add(order{.id = 2, .status = "new", .amount = 20});
  for (int round = 1; round != 3; ++round) {
    auto locked = dlock::lock_row<order>(r.locks, r.db, 1);
    CHECK(locked.held().fencing_token() == static_cast<std::uint64_t>(round));
    CHECK_FALSE(granted(dlock::try_lock_row<order>(r.others, r.db, 1)));
    locked->amount = 10 + round;
    locked.commit();
    CHECK(r.load<order>(1)->amount == 10 + round);
  }
  auto claimed = dlock::claim<order>(r.locks, r.db, odb::query<order>::status == "new", 2);
  REQUIRE(claimed.size() == 2);
  CHECK(claimed[0].held().fencing_token() == 3);
  CHECK(claimed[1].held().fencing_token() == 1);
  for (auto& row : claimed) {
    row->status = "done";
    row.commit();
  }
  CHECK(dlock::claim<order>(r.others, r.db, odb::query<order>::status == "new", 2).empty());
  CHECK(r.locks.count(dlock::event::kind::split_brain) == 0);
}

// Commits without an answer: the connection breaks when the server has it already, or before.

namespace {

struct lossy_rows : rows {
  tcp_proxy way{static_cast<std::uint16_t>(std::stoul(mysql_setting("DLOCK_TEST_MYSQL_PORT")))};
  std::unique_ptr<odb::database> lossy = fixture->through(way.port());
};

template <class Call>
void check_unknown(Call call) {
  const auto error = caught<dlock::store_error>([&] { call(); });
  CHECK(error.code() == dlock::errc::outcome_unknown);
  CHECK(error.transient());
}

}  // namespace

TEST_CASE("mysql rows: a commit without an answer is said to be unknown, and the row is free either way") {
  const auto lost = GENERATE(loss::request, loss::answer);
  const bool done = lost == loss::answer;
  CAPTURE(done);
  lossy_rows r;
  order_in_hand in_hand(r, *r.lossy);
  const auto write = in_hand.write_and([&] { r.way.lose_next(lost); });
  check_unknown([&] { dlock::detail::commit_row(*r.lossy, std::move(in_hand.held), write); });
  REQUIRE(eventually([&] { return granted(try_lock_row<order>(r.others, r.db, 1)); }));
  CHECK(r.load<order>(1)->status == (done ? "shipped" : "paid"));
  CHECK(r.locks.count(dlock::event::kind::split_brain) == 0);
  CHECK(r.locks.count(dlock::event::kind::lost) == 0);
  CHECK(r.locks.close(0ms).empty());
}

TEST_CASE("mysql rows: after an update without an answer a second one writes exactly if the first did not") {
  const auto lost = GENERATE(loss::request, loss::answer);
  const bool done = lost == loss::answer;
  CAPTURE(done);
  lossy_rows r;
  order_in_hand in_hand(r, *r.lossy);
  const auto version = in_hand.entity->version;
  const auto write = in_hand.write_and([&] { r.way.lose_next(lost); });
  check_unknown([&] { dlock::detail::update_row(*r.lossy, in_hand.held, write); });
  CHECK(in_hand.entity->version == version);
  CHECK_NOTHROW(in_hand.held.ensure_held());
  const auto again = dlock::detail::write_of(*r.lossy, in_hand.entity);
  if (done) {
    CHECK_THROWS_AS(dlock::detail::update_row(*r.lossy, in_hand.held, again), odb::object_changed);
  } else {
    CHECK_NOTHROW(dlock::detail::update_row(*r.lossy, in_hand.held, again));
  }
  CHECK(r.load<order>(1)->status == "shipped");
  CHECK(r.load<order>(1)->version == version + 1);
  CHECK_NOTHROW(in_hand.held.release());
}

TEST_CASE("mysql rows: a claim without an answer is said to be unknown, and its rows are free soon") {
  const auto lost = GENERATE(loss::request, loss::answer);
  CAPTURE(lost == loss::answer);
  lossy_rows r;
  for (int id = 1; id <= 3; ++id) r.add(order{.id = id, .status = "paid"});
  auto read = dlock::detail::row_reader_of<order>(*r.lossy);
  read.rows = [&, load = read.rows](const odb::query_base& which) {
    auto loaded = load(which);
    r.way.lose_next(lost);  // the next thing sent is the commit
    return loaded;
  };
  const odb::query<order> all("ORDER BY id");
  check_unknown([&] {
    dlock::detail::claim_rows(r.locks, *r.lossy, dlock::detail::row_class_of<order>(), all, 3, {.ttl = 30s}, read);
  });
  CHECK(r.locks.close(0ms).empty());
  // Long before the ttl: each is cancelled by its attempt.
  std::vector<dlock::locked_row<order>> free;
  REQUIRE(eventually([&] {
    auto more = dlock::claim<order>(r.others, r.db, all, 3);
    for (auto& each : more) free.push_back(std::move(each));
    return free.size() == 3;
  }));
}
