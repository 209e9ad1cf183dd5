// SPDX-License-Identifier: BSL-1.0
// What statements do that meet rows which transactions of other programs have locked.

#include "unit/engine/executor_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

struct locked_rows : executor_fixture {
  std::deque<sent_statement> all{};

  /// A statement about a row that is locked. It shares a batch with no other.
  sent_statement& about_locked(sent_statement asked, microseconds limit = 2s) {
    auto& made = all.emplace_back(std::move(asked));
    made.ask.session = id_of(2, all.size());
    made.timeout = limit;
    store->lock_row(lock_key(std::string(made.ask.resource)));
    return made;
  }
  void releases(std::size_t count, microseconds limit = 2s) {
    for (std::size_t i = 0; i < count; ++i) about_locked(release("locked " + std::to_string(i)), limit);
  }
  void submit_all(run_executor& at) {
    for (auto& each : all) at->submit(each);
  }
  std::size_t contended() const {
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& each) {
      return each.is == sent_statement::state::nowhere && each.answer.why.contended;
    }));
  }
  /// For so long a crowd waits to share statements.
  void pass_crowd() { REQUIRE(at_rest_after(engine::concurrency_limit::longest_hold + 1us)); }
  /// A statement of others is answered at once.
  void others_go_on(run_executor& at) {
    for (const auto action : {verb::take, verb::release, verb::poll}) {
      auto other = ask(action, "other");
      at->run(other);
      CHECK(other.answer.result != outcome::failed);
    }
  }
};

/// And an executor of so many connections, all of which are there.
template <std::size_t Size>
struct locked_rows_of : locked_rows {
  run_executor at{store, clock, Size};
  locked_rows_of() { fill(at, Size); }
};

}  // namespace

TEST_CASE_METHOD(locked_rows_of<4>, "row locks: of releases that meet one, one waits, and the others are told so") {
  releases(12);
  submit_all(at);
  REQUIRE(clock.at_rest());
  CHECK(notified.reached(11));
  CHECK(contended() == 11);
  CHECK(store->waited_for().size() == 1);
  others_go_on(at);
  REQUIRE(at_rest_after(1s));
  CHECK(contended() == 12);
}

TEST_CASE_METHOD(locked_rows_of<4>,
                 "row locks: half of the connections wait at most, and not all of them for releases") {
  releases(4);
  submit_all(at);
  // The last to be answered leaves a connection to others, whatever the order of the threads. If they came together, a
  // release could be the last, which does not wait beside an extension.
  REQUIRE(clock.at_rest());
  CHECK(notified.reached(3));
  for (int i = 0; i < 6; ++i) {
    at->submit(about_locked(ask(verb::extend, "extended " + std::to_string(i), priority::extends)));
  }
  REQUIRE(clock.at_rest());
  CHECK(notified.reached(8));
  const auto waited = store->waited_for();
  REQUIRE(waited.size() == 2);
  CHECK(std::count_if(waited.begin(), waited.end(), [](const auto& key) { return key.starts_with("extended"); }) >= 1);
  others_go_on(at);
  REQUIRE(at_rest_after(1s));
}

TEST_CASE_METHOD(locked_rows_of<4>, "row locks: who waits gets the row when it is free") {
  releases(1);
  submit_all(at);
  REQUIRE(clock.at_rest());
  store->unlock_row(lock_key(std::string(all[0].ask.resource)));
  REQUIRE(at_rest_after(1s));
  CHECK(all[0].answer.result == outcome::no);
  CHECK(store->batches(verb::release) == 2);
}

TEST_CASE_METHOD(locked_rows_of<4>, "row locks: what would have to be interrupted does not wait") {
  releases(2, 1s);
  submit_all(at);
  REQUIRE(clock.at_rest());
  CHECK(contended() == 2);
  CHECK(store->waited_for().empty());
}

TEST_CASE_METHOD(locked_rows_of<1>, "row locks: an only connection waits for no row") {
  releases(3);
  about_locked(ask(verb::extend, "extended", priority::extends));
  submit_all(at);
  REQUIRE(clock.at_rest());
  CHECK(contended() == 4);
  CHECK(store->waited_for().empty());
}

