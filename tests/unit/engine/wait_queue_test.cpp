// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/wait_queue.hpp"

#include "dlock/stores/memory.hpp"
#include "engine/drivers/blocking_driver.hpp"
#include "engine/registry/grant.hpp"
#include "engine/registry/poll_scheduler.hpp"
#include "support/calls.hpp"
#include "support/processor_time.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using engine::owner_state;
using engine::queue_turn;
using engine::wait_queue;
using engine::waiting_call;

/// Somebody in the queue, who counts how often he was woken.
struct waiter final : engine::queue_waiter {
  explicit waiter(const owner_state* who = nullptr) { owner = who; }
  void wake() noexcept override { ++woken; }
  std::atomic<int> woken{0};
};

/// Somebody in the queue on a thread of his own.
struct sleeping_waiter final : engine::queue_waiter {
  explicit sleeping_waiter(time_source& time) : signal(time) {}
  void wake() noexcept override { signal.wake(); }
  engine::wake_signal signal;
};

struct watched_pause final : engine::pause {
  using pause::pause;
  void wake() noexcept override { ++woken; }
  int woken = 0;
};

/// A key that outlives every turn.
const lock_key& named(const std::string& text) {
  static std::mutex mutex;
  static std::set<lock_key> all;
  const std::lock_guard lock(mutex);
  return *all.emplace(text).first;
}

struct queue_fixture {
  stores::virtual_clock clock;
  wait_queue queue{100};
  owner_state me;

  bool enter(const char* key, engine::queue_waiter& who) { return queue.enter(named(key), who, clock.now()); }
};

}  // namespace

