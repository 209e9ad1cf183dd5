// SPDX-License-Identifier: BSL-1.0
// Rows and verified transactions under generated locks, on SQLite.
#include "desk.locked.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <dlock/odb/lock_row.hpp>
#include <odb/result.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/transaction.hxx>
#include <stdexcept>
#include <string>

#include "dlock/dlock.hpp"
#include "support/scratch_folder.hpp"
#include "tickets-odb.hxx"

namespace box_office {

namespace {

void add_sale(odb::database& db, std::int64_t ticket, const std::string& buyer) {
  sale made;
  made.ticket = ticket;
  made.buyer = buyer;
  db.persist(made);
}

}  // namespace

std::string desk::read(std::int64_t id) {
  act();
  odb::transaction t(tickets_->begin());
  ticket found;
  tickets_->load(id, found);
  t.commit();
  return found.buyer;
}
int desk::skip(const ticket& t) {
  act();
  return static_cast<int>(t.id);
}
void desk::by_getter(std::int64_t) { act(); }
void desk::by_parameter(odb::database&, std::int64_t) { act(); }
void desk::both(std::int64_t, const std::string&) { act(); }
std::int64_t desk::sell(std::int64_t id, const std::string& buyer) {
  add_sale(*tickets_, id, buyer);
  act();
  return id;
}
void desk::sell_by_getter(std::int64_t id) { add_sale(*tickets_, id, "getter"); }
bool desk::sell_or_skip(std::int64_t id) {
  add_sale(*tickets_, id, "skip");
  return true;
}
std::optional<int> desk::maybe_sell(std::int64_t id) {
  add_sale(*tickets_, id, "maybe");
  return 1;
}
int desk::sell_or_refuse(std::int64_t id) {
  add_sale(*tickets_, id, "refuse");
  return 1;
}
void desk::swap(std::int64_t one, std::int64_t other) {
  add_sale(*tickets_, one, "swap");
  add_sale(*tickets_, other, "swap");
}
void desk::sell_row(std::int64_t id, const std::string& buyer) {
  add_sale(*tickets_, id, buyer);
  act();
}

void cashier::day(odb::database& db, bool fails) {
  one(db, 1);
  one(db, 2);
  if (fails) throw std::runtime_error("the day fails");
}
void cashier::one(odb::database& db, std::int64_t n) { add_sale(db, n, "cashier"); }

std::string buyer_of(std::int64_t id) { return "buyer of " + std::to_string(id); }

}  // namespace box_office

namespace {

using namespace std::chrono_literals;
using namespace box_office;

struct scene {
  dlock::test::scratch_folder folder{};
  std::string url = "sqlite:" + folder / "desk.db";
  std::unique_ptr<odb::database> db = dlock::open_database(url);
  dlock::lock_service locks{url};
  dlock::lock_service others{url};
  desk inner{*db};
  desk_locked service{inner, locks, *db};

  scene() {
    odb::transaction t(dlock::begin_write(*db));
    odb::schema_catalog::create_schema(*db);
    for (std::int64_t id = 1; id <= 3; ++id) {
      ticket made;
      made.id = id;
      made.buyer = "none";
      db->persist(made);
    }
    t.commit();
  }
  bool row_held(std::int64_t id) { return locks.holder(dlock::row<ticket>(locks, *db, id)).has_value(); }
  std::size_t sales() {
    odb::transaction t(db->begin());
    std::size_t count = 0;
    for (const sale& each : db->query<sale>()) count += each.id > 0 ? 1U : 0U;
    t.commit();
    return count;
  }
};

}  // namespace

TEST_CASE_METHOD(scene, "gen rows: the row is held while the function runs, in its own columns") {
  inner.act = [this] { CHECK(row_held(2)); };
  CHECK(service.read(2) == "none");
  CHECK_FALSE(row_held(2));
  const auto theirs = dlock::lock_row<ticket>(others, *db, 2);
  ticket second;
  second.id = 2;
  CHECK_FALSE(service.skip(second).has_value());
  second.id = 3;
  inner.act = [this] { CHECK(row_held(3)); };
  CHECK(service.skip(second) == 3);
}