TEST_CASE_METHOD(locked_rows_of<4>, "row locks: a take is answered at once, and so is a take-over") {
  about_locked(ask(verb::take, "taken"));
  about_locked(ask(verb::insert, "inserted"));
  submit_all(at);
  REQUIRE(clock.at_rest());
  CHECK(contended() == 2);
}

TEST_CASE_METHOD(locked_rows, "row locks: where a change can't be told not to wait, one connection is left to others") {
  store->let_changes_wait();
  run_executor at(store, clock, 4);
  fill(at, 4);
  releases(12);
  submit_all(at);
  for (int i = 0; i < 3; ++i) pass_crowd();
  CHECK(contended() == 9);
  others_go_on(at);
  // Those three wait in vain, and one of them once more. From then on the store asks before.
  for (int i = 0; i < 3; ++i) REQUIRE(at_rest_after(1s));
  CHECK(contended() == 12);
  const auto waited = store->waited_for().size();
  all.clear();
  releases(12);
  submit_all(at);
  for (int i = 0; i < 3; ++i) pass_crowd();
  CHECK(contended() == 11);
  CHECK(store->waited_for().size() == waited + 1);
  others_go_on(at);
  REQUIRE(at_rest_after(1s));
}

TEST_CASE_METHOD(locked_rows_of<4>, "row locks: statements about the rows of one table leave connections to others") {
  const auto table = std::make_shared<const row_table>(row_table{.table = "`t`", .id = {"`id`"}});
  const auto hold = std::make_shared<gate>();
  store->next(verb::extend, {.times = 6, .before = hold});
  std::deque<row_id> rows;
  for (int i = 0; i < 6; ++i) {
    rows.push_back({.table = table, .values = {std::int64_t{i}}});
    auto& asked = all.emplace_back(within(ask(verb::extend, "row " + std::to_string(i), priority::extends), 1h));
    asked.ask.session = id_of(2, all.size());
    asked.ask.row = &rows.back();
    asked.timeout = 1h;
  }
  at->submit(all[0]), at->submit(all[1]);
  REQUIRE(hold->reached(2));
  SECTION("one, as long as they are quick") {
    for (std::size_t i = 2; i < 6; ++i) at->submit(all[i]);
    REQUIRE(hold->reached(3));
    REQUIRE(clock.at_rest({.busy = 3}));
    CHECK(at->queued() == 3);
  }
  SECTION("half of them, while one takes long") {
    REQUIRE(at_rest_after(250ms, {.busy = 2}));
    for (std::size_t i = 2; i < 6; ++i) at->submit(all[i]);
    REQUIRE(clock.at_rest({.busy = 2}));
    CHECK(at->queued() == 4);
  }
  others_go_on(at);
  hold->open();
  CHECK(notified.reached(6));
}

TEST_CASE_METHOD(locked_rows_of<4>,
                 "row locks: extensions that wait for their rows leave the other rows of the table alone") {
  const auto table = std::make_shared<const row_table>(row_table{.table = "`t`", .id = {"`id`"}});
  std::deque<row_id> rows;
  const auto of_table = [&](sent_statement& asked) -> sent_statement& {
    rows.push_back({.table = table, .values = {static_cast<std::int64_t>(rows.size())}});
    asked.ask.row = &rows.back();
    return asked;
  };
  for (int i = 0; i < 6; ++i) {
    of_table(about_locked(ask(verb::extend, "extended " + std::to_string(i), priority::extends)));
  }
  submit_all(at);
  REQUIRE(clock.at_rest());
  REQUIRE(store->waited_for().size() == 2);
  REQUIRE(at_rest_after(300ms));  // longer than a statement about a row takes that waits for nothing
  std::deque<sent_statement> others;
  for (const auto action : {verb::extend, verb::take, verb::release, verb::poll}) {
    at->submit(of_table(others.emplace_back(ask(action, "other " + std::to_string(others.size())))));
  }
  REQUIRE(clock.at_rest());
  CHECK(at->queued() == 0);
  REQUIRE(at_rest_after(1s));
}
