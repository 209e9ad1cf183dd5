// SPDX-License-Identifier: BSL-1.0

/// The microsecond in which a grant ends, by a clock that goes by hand. Of stores with capabilities::expiring_leases
/// and session_leases, at places whose clock can be stopped.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

constexpr auto yes = outcome::yes, no = outcome::no;

struct stopped_place : any_store {
  stopped_place() { fixture->stop_clock(); }
};

}  // namespace

TEST_CASE_METHOD(stopped_place, "moment: an expiry of a grant's own ends it in that microsecond, and not before",
                 "[T30]") {
  actor a(*fixture), b(*fixture);
  const auto fence = a.acquire("k", 10s);
  CHECK(b.at("k").remaining == 10s);
  fixture->pass(10s - 1us);
  const seen last = b.at("k");
  CHECK_FALSE(last.expired);
  CHECK(last.remaining == 1us);
  CHECK(answer(b.take("k")) == no);
  CHECK(answer(b.take_over("k", last)) == no);
  const bool extended = GENERATE(false, true);
  if (extended) {  // it can be in its last microsecond
    REQUIRE(answer(a.extend("k", fence, 20s)) == yes);
    CHECK(b.at("k").remaining == 20s);
    CHECK(answer(b.take("k")) == no);
  }
  fixture->pass(extended ? 20s : 1us);
  CHECK(b.at("k").expired);
  CHECK(answer(a.extend("k", fence, 10s)) == no);
  const reply granted = GENERATE(false, true) ? b.take("k", 5s) : b.take_over("k", last, 5s);
  CHECK(answer(granted) == yes);
  CHECK(granted.fence == fence + 1);
  CHECK(b.at("k").remaining == 5s);
}

TEST_CASE_METHOD(stopped_place, "moment: a batch of takes is granted what has ended, and not what ends next", "[T30]") {
  actor a(*fixture), b(*fixture);
  const std::vector<lock_key> keys{"ends", "ends next"};
  a.acquire(keys[0], 10s);
  fixture->pass(1us);
  a.acquire(keys[1], 10s);
  fixture->pass(10s - 1us);
  const auto replies = b.run(b.takes(keys));
  CHECK(answer(replies[0]) == yes);
  CHECK(answer(replies[1]) == no);
}

TEST_CASE_METHOD(stopped_place, "moment: min_hold ends when it says, counted from the grant", "[T30]") {
  actor a(*fixture), b(*fixture);
  if (!a.store->caps().min_hold) return;
  const auto fence = a.acquire("k");
  fixture->pass(4s);
  REQUIRE(answer(a.release("k", fence, 10s)) == yes);
  CHECK(b.at("k").remaining == 6s);
  fixture->pass(6s - 1us);
  CHECK(answer(b.take("k")) == no);
  fixture->pass(1us);
  CHECK(answer(b.take("k")) == yes);
}

TEST_CASE_METHOD(stopped_place,
                 "moment: a session lives until its expiry and can be killed from then on, and not before", "[T30]") {
  actor a(*fixture, 10s), b(*fixture);
  const auto fence = a.acquire("k");
  CHECK(b.at("k").remaining == 10s);
  fixture->pass(10s - 1us);
  CHECK_FALSE(b.at("k").expired);
  CHECK(b.kill(a.id) == no);
  CHECK(answer(b.take_over("k", b.at("k"))) == no);
  const bool renewed = GENERATE(false, true);
  if (renewed) CHECK(a.renew(10s) == yes);
  fixture->pass(renewed ? 10s : 1us);
  CHECK(a.renew(10s) == no);
  CHECK(b.at("k").expired);
  CHECK(answer(b.take_over("k", b.at("k"))) == no);  // not while its row is there
  CHECK(b.kill(a.id) == yes);
  const reply granted = b.take_over("k", b.at("k"));
  CHECK(answer(granted) == yes);
  CHECK(granted.fence == fence + 1);
}

}  // namespace dlock::test