TEST_CASE_METHOD(scene, "gen rows: the database comes from the constructor, the object or a parameter") {
  int entered = 0;
  inner.act = [&] {
    ++entered;
    CHECK(row_held(1));
  };
  service.by_getter(1);
  service.by_parameter(*db, 1);
  CHECK(entered == 2);
  CHECK(buyer_of_locked(locks, *db, 1) == "buyer of 1");
}

TEST_CASE_METHOD(scene, "gen rows: a row and a text are taken together") {
  inner.act = [this] {
    CHECK(row_held(1));
    CHECK(locks.holder("buyer:ann").has_value());
  };
  service.both(1, "ann");
  const auto theirs = others.acquire("buyer:ann");
  dlock::lock_service hasty{url, {.defaults = {.wait = 0s}}};
  desk_locked hasty_service(inner, hasty, *db);
  CHECK_THROWS_AS(hasty_service.both(1, "ann"), dlock::lock_timeout);
  CHECK_FALSE(row_held(1));
}

TEST_CASE_METHOD(scene, "gen verified: what the function writes is committed, and rolled back where it throws") {
  CHECK(service.sell(1, "ann") == 1);
  CHECK(sales() == 1);
  CHECK_FALSE(odb::transaction::has_current());
  inner.act = [] { throw std::runtime_error("from the body"); };
  CHECK_THROWS_AS(service.sell(2, "ann"), std::runtime_error);
  CHECK(sales() == 1);
  CHECK(locks.held_keys().empty());
  inner.act = [] {};
  service.sell_by_getter(2);
  service.swap(1, 2);
  service.sell_row(3, "cleo");
  CHECK(sales() == 5);
}

TEST_CASE_METHOD(scene, "gen verified: the body does not run if the lock is lost before the transaction verifies it",
                 "[T71]") {
  dlock::lock_service brief{url, {.defaults = {.ttl = 1s}}};
  auto held = brief.acquire("ticket:1");
  REQUIRE(others.force_release("ticket:1"));
  const auto theirs = others.acquire("ticket:1", {.wait = 30s});  // once the session of `brief` has expired
  const auto body = [&] { return inner.sell(1, "late"); };
  CHECK_THROWS_AS(dlock::detail::call_verified(std::move(held), *db, body), dlock::lock_lost);
  CHECK_FALSE(odb::transaction::has_current());
  CHECK(sales() == 0);
}

TEST_CASE_METHOD(scene, "gen verified: a busy key means that nothing is written, whatever happens instead") {
  const auto theirs = others.acquire("ticket:1");
  CHECK_FALSE(service.sell_or_skip(1).has_value());
  CHECK_FALSE(service.maybe_sell(1).has_value());
  CHECK(service.sell_or_refuse(1) == -1);
  CHECK(sales() == 0);
  CHECK(service.sell_or_skip(2) == true);
  CHECK(service.maybe_sell(2) == 1);
  CHECK(service.sell_or_refuse(2) == 1);
  CHECK(sales() == 3);
}

TEST_CASE_METHOD(scene, "gen verified: inside a transaction the function joins it, and its owner commits") {
  const auto outer =
      locks.acquire("ticket:1");  // SQLite refuses a lock inside a transaction, unless it is held already
  {
    odb::transaction t(dlock::begin_write(*db));
    service.sell(1, "ann");
    t.rollback();
  }
  CHECK(sales() == 0);
  {
    odb::transaction t(dlock::begin_write(*db));
    service.sell(1, "ann");
    t.commit();
  }
  CHECK(sales() == 1);

  cashier_locked till(locks);
  CHECK_THROWS_AS(till.day(*db, true), std::runtime_error);
  CHECK(sales() == 1);
  till.day(*db, false);
  CHECK(sales() == 3);
}

TEST_CASE_METHOD(scene, "gen verified: inside a transaction of another database the function does not run") {
  const auto elsewhere = dlock::open_database("sqlite:" + (folder / "elsewhere.db"));
  odb::transaction t(dlock::begin_write(*elsewhere));
  CHECK_THROWS_AS(service.sell(1, "ann"), std::logic_error);
  t.rollback();
  CHECK(sales() == 0);
}

TEST_CASE_METHOD(scene, "gen verified: a function that ends the transaction itself gets an error") {
  inner.act = [] { odb::transaction::current().commit(); };
  CHECK_THROWS_AS(service.sell(1, "ann"), odb::transaction_already_finalized);
}