TEST_CASE_METHOD(queue_fixture, "wait_queue: one attempt gets a turn that is spared, once") {
  auto turn = queue.try_enter(named("k"));
  waiter next;
  REQUIRE_FALSE(queue.enter(named("k"), next, clock.now()));
  CHECK_FALSE(queue.try_enter(named("k"), true));
  turn.spare();
  CHECK_FALSE(queue.try_enter(named("k")));
  auto taken = queue.try_enter(named("k"), true);
  CHECK(taken);
  CHECK_FALSE(turn);
  CHECK_FALSE(turn.retake());
  CHECK_FALSE(queue.try_enter(named("k"), true));
  taken.hand_on();
  CHECK(next.turn);

  next.turn.spare();
  CHECK(next.turn.retake());
  CHECK_FALSE(queue.try_enter(named("k"), true));
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: a waiter that was at the head comes back to the head") {
  auto turn = queue.try_enter(named("k"));
  waiter a, b, back;
  back.first = true;
  REQUIRE_FALSE(queue.enter(named("k"), a, clock.now()));
  REQUIRE_FALSE(queue.enter(named("k"), b, clock.now()));
  REQUIRE_FALSE(queue.enter(named("k"), back, clock.now()));
  turn.hand_on();
  REQUIRE(back.turn);
  REQUIRE(queue.leave(named("k"), a));
  back.turn.hand_on();
  CHECK(b.turn);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: one at a time, other keys are not concerned", "[T05]") {
  auto a = queue.try_enter(named("a"));
  CHECK(a);
  CHECK_FALSE(queue.try_enter(named("a")));
  CHECK(queue.try_enter(named("b")));
  a.hand_on();
  CHECK_FALSE(a);
  CHECK(queue.try_enter(named("a")));
  a.hand_on();  // of no effect
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: thousands of keys never share a place", "[T05]") {
  constexpr int keys = 20'000;
  for (int round = 0; round < 2; ++round) {
    std::vector<queue_turn> turns;
    int refused = 0;
    for (int i = 0; i < keys; ++i) {
      turns.push_back(queue.try_enter(named(std::to_string(i))));
      refused += turns.back() ? 0 : 1;
    }
    CHECK(refused == 0);
  }
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: first come, first served", "[T33]") {
  std::deque<waiter> all;
  auto turn = queue.try_enter(named("k"));
  for (int i = 0; i < 8; ++i) CHECK_FALSE(enter("k", all.emplace_back()));
  CHECK(queue.queued() == 8);
  turn.hand_on();
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) CHECK(all[j].woken == (j <= i ? 1 : 0));
    CHECK(all[i].turn);
    CHECK(queue.signalled("k", all[i]));
    CHECK(queue.queued() == 7 - i);
    all[i].turn.hand_on();
  }
  CHECK(queue.try_enter(named("k")));
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: a line goes by the key of whoever has the turn") {
  std::optional<lock_key> asked("k"), waited("k"), held("k");
  waiter next;
  auto turn = queue.try_enter(*asked);
  CHECK_FALSE(queue.enter(*waited, next, clock.now()));
  turn.hand_on();
  asked.emplace("x");
  CHECK_FALSE(queue.try_enter(named("k")));
  next.turn.granted(*held, nullptr);
  waited.emplace("y");
  CHECK_FALSE(queue.try_enter(named("k")));
  next.turn.hand_on();
  held.reset();
  CHECK(queue.try_enter(named("k")));
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: who comes when the key is nobody's has the turn at once") {
  waiter waiter;
  CHECK(enter("k", waiter));
  CHECK(waiter.turn);
  CHECK(waiter.woken == 0);
  CHECK(queue.queued() == 0);
  CHECK_FALSE(queue.try_enter(named("k")));
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: nobody overtakes those in line") {
  waiter first, late;
  auto turn = queue.try_enter(named("k"));
  CHECK_FALSE(enter("k", first));
  turn.hand_on();
  CHECK_FALSE(queue.try_enter(named("k")));  // it is the waiter's, though it may not run yet
  CHECK_FALSE(enter("k", late));
  first.turn.hand_on();
  CHECK(late.turn);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: who leaves the line leaves no trace") {
  waiter gone, stays, last;
  auto turn = queue.try_enter(named("k"));
  for (auto* each : {&gone, &stays, &last}) CHECK_FALSE(enter("k", *each));
  CHECK(queue.leave("k", gone));
  CHECK(queue.leave("k", last));
  CHECK(queue.queued() == 1);
  turn.hand_on();
  CHECK(stays.turn);
  stays.turn.hand_on();
  CHECK_FALSE(gone.turn);
  CHECK_FALSE(last.turn);
  CHECK(gone.woken + last.woken == 0);
  CHECK(queue.leave("k", gone));  // nobody has the key, and nobody waits for it
  CHECK(queue.try_enter(named("k")));
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: waiters are bounded", "[T36]") {
  wait_queue two(2);
  const instant begin{std::chrono::hours{1}};
  waiting_call first, second, third;
  CHECK(two.begin_waiting(first, begin));
  CHECK(two.begin_waiting(second, begin));
  CHECK_FALSE(two.begin_waiting(third, begin));
  CHECK(two.waiting() == 2);
  two.end_waiting(first);
  CHECK(two.begin_waiting(third, begin));
  CHECK(two.waiting() == 2);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: knows since when the oldest call waits") {
  wait_queue all(100);
  const instant begin{std::chrono::hours{1}};
  CHECK(all.oldest_wait() == instant::max());
  std::array<waiting_call, 40> calls{};
  const auto since = [&](std::size_t i) { return begin + std::chrono::seconds{(i * 7) % 40}; };
  for (std::size_t i = 0; i != calls.size(); ++i) CHECK(all.begin_waiting(calls[i], since(i)));
  std::vector<bool> waits(calls.size(), true);
  // In the middle, at the ends, and all.
  for (const std::size_t step : {3U, 2U, 1U}) {
    for (std::size_t i = 0; i < calls.size(); i += step) {
      auto oldest = instant::max();
      for (std::size_t j = 0; j != calls.size(); ++j) oldest = waits[j] ? std::min(oldest, since(j)) : oldest;
      CHECK(all.oldest_wait() == oldest);
      if (waits[i]) all.end_waiting(calls[i]);
      waits[i] = false;
    }
  }
  CHECK(all.oldest_wait() == instant::max());
  CHECK(all.waiting() == 0);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: says of a turn whether the key was freed with it") {
  waiter first, second, third;
  auto turn = queue.try_enter(named("k"));
  for (auto* each : {&first, &second, &third}) CHECK_FALSE(enter("k", *each));
  turn.hand_on(true);
  CHECK(first.freed);
  first.turn.hand_on();  // it only looked
  CHECK_FALSE(second.freed);
  second.turn.hand_on(true);
  CHECK(third.freed);
}

