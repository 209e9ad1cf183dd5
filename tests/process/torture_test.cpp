// SPDX-License-Identifier: BSL-1.0

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "process/torture/driver.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

/// A place without servers.
class file_torture final : public tortured_fixture {
 public:
  std::string url() const override { return fixture_->url(); }
  bool has_servers() const override { return false; }
  void cut(dice&) override {}
  void restart(dice&, bool) override {}

 private:
  const std::unique_ptr<store_fixture> fixture_ = make_store_fixture();
};

hold_record at(char kind, std::uint64_t fence, std::int64_t when, std::int64_t process, std::uint64_t attempt = 1) {
  return {.what = static_cast<hold_record::kind>(kind),
          .key = "k",
          .fence = fence,
          .at = when,
          .process = process,
          .attempt = attempt};
}

/// Two in turn; the first one asks again in vain.
const std::vector<hold_record> good{at('A', 0, 1, 7),  at('H', 1, 10, 7),    at('H', 1, 20, 7),   at('A', 0, 2, 8),
                                    at('H', 2, 30, 8), at('A', 0, 31, 7, 2), at('N', 0, 32, 7, 2)};

std::vector<hold_record> good_and(std::initializer_list<hold_record> more) {
  auto all = good;
  all.insert(all.end(), more);
  return all;
}

hold_check check(const std::vector<hold_record>& log, std::uint64_t last, hold_terms terms = {}) {
  terms.last["k"] = last;
  return check_holds(log, terms);
}

}  // namespace

TEST_CASE("torture: processes that are killed and stopped at random never hold a key at the same time") {
  file_torture fixture;
  check_torture(fixture, {.counts = true, .length = 5s});
}

TEST_CASE("torture: the check of the log finds what it is there to find") {
  CHECK(check(good, 2).violations.empty());
  CHECK(check(good, 2).grants == 2);
  CHECK(check(good_and({at('H', 1, 30, 7)}), 2).violations.size() == 1);  // two at one time
  CHECK(check(good_and({at('H', 3, 5, 9)}), 3).violations.size() == 2);   // both others have smaller fences
  CHECK(check(good_and({at('H', 2, 33, 9)}), 2).violations.size() == 1);  // the same fence twice
  CHECK(check(good, 1).violations.size() == 1);                           // went back
  CHECK(check(good, 3).violations.size() == 1);                           // a grant to nobody
  CHECK(check(good, 3, {.pauses = 1}).violations.empty());
  CHECK(check(good_and({at('A', 0, 40, 8, 2)}), 3).violations.empty());  // which was cut off
  CHECK(check(good_and({at('A', 0, 40, 8, 2), at('L', 0, 0, 8, 2)}), 3).notified == 1);
  CHECK_THROWS_AS(hold_record::parse("H k 1 2 3 4"), std::invalid_argument);  // cut short
  CHECK(hold_record::parse(good[1].line()).fence == 1);
}

TEST_CASE("torture: the check of the log lets two trust their leases in a time of doubt alone, and counts them") {
  const auto two = good_and({at('A', 0, 12, 9), at('H', 3, 15, 9), at('H', 3, 18, 9)});
  CHECK(check(two, 3).violations.size() == 2);  // they overlap, and the fence of the one after is smaller
  const auto excused = check(good_and({at('H', 1, 35, 7)}), 2, {.doubts = {{30, 35}}});
  CHECK(excused.violations.empty());
  CHECK(excused.doubles == 1);
  CHECK(excused.grants == 2);
  CHECK(excused.certain == 1);  // the other one began in that time
  CHECK(check(good_and({at('H', 1, 35, 7), at('H', 2, 36, 8)}), 2, {.doubts = {{31, 40}}}).violations.size() == 1);
  CHECK(check(good_and({at('H', 1, 35, 7), at('H', 2, 36, 8)}), 2, {.doubts = {{25, 34}}}).violations.size() == 1);
  // In that time a fence may be logged late, but whoever asks then gets a greater one.
  const std::vector<hold_record> late{at('A', 0, 1, 7), at('A', 0, 2, 8), at('H', 2, 10, 8), at('H', 1, 12, 7)};
  CHECK(check(late, 2).violations.size() == 1);
  CHECK(check(late, 2, {.doubts = {{10, 20}}}).violations.empty());
  auto asked_after = late;
  asked_after[0].at = 11;
  CHECK(check(asked_after, 2, {.doubts = {{10, 20}}}).violations.size() == 1);
}

TEST_CASE("torture: the check of the log finds a key that was not free at once") {
  CHECK(check_freed(good, {{"k", 20, 7}}, 10).empty());
  CHECK(check_freed(good, {{"k", 20, 7}}, 9).size() == 1);
  CHECK(check_freed(good, {{"k", 30, 8}}, 100).size() == 1);
  CHECK(check_freed(good, {{"other", 20, 7}}, 100).size() == 1);
  CHECK(check_freed(good, {{"k", 31, 7}}, 1).empty());  // somebody had it before the death was seen
  // The dead one's own periods are not those of somebody else, also not one that began after the time was read.
  const auto again = good_and({at('A', 0, 33, 7, 3), at('H', 3, 40, 7, 3)});
  CHECK(check_freed(again, {{"k", 35, 7}}, 100).size() == 1);
  const auto freed = good_and({at('A', 0, 33, 7, 3), at('H', 3, 40, 7, 3), at('A', 0, 41, 9), at('H', 4, 45, 9)});
  CHECK(check_freed(freed, {{"k", 35, 7}}, 10).empty());
  CHECK(check_freed(freed, {{"k", 35, 7}}, 9).size() == 1);
}

TEST_CASE("process: a forked child is refused the SQLite file that its parent has open, and harms nobody", "[T47]") {
  const auto fixture = make_store_fixture();
  taker parent(fixture->url());
  const auto mine = parent.take();
  CHECK(parent.ask("fork own", "child") == std::vector<std::string>{"child", "0"});
  CHECK(parent.expect("child-error").at(1) == "store_failed");
  CHECK_FALSE(parent.said("child-held"));
  CHECK(parent.ask("check", "trusted").size() == 2);
  CHECK(parent.ask("release", "released").size() == 1);
  CHECK(parent.take().fence == mine.fence + 1);
}

}  // namespace dlock::test
