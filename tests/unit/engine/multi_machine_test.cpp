// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/multi_machine.hpp"
#include "support/test.hpp"

namespace {

using namespace dlock;
using namespace dlock::engine;
using namespace std::chrono_literals;

constexpr instant start{1'000s};
constexpr instant for_ever = instant::max();

const fault transient{.native = 1213, .transient = true, .text = "deadlock"};
const fault contended{.native = 1205, .transient = true, .contended = true, .text = "lock wait"};
const fault broken{.native = 2013, .connection = true, .text = "gone"};
const fault fatal{.native = 1142, .text = "denied"};

multi_machine::settings waiting(std::chrono::milliseconds wait = 10s) {
  return {.deadline = start + wait, .retry = {.pause = 10ms, .max_pause = 100ms, .jitter = 0.0}};
}

seen holder(microseconds left = 20s) {
  return {.holder = id128::random(), .fence = 3, .kind = lease_kind::session, .remaining = left, .who = "host/1"};
}
seen dead(bool gone, bool expired, bool kept = true) {
  return {.holder = id128::random(),
          .fence = 3,
          .kind = kept ? lease_kind::session : lease_kind::expiring,
          .gone = gone,
          .expired = expired};
}
reply poll(const seen& holder) { return {.result = outcome::yes, .holder = holder}; }
reply failed(const fault& why) { return {.result = outcome::failed, .why = why}; }

using act = std::function<multi_step(multi_machine&)>;
const act late = [](multi_machine& m) { return m.taken(start, start); };
const act busy = [](multi_machine& m) { return m.refused(2, holder()); };
const act busy_again = [](multi_machine& m) {
  static const seen same = holder();
  return m.refused(2, same);
};
const act back = [](multi_machine& m) { return m.given_back(start); };
const act rested = [](multi_machine& m) { return m.paused(); };
act trouble(const fault& why, bool unknown = false) {
  return [=](multi_machine& m) { return m.troubled(1, why, unknown); };
}
act polled(const reply& answer) {
  return [=](multi_machine& m) { return m.polled(answer, start); };
}

struct line {
  const char* event;
  std::vector<act> acts;
  multi_step next;
};

multi_step walk(multi_machine& m, const std::vector<act>& acts) {
  auto at = m.begin();
  for (const auto& each : acts) at = each(m);
  return at;
}

void check(const std::vector<line>& table, const multi_machine::settings& settings) {
  for (const auto& each : table) {
    INFO(each.event);
    multi_machine m(settings);
    CHECK(walk(m, each.acts) == each.next);
  }
}

}  // namespace

TEST_CASE("multi_machine: each end of a round leads where the state table says", "[T76]") {
  check(
      {
          {"begin", {}, multi_step::take},
          {"all ours", {[](multi_machine& m) { return m.taken(start, for_ever); }}, multi_step::granted},
          {"too late", {late}, multi_step::give_back},
          {"too late, given back", {late, back}, multi_step::pause},
          {"too late, paused", {late, back, rested}, multi_step::take},
          {"busy", {busy}, multi_step::give_back},
          {"busy, given back", {busy, back}, multi_step::pause},
          {"busy, paused", {busy, back, rested}, multi_step::poll},
          {"still busy", {busy, back, rested, polled(poll(holder()))}, multi_step::pause},
          {"poll: no row", {busy, back, rested, polled({.result = outcome::absent})}, multi_step::take},
          {"poll: free", {busy, back, rested, polled(poll({}))}, multi_step::take},
          {"poll: session gone", {busy, back, rested, polled(poll(dead(true, false)))}, multi_step::take},
          {"poll: session expired", {busy, back, rested, polled(poll(dead(false, true)))}, multi_step::take},
          {"poll: own expiry over", {busy, back, rested, polled(poll(dead(false, true, false)))}, multi_step::take},
          {"poll contended", {busy, back, rested, polled(failed(contended))}, multi_step::pause},
          {"poll failed, transient", {busy, back, rested, polled(failed(transient))}, multi_step::pause},
          {"poll without an answer", {busy, back, rested, polled({.result = outcome::unknown})}, multi_step::pause},
          {"poll failed otherwise", {busy, back, rested, polled(failed(fatal))}, multi_step::failed},
          {"trouble", {trouble(transient)}, multi_step::give_back},
          {"transient, given back", {trouble(transient), back}, multi_step::pause},
          {"transient, paused", {trouble(transient), back, rested}, multi_step::take},
          {"connection", {trouble(broken), back}, multi_step::pause},
          {"no outcome", {trouble({.text = "no answer"}, true), back}, multi_step::pause},
          {"failed otherwise", {trouble(fatal), back}, multi_step::failed},
          {"two rounds", {busy, back, rested, polled(poll({})), busy, back}, multi_step::pause},
          {"three rounds",
           {busy, back, rested, polled(poll({})), busy, back, rested, polled(poll({})), busy, back},
           multi_step::one_by_one},
          {"the same grant is one round",
           {busy_again, back, rested, polled(poll({})), busy_again, back, rested, polled(poll({})), busy_again, back},
           multi_step::pause},
          {"rounds in trouble don't count",
           {trouble(transient), back, rested, late, back, rested, busy, back},
           multi_step::pause},
      },
      waiting());
}

TEST_CASE("multi_machine: one attempt is one round") {
  auto once = waiting();
  once.once = true;
  check(
      {
          {"busy", {busy, back}, multi_step::busy},
          {"late", {late, back}, multi_step::failed},
          {"transient", {trouble(transient), back}, multi_step::failed},
          {"failed", {trouble(fatal), back}, multi_step::failed},
      },
      once);
}

TEST_CASE("multi_machine: the end of the wait ends it after one more look", "[T32]") {
  multi_machine m(waiting(50ms));
  m.begin();
  m.refused(1, holder());
  CHECK(m.given_back(start) == multi_step::pause);
  CHECK(m.paused() == multi_step::poll);
  SECTION("free just then: one more round") {
    CHECK(m.polled(poll({}), start + 50ms) == multi_step::take);
    CHECK(m.refused(2, holder()) == multi_step::give_back);
    CHECK(m.given_back(start + 50ms) == multi_step::busy);
    CHECK(m.busy_key() == 2);
  }
  SECTION("busy") {
    CHECK(m.polled(poll(holder()), start + 50ms) == multi_step::busy);
    CHECK(m.busy_key() == 1);
    CHECK(m.holder().who == "host/1");
  }
  SECTION("trouble") {
    CHECK(m.polled(failed(transient), start + 50ms) == multi_step::failed);
    CHECK(m.why().native == 1213);
  }
}

TEST_CASE("multi_machine: pauses grow, and end with the wait or the holder's lease") {
  multi_machine m(waiting(200ms));
  m.begin();
  std::vector<std::chrono::microseconds> pauses;
  const auto pause_after = [&](microseconds left, instant now) {
    m.refused(0, holder(left));
    m.paused();
    if (m.polled(poll(holder(left)), now) == multi_step::pause) pauses.push_back(m.pause());
  };
  pause_after(20s, start);
  pause_after(20s, start);
  pause_after(20s, start);
  pause_after(3ms, start);          // cut short by the holder's end
  pause_after(1us, start);          // never zero
  pause_after(0us, start);          // an end that is not known does not count
  pause_after(20s, start + 199ms);  // cut short by the deadline
  CHECK(pauses == std::vector<std::chrono::microseconds>{10ms, 20ms, 40ms, 3ms, 500us, 100ms, 1ms});
}

TEST_CASE("multi_machine: a waiter that would be notified polls while it has not seen the holder", "[T30]") {
  const auto pause_after = [](const seen& shown) {
    multi_machine m(waiting());
    m.begin();
    m.refused(0, shown);
    REQUIRE(m.given_back(start) == multi_step::pause);
    CHECK(m.pause() == 10ms);
    return m.pause_if_notified();
  };
  CHECK(pause_after(holder(3s)) == 3s);
  CHECK(pause_after({}) == 10ms);
  CHECK(pause_after(dead(true, true)) == 10ms);  // somebody else took it over, or clean-up has deleted the row
}

TEST_CASE("multi_machine: a retry limit counts pauses, the rest is for one by one", "[T10]") {
  auto settings = waiting();
  settings.retry.limit = 3u;
  multi_machine m(settings);
  m.begin();
  CHECK(m.remaining_retries() == 3u);
  for (unsigned i = 0; i < 2; ++i) {
    m.refused(0, holder());
    CHECK(m.given_back(start) == multi_step::pause);
    m.paused();
    m.polled(poll({}), start);
  }
  m.refused(0, holder());
  CHECK(m.given_back(start) == multi_step::one_by_one);
  CHECK(m.remaining_retries() == 1u);

  settings.retry.limit = 0u;
  multi_machine none(settings);
  none.begin();
  none.refused(0, holder());
  CHECK(none.given_back(start) == multi_step::busy);
  CHECK(multi_machine(waiting()).remaining_retries() == std::numeric_limits<unsigned>::max());
}

TEST_CASE("multi_machine: the reason of a failure is kept, and an answer that the key is busy clears it") {
  multi_machine m(waiting());
  m.begin();
  m.troubled(1, {.transient = true, .text = "no answer"}, true);
  CHECK(m.outcome_unknown());
  CHECK(m.why().text == "no answer");
  CHECK(m.busy_key() == 1);
  m.given_back(start);
  m.refused(2, holder());
  CHECK_FALSE(m.outcome_unknown());
  CHECK(m.why().text.empty());
  m.troubled(0, {.native = 7}, false);
  CHECK_FALSE(m.why().text.empty());
}

TEST_CASE("multi_machine: what was seen of one key is not held against another, after a failure either") {
  const auto first = holder();
  const auto third_pause = [&](const id128& holder_of_other) {
    multi_machine m(waiting(60s));
    REQUIRE(walk(m, {[&](multi_machine& at) { return at.refused(2, first); }, back}) == multi_step::pause);
    m.troubled(1, {.transient = true}, false);
    REQUIRE(m.given_back(start + 1s) == multi_step::pause);
    auto other = first;
    other.holder = holder_of_other;
    other.fence = 9;
    m.refused(1, other);
    REQUIRE(m.given_back(start + 1s) == multi_step::pause);
    return m.pause();
  };
  CHECK(third_pause(first.holder) == third_pause(id128::random()));
}
