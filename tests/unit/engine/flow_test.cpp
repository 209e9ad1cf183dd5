// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/flow.hpp"

#include <functional>
#include <stdexcept>
#include <string>

#include "support/scarce_memory.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using engine::action;
using engine::coroutine_operation;
using engine::flow;
using engine::frame_room;
using engine::interruption;
using engine::statement;
using engine::task;
using test::scarce_memory;

constexpr instant begun{1h};

struct no_waker final : engine::waker {
  void wake() noexcept override {}
};

/// Notes its end.
struct noted {
  noted(std::string& in, char which) : log(in), name(which) {}
  noted(const noted&) = delete;
  noted& operator=(const noted&) = delete;
  ~noted() { log += name; }
  std::string& log;
  const char name;
};

struct flow_fixture {
  no_waker waker;
  engine::frame_storage<8192> room;
  std::string log;
};

task<int> send_twice(flow& f, statement& of) {
  co_await f.send(of);
  const auto first = static_cast<int>(of.answer.fence);
  co_await f.send(of, true);
  co_return first + static_cast<int>(of.answer.fence);
}

task<void> nested(flow& f, std::string& log, statement& of, int& sum) {
  const noted mine(log, 'o');
  sum = co_await send_twice(f, of);
}

task<std::optional<interruption>> pause(flow& f, std::string& log, const lock_key* key) {
  const noted mine(log, 'i');
  co_return co_await f.wait(f.now() + 10s, key);
}

task<void> pause_inside(flow& f, std::string& log, const lock_key* key, std::optional<interruption>& why) {
  const noted mine(log, 'o');
  why = co_await pause(f, log, key);
}

task<void> send_and_fail(flow& f, std::string& log, statement& of) {
  const noted mine(log, 'i');
  co_await f.send(of);
  throw std::runtime_error(of.answer.why.text);
}

task<bool> catches(flow& f, std::string& log, statement& of) {
  try {
    co_await send_and_fail(f, log, of);
  } catch (const std::runtime_error& thrown) {
    log += thrown.what();
    co_return true;
  }
  co_return false;
}

struct counter {
  task<int> sum(flow& f, int more) {
    co_await f.wait(begun);
    co_return value += more;
  }
  int value = 1;
};
task<int> sum_of(flow& f, counter& of) { co_return co_await of.sum(f, 2); }

task<int> depth(flow& f, int levels) {
  if (levels > 0) co_return 1 + co_await depth(f, levels - 1);
  co_await f.wait(begun);
  co_return 0;
}

task<void> reserve_first(flow& f, std::string& log, std::size_t bytes) {
  f.frames.reserve(bytes);
  log += std::to_string(co_await depth(f, 3));
  log += std::to_string(co_await depth(f, 2));
}

}  // namespace

TEST_CASE_METHOD(flow_fixture, "flow: each sending is an action, and goes on with the answer at its time") {
  statement of;
  int sum = 0;
  coroutine_operation<void> op(room, waker, nested, std::ref(log), std::ref(of), std::ref(sum));
  auto next = op.start(begun);
  REQUIRE(next.what == action::kind::send);
  REQUIRE(next.statements.size() == 1);
  CHECK(next.statements.front() == &of);
  CHECK_FALSE(next.with_polls);
  of.answer.fence = 3;
  next = op.resume(begun + 1s);
  REQUIRE(next.what == action::kind::send);
  CHECK(next.with_polls);
  of.answer.fence = 4;
  CHECK(op.resume(begun + 2s).what == action::kind::finished);
  CHECK(sum == 7);
  CHECK(log == "o");
}

TEST_CASE_METHOD(flow_fixture, "flow: a wait says what it waits for, and whether an interruption has ended it") {
  const lock_key key("k");
  const bool interrupted = GENERATE(true, false);
  std::optional<interruption> why;
  coroutine_operation<void> op(room, waker, pause_inside, std::ref(log), &key, std::ref(why));
  const auto next = op.start(begun);
  REQUIRE(next.what == action::kind::wait);
  CHECK(next.until == begun + 10s);
  CHECK(op.waits_for() == &key);
  const auto end = interrupted ? op.interrupt(interruption::closed, begun + 1s) : op.resume(begun + 10s);
  CHECK(end.what == action::kind::finished);
  CHECK(why == (interrupted ? std::optional(interruption::closed) : std::nullopt));
  CHECK(op.waits_for() == nullptr);
}

TEST_CASE_METHOD(flow_fixture, "flow: an exception leaves the inner coroutine for the outer one, then the operation") {
  statement of;
  of.answer.why.text = "!";
  coroutine_operation<bool> caught(room, waker, catches, std::ref(log), std::ref(of));
  caught.start(begun);
  CHECK(caught.resume(begun).what == action::kind::finished);
  CHECK(caught.result());
  CHECK(log == "i!");

  engine::frame_storage<1024> other;
  coroutine_operation<void> thrown(other, waker, send_and_fail, std::ref(log), std::ref(of));
  thrown.start(begun);
  CHECK_THROWS_AS(thrown.resume(begun), std::runtime_error);
  CHECK(log == "i!i");
}

TEST_CASE_METHOD(flow_fixture, "flow: an operation that ends while it waits ends its frames, the innermost first") {
  std::optional<interruption> why;
  { coroutine_operation<void> begins_not(room, waker, pause_inside, std::ref(log), nullptr, std::ref(why)); }
  CHECK(log.empty());
  {
    coroutine_operation<void> op(room, waker, pause_inside, std::ref(log), nullptr, std::ref(why));
    op.start(begun);
  }
  CHECK(log == "io");
}

TEST_CASE_METHOD(flow_fixture, "flow: members are coroutines as well") {
  counter of;
  coroutine_operation<int> op(room, waker, sum_of, std::ref(of));
  CHECK(op.start(begun).what == action::kind::wait);
  CHECK(op.resume(begun).what == action::kind::finished);
  CHECK(op.result() == 3);
}

TEST_CASE_METHOD(flow_fixture, "flow: frames lie in the bytes of the call, and allocate nothing there") {
  bool ran_out = true;
  {
    const scarce_memory scarce(0);
    coroutine_operation<int> op(room, waker, depth, 3);
    op.start(begun);
    op.resume(begun);
    ran_out = op.result() != 3 || scarce.ran_out();
  }
  CHECK_FALSE(ran_out);
}

TEST_CASE_METHOD(flow_fixture, "flow: frames that find no place there lie on the heap") {
  const bool ends_early = GENERATE(false, true);
  coroutine_operation<int> op({}, waker, depth, 20);
  CHECK(op.start(begun).what == action::kind::wait);
  if (ends_early) return;
  CHECK(op.resume(begun).what == action::kind::finished);
  CHECK(op.result() == 20);
}

TEST_CASE_METHOD(flow_fixture, "flow: reserved frames lie in one block, which is made at once") {
  engine::frame_storage<512> few;
  coroutine_operation<void> op(few, waker, reserve_first, std::ref(log), 4096);
  bool ran_out = true;
  {
    const scarce_memory scarce(1);
    op.start(begun);
    op.resume(begun);
    op.resume(begun);
    ran_out = scarce.ran_out();
  }
  CHECK_FALSE(ran_out);
  CHECK(log == "32");
}

TEST_CASE_METHOD(flow_fixture, "flow: without memory for a frame the call of its coroutine throws") {
  engine::frame_storage<512> few;
  coroutine_operation<void> op(few, waker, reserve_first, std::ref(log), 4096);
  const auto start = [&] {
    const scarce_memory scarce(0);
    op.start(begun);
  };
  CHECK_THROWS_AS(start(), std::bad_alloc);
}
