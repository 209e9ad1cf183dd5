// SPDX-License-Identifier: BSL-1.0
// Commits without an answer: the connection breaks when the server has it already, or before.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <odb/exceptions.hxx>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "odb/rows/order_in_hand.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/mysql_fixture.hpp"
#include "support/tcp_proxy.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::try_lock_row;
using loss = tcp_proxy::loss;

namespace {

struct lossy_rows : rows {
  tcp_proxy way{static_cast<std::uint16_t>(std::stoul(mysql_setting("DLOCK_TEST_MYSQL_PORT")))};
  std::unique_ptr<odb::database> lossy = fixture->through(way.port());
};

template <class Call>
void check_unknown(Call call) {
  try {
    call();
    FAIL("the commit was answered");
  } catch (const dlock::store_error& error) {
    CHECK(error.code() == dlock::errc::outcome_unknown);
    CHECK(error.transient());
  }
}

}  // namespace

TEST_CASE("mysql rows: a commit without an answer is said to be unknown, and the row is free either way", "[rows]") {
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

TEST_CASE("mysql rows: after an update without an answer a second one writes exactly if the first did not", "[rows]") {
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

TEST_CASE("mysql rows: a claim without an answer is said to be unknown, and its rows are free soon", "[rows]") {
  const auto lost = GENERATE(loss::request, loss::answer);
  CAPTURE(lost == loss::answer);
  lossy_rows r;
  for (int id = 1; id <= 3; ++id) r.add(order{.id = id, .status = "paid"});
  auto read = dlock::detail::row_reader_of<order>(*r.lossy);
  read.rows = [&, load = read.rows](const odb::query_base& query) {
    auto loaded = load(query);
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
