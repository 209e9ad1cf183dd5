// SPDX-License-Identifier: BSL-1.0

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "process/torture/driver.hpp"
#include "support/calls.hpp"
#include "support/raw_sqlite.hpp"
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
  bool locked() override {
    raw_sqlite file(path());
    return !eventually([&] { return file.try_run("BEGIN IMMEDIATE; ROLLBACK"); }, 1s);
  }
  std::vector<std::string> members() override {
    raw_sqlite file(path());
    const auto found = file.text(
        "SELECT group_concat(t) FROM (SELECT 'member of ' || lock_key AS t FROM dlock_member UNION ALL "
        "SELECT 'closed: ' || lock_key FROM dlock_lock WHERE session_id = CAST('dlock:closed:now' AS BLOB))");
    return found.empty() ? std::vector<std::string>{} : std::vector{found};
  }

 private:
  std::string path() const { return url().substr(std::string("sqlite:").size()); }

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

hold_record reader(char kind, std::uint64_t fence, std::int64_t when, std::int64_t process, std::uint64_t attempt = 1) {
  auto made = at(kind, fence, when, process, attempt);
  made.units = shared.units;
  made.permits = shared.permits;
  return made;
}

/// `units` of `permits`, with fence 4.
hold_record of(std::uint32_t permits, std::uint32_t units, char kind, std::int64_t when, std::int64_t process) {
  auto made = at(kind, kind == 'A' ? 0 : 4, when, process);
  made.units = units;
  made.permits = permits;
  return made;
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

TEST_CASE("torture readers and permits: killed and stopped, never beside an exclusive holder") {
  file_torture fixture;
  check_torture(fixture, {.shares = true, .stops_hold_up = true, .length = 12s});
}

TEST_CASE("torture keys that linger: killed and stopped, never two, and others get them in time") {
  file_torture fixture;
  check_torture(fixture, {.lingers = true, .stops_hold_up = true});
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

TEST_CASE("torture: the check of the log finds members beside an exclusive holder, and too many units") {
  const std::vector<hold_record> beside{reader('H', 4, 10, 7),   reader('H', 4, 30, 7), reader('H', 4, 15, 8),
                                        reader('H', 4, 20, 8),   at('H', 5, 31, 9),     at('H', 5, 40, 9),
                                        reader('H', 5, 41, 7, 2)};
  CHECK(check(beside, 5, {.counts = false}).violations.empty());
  CHECK(check(beside, 5, {.counts = false}).members == 3);
  CHECK(check(beside, 5, {.counts = false}).shared == 1);
  const auto and_one = [&](const hold_record& more) {
    auto all = beside;
    all.push_back(more);
    return check(all, 6, {.counts = false}).violations.size();
  };
  CHECK(and_one(reader('H', 5, 40, 8, 2)) == 1);  // beside the exclusive holder
  CHECK(and_one(at('H', 6, 30, 8, 2)) == 4);      // beside the reader, and its fence is above the three later ones
  CHECK(and_one(reader('H', 4, 42, 8, 2)) == 1);  // it does not know the exclusive holder before it
  CHECK(and_one(reader('H', 5, 9, 8, 2)) == 1);   // it knows one that came later
  CHECK(and_one(reader('S', 5, 42, 7, 2)) == 1);  // the resource has refused it
  CHECK(and_one(reader('G', 5, 42, 7, 2)) == 0);  // as it must

  const std::vector<hold_record> permits{of(3, 2, 'A', 1, 7), of(3, 2, 'H', 10, 7), of(3, 2, 'H', 30, 7),
                                         of(3, 1, 'A', 2, 8), of(3, 1, 'H', 12, 8), of(3, 1, 'H', 29, 8)};
  CHECK(check(permits, 4, {.counts = false}).violations.empty());
  const auto and_all = [&](std::initializer_list<hold_record> more) {
    auto all = permits;
    all.insert(all.end(), more);
    return check(all, 4, {.counts = false}).violations.size();
  };
  CHECK(and_all({of(3, 1, 'A', 5, 9), of(3, 1, 'H', 29, 9)}) == 1);   // four of three
  CHECK(and_all({of(3, 1, 'A', 13, 9), of(3, 1, 'H', 29, 9)}) == 2);  // and it should have seen that
  CHECK(and_all({of(3, 1, 'A', 13, 9), of(3, 1, 'H', 31, 9)}) == 0);
  CHECK(and_all({of(4, 1, 'A', 13, 9), of(4, 1, 'H', 20, 9)}) == 0);  // each is held to its own number
  CHECK(and_all({of(2, 1, 'A', 13, 9), of(2, 1, 'H', 20, 9)}) == 2);
  CHECK(and_all({reader('H', 4, 20, 9)}) == 0);  // a reader is admitted beside all permits
  // Readers of one process may be one at the store.
  CHECK(and_all({reader('H', 4, 13, 9), reader('H', 4, 28, 9), reader('H', 4, 13, 9, 2), reader('H', 4, 28, 9, 2),
                 of(5, 1, 'A', 14, 6), of(5, 1, 'H', 20, 6)}) == 0);
  CHECK(and_all({reader('H', 4, 13, 9), reader('H', 4, 28, 9), reader('H', 4, 13, 5), reader('H', 4, 28, 5),
                 of(5, 1, 'A', 14, 6), of(5, 1, 'H', 20, 6)}) == 1);
}

TEST_CASE("torture: the check of waits finds a key that nobody gets in time") {
  constexpr std::int64_t second = 1'000'000;
  const wait_terms terms{.idle = 2 * second, .idle_members = 3 * second, .exclusive = 5 * second, .end = 100 * second};
  const auto waits = [](std::vector<hold_record> log, const wait_terms& by) {
    for (auto& each : log) each.at *= second;
    return check_waits(log, by).violations.size();
  };
  CHECK(waits({at('A', 0, 1, 7), at('H', 1, 2, 7)}, terms) == 0);
  CHECK(waits({at('A', 0, 1, 7), at('H', 1, 4, 7)}, terms) == 1);
  CHECK(waits({at('A', 0, 1, 7), at('N', 0, 4, 7)}, terms) == 1);
  CHECK(waits({at('A', 0, 1, 7)}, terms) == 2);  // to the end
  auto died = terms;
  died.deaths[7] = 2 * second;
  CHECK(waits({at('A', 0, 1, 7)}, died) == 0);
  auto away = terms;
  away.troubles = {{2 * second, 5 * second}};
  CHECK(waits({at('A', 0, 1, 7), at('H', 1, 6, 7)}, away) == 0);
  CHECK(waits({at('A', 0, 1, 7), at('H', 1, 7, 7)}, away) == 1);
  auto stopped = terms;
  stopped.stops = {{7, {2 * second, 5 * second}}, {8, {5 * second, 9 * second}}};
  CHECK(waits({at('A', 0, 1, 7), at('H', 1, 6, 7)}, stopped) == 0);
  CHECK(waits({at('A', 0, 1, 7), at('H', 1, 7, 7)}, stopped) == 1);

  // While another one holds it, nobody has to get it, but an exclusive caller must get it from a stream of members.
  const std::vector<hold_record> readers{
      at('A', 0, 1, 7),     at('H', 9, 7, 7),     reader('H', 8, 1, 8), reader('H', 8, 4, 8), reader('H', 8, 3, 9),
      reader('H', 8, 6, 9), reader('A', 0, 5, 6), reader('H', 9, 8, 6), of(3, 3, 'A', 1, 5),  of(3, 3, 'H', 8, 5)};
  CHECK(waits(readers, terms) == 1);
  auto slow = terms;
  slow.exclusive = 7 * second;
  CHECK(waits(readers, slow) == 0);
  // It may be another one each time that waits.
  const std::vector<hold_record> changing{at('A', 0, 1, 7),    at('N', 0, 4, 7),     at('A', 0, 3, 6, 2),
                                          at('N', 0, 7, 6, 2), reader('H', 8, 1, 8), reader('H', 8, 9, 8)};
  CHECK(waits(changing, terms) == 1);
  CHECK(waits(changing, slow) == 0);
  // Nor may one process keep it for itself.
  const std::vector<hold_record> one{at('A', 0, 1, 7), at('H', 9, 9, 7),    at('H', 7, 2, 8),
                                     at('H', 7, 4, 8), at('H', 8, 6, 8, 2), at('H', 8, 8, 8, 2)};
  CHECK(waits(one, terms) == 0);
  auto fair = terms;
  fair.alone = 5 * second;
  CHECK(waits(one, fair) == 1);
  fair.alone = 6 * second;
  CHECK(waits(one, fair) == 0);
  // Permits wait for as long as there are too few of them.
  CHECK(waits({of(3, 2, 'H', 1, 7), of(3, 2, 'H', 9, 7), of(3, 2, 'A', 1, 8), of(3, 2, 'H', 10, 8)}, terms) == 0);
  CHECK(waits({of(3, 2, 'H', 1, 7), of(3, 2, 'H', 9, 7), of(3, 1, 'A', 1, 8), of(3, 1, 'H', 10, 8)}, terms) == 1);
  CHECK(waits({of(3, 2, 'H', 1, 7), of(3, 2, 'H', 9, 7), reader('A', 0, 1, 8), reader('H', 5, 5, 8)}, terms) == 1);
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