// ---- turns ----------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(queue_fixture, "wait_queue: a turn that ends unused is the next one's", "[T33]") {
  waiter first, second, third;
  {
    auto held = queue.try_enter(named("k"));
    CHECK_FALSE(enter("k", first));
  }
  CHECK(first.turn);
  CHECK_FALSE(first.freed);
  CHECK_FALSE(enter("k", second));
  auto moved = std::move(first.turn);
  CHECK_FALSE(first.turn);
  CHECK_FALSE(second.turn);  // it is the same turn
  {
    waiter ends;
    CHECK_FALSE(enter("k", ends));
    CHECK_FALSE(enter("k", third));
    moved = {};
    second.turn.hand_on();
    CHECK(ends.turn);
    CHECK_FALSE(third.turn);
  }
  CHECK(third.turn);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: another turn in the place of one hands that on") {
  waiter next;
  auto turn = queue.try_enter(named("a"));
  CHECK_FALSE(enter("a", next));
  turn = queue.try_enter(named("b"));
  CHECK(next.turn);
  CHECK_FALSE(queue.try_enter(named("b")));
  turn.hand_on();
  CHECK(queue.try_enter(named("b")));
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: a turn that comes together with the end of a wait is not lost",
                 "[T14][T33]") {
  for (int round = 0; round < 500; ++round) {
    auto turn = queue.try_enter(named("k"));
    REQUIRE(turn);
    sleeping_waiter waiter(clock);
    REQUIRE_FALSE(enter("k", waiter));
    std::thread leaving([&] {
      if (!queue.leave("k", waiter)) waiter.turn.hand_on();
    });
    turn.hand_on();
    leaving.join();
    REQUIRE(queue.try_enter(named("k")));
  }
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: of many threads one has the turn, and each gets it", "[T33]") {
  std::atomic<int> inside{0};
  int served = 0;  // guarded by the turn
  bool alone = true;
  test::on_threads(8, [&](int) {
    for (int round = 0; round < 200; ++round) {
      sleeping_waiter mine(clock);
      if (!enter("k", mine)) {
        while (!queue.signalled("k", mine)) mine.signal.wait(instant::max());
      }
      alone = alone && ++inside == 1;
      ++served;
      --inside;
    }
  });
  CHECK(alone);
  CHECK(served == 8 * 200);
  CHECK(queue.try_enter(named("k")));
}

// ---- who may enter again --------------------------------------------------------------------------------------------

TEST_CASE_METHOD(queue_fixture, "wait_queue: a grant lets those of the same owner in, and no others", "[T44]") {
  owner_state foreign;
  waiter mine(&me), other(&foreign), nobodys, mine_too(&me);
  auto turn = queue.try_enter(named("k"));
  for (auto* each : {&other, &mine, &nobodys, &mine_too}) CHECK_FALSE(enter("k", *each));
  turn.granted(named("k"), nullptr);  // in nobody's name
  CHECK(queue.queued() == 4);
  turn.granted(named("k"), &me);
  for (auto* each : {&mine, &mine_too}) {
    CHECK(each->enter_again);
    CHECK_FALSE(each->turn);
    CHECK(each->woken == 1);
    CHECK(queue.signalled("k", *each));
    CHECK_FALSE(queue.leave("k", *each));
  }
  CHECK(queue.queued() == 2);
  turn.hand_on();
  CHECK(other.turn);
  CHECK_FALSE(other.enter_again);
  other.turn.hand_on();
  CHECK(nobodys.turn);
  CHECK_FALSE(nobodys.enter_again);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: who comes after a grant waits for the next one", "[T44]") {
  waiter late(&me);
  auto turn = queue.try_enter(named("k"));
  turn.granted(named("k"), &me);
  CHECK_FALSE(enter("k", late));
  CHECK_FALSE(queue.signalled("k", late));
  turn.granted(named("k"), &me);
  CHECK(late.enter_again);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: a grant that is lost in the same moment is told once", "[T44]") {
  for (int round = 0; round < 500; ++round) {
    auto turn = queue.try_enter(named("k"));
    waiter waiter(&me);
    REQUIRE_FALSE(enter("k", waiter));
    std::thread losing([&] { turn.hand_on(true); });
    turn.granted(named("k"), &me);
    losing.join();
    REQUIRE(waiter.woken == 1);
    REQUIRE(waiter.enter_again != static_cast<bool>(waiter.turn));
    waiter.turn.hand_on();
    REQUIRE(queue.try_enter(named("k")));
  }
}

