// SPDX-License-Identifier: BSL-1.0

/// Deadlock cycles of processes through rows, on stores that find such cycles and have rows.

#include "contract/row/row_contract.hpp"
#include "contract/store/cycle_scene.hpp"

namespace dlock::test {

namespace {

struct row_place {
  row_scene rows{{.renewal = GENERATE(row_renewal::session, row_renewal::column)}};
};
struct row_cycle_fixture : row_place, cycle_scene {
  row_cycle_fixture() : cycle_scene(*rows.fixture) {}
};

}  // namespace

TEST_CASE_METHOD(row_cycle_fixture, "row cycle: the shortest wait is refused, and the exception names all of it",
                 "[contract][rows][cycle]") {
  const std::size_t size = GENERATE(2, 3);
  const std::size_t rows_from = GENERATE(0, 1), rows_to = GENERATE(1, 3);  // the others are keys
  CAPTURE(size, rows_from, rows_to);
  std::vector<lock_key> keys;
  for (std::size_t i = 0; i != size; ++i) {
    const bool row = rows_from <= i && i < rows_to;
    keys.push_back(row ? rows.make(static_cast<std::int64_t>(i)) : lock_key("k" + std::to_string(i)));
  }
  break_cycle(keys);
}

TEST_CASE_METHOD(row_cycle_fixture, "row cycle: the key of the same text is another lock, and so is another grant",
                 "[contract][rows][cycle]") {
  const auto row = rows.make(1);
  const lock_key alike(row.str());
  const auto one = process("one"), other = process("other"), third = process("third");
  std::promise<void> theirs_held, mine_held;
  std::optional<lease> in_between;
  const int which = GENERATE(0, 1, 2);
  CAPTURE(which);
  const auto &held_first = which == 1 ? alike : row, &waited_for = which == 0 ? alike : row;
  if (which != 2) in_between = third->acquire(waited_for);
  std::stop_source enough;
  auto mine = std::async(std::launch::async, [&] {
    const auto held = other->acquire("b");
    theirs_held.set_value();
    mine_held.get_future().wait();
    return thrown([&] { return other->acquire(waited_for, {.wait = 60s, .cancel = enough.get_token()}); });
  });
  theirs_held.get_future().wait();
  std::promise<void> holds;
  auto front = waits(*one, held_first, "b", holds);
  holds.get_future().wait();
  REQUIRE(nested(1));
  if (which == 2) {  // another program frees it without a word
    rows.set(rows.table->owner + " = ''", row);
    in_between = third->acquire(row);
  }
  mine_held.set_value();
  CHECK(nested(2));
  at.pass(500ms);  // for the processes that look for cycles
  enough.request_stop();
  CHECK(mine.get() == errc::cancelled);
  CHECK(front.get() == "granted");
  CHECK(seen->count(event::kind::deadlock) == 0);
}

}  // namespace dlock::test