namespace {

/// The processor time for each of so many waiters, of different owners, that get the turn one after the other, poll
/// once and are granted the key.
std::chrono::nanoseconds time_of_turn(std::size_t count) {
  stores::virtual_clock clock;
  wait_queue queue{count};
  engine::poll_scheduler watch(clock);
  watched_pause between(watch);
  const auto all_in_turn = [&] {
    std::vector<owner_state> owners(count);
    std::vector<waiter> all(count);
    auto turn = queue.try_enter(named("k"));
    for (std::size_t i = 0; i != count; ++i) {
      all[i].owner = &owners[i];
      all[i].longest_pause = 250ms;
      REQUIRE_FALSE(queue.enter(named("k"), all[i], clock.now()));
    }
    for (std::size_t i = 0; i != count; ++i) {
      turn.hand_on();
      turn = std::move(all[i].turn);
      turn.begins_pause(between, clock.now());
      turn.ends_pause();
      turn.granted(named("k"), &owners[i]);
    }
  };
  return test::processor_time(all_in_turn) / count;
}

}  // namespace

TEST_CASE("wait_queue: a turn costs as much behind ten thousand waiters as behind a few hundred") {
  const auto few = time_of_turn(200), many = time_of_turn(10'000);
  CAPTURE(few.count(), many.count());
  CHECK(many < 12 * few + 1us);
}

// ---- pauses ---------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(queue_fixture, "wait_queue: a pause between polls is no longer than those in line want") {
  engine::poll_scheduler watch(clock);
  watched_pause between(watch);
  const auto begun = clock.now();
  waiter patient, hasty, hastier, elsewhere;
  auto turn = queue.try_enter(named("k"));
  patient.longest_pause = 20s;
  hasty.longest_pause = 5s;
  hastier.longest_pause = elsewhere.longest_pause = 1s;
  CHECK_FALSE(enter("k", patient));
  watch.enter(between, begun, begun + 10s);
  turn.begins_pause(between, begun);
  CHECK(watch.end_of(between) == begun + 10s);
  CHECK(between.woken == 0);
  CHECK(enter("other", elsewhere));
  CHECK(watch.end_of(between) == begun + 10s);
  clock.advance(2s);
  CHECK_FALSE(enter("k", hasty));  // comes while it pauses
  CHECK(watch.end_of(between) == begun + 7s);
  CHECK(between.woken == 1);
  CHECK(watch.leave(between));
  turn.ends_pause();
  CHECK_FALSE(enter("k", hastier));  // nobody pauses
  CHECK(between.woken == 1);

  // Those in the queue count from the beginning, and no more once they have left.
  const auto pauses_for = [&](std::chrono::seconds longest) {
    watch.enter(between, clock.now(), clock.now() + 30s);
    turn.begins_pause(between, clock.now());
    CHECK(watch.end_of(between) == clock.now() + longest);
    turn.ends_pause();
    CHECK(watch.leave(between));
  };
  pauses_for(1s);
  CHECK(queue.leave("k", hastier));
  pauses_for(5s);
  CHECK(queue.leave("k", hasty));
  pauses_for(20s);
  CHECK(queue.leave("k", patient));
  pauses_for(30s);
}

TEST_CASE_METHOD(queue_fixture, "wait_queue: nobody shortens the pause of one whose turn has ended") {
  engine::poll_scheduler watch(clock);
  auto between = std::make_unique<watched_pause>(watch);
  waiter next, last;
  auto turn = queue.try_enter(named("k"));
  next.longest_pause = 20s;
  CHECK_FALSE(enter("k", next));
  watch.enter(*between, clock.now(), clock.now() + 10s);
  turn.begins_pause(*between, clock.now());
  turn.hand_on();
  CHECK(watch.leave(*between));
  between.reset();
  turn.ends_pause();  // of no effect
  CHECK_FALSE(enter("k", last));
  CHECK(next.turn);
  next.turn.hand_on();
  CHECK(last.turn);
}

TEST_CASE("wait_queue: a turn that is handed on while its key is granted needs the former key no longer") {
  wait_queue queue(10);
  const lock_key lasting("k");
  constexpr int rounds = 20'000;
  std::optional<lock_key> passing;
  queue_turn turn;
  std::atomic<int> begun{0}, ended{0};
  std::thread losing([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (begun < i) std::this_thread::yield();
      turn.hand_on();
      ended = i;
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    passing.emplace("k");
    turn = queue.try_enter(*passing);
    if (!turn) break;
    begun = i;
    if (turn) turn.granted(lasting, nullptr);
    passing.emplace("another");  // as a caller does whose call has returned
    while (ended < i) std::this_thread::yield();
  }
  const bool all = begun == rounds;
  begun = rounds;
  losing.join();
  CHECK(all);
}
