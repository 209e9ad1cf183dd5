// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/session_machine.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>

#include "engine/books/grant.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using engine::margin_for;
using engine::session_machine;
using engine::trust;
using verdict = session_machine::verdict;

constexpr instant start{1'000s};

/// ttl 30 s, margin 1.5 s, opened at `start`: trusted until start + 28.5 s, due at start + 10 s.
session_machine thirty() { return {30s, 1500ms, start}; }

}  // namespace

TEST_CASE("session_machine: trust counts from before the opening was sent", "[session_machine][T29]") {
  const auto m = thirty();
  CHECK(m.deadline() == start + 28500ms);
  CHECK(m.due() == start + 10s);
}

TEST_CASE("session_machine: a confirmed renewal moves both times on from its sending", "[session_machine][T29]") {
  auto m = thirty();
  CHECK(m.renewed(outcome::yes, start + 10s, start + 25s) == verdict::live);
  CHECK(m.deadline() == start + 38500ms);
  CHECK(m.due() == start + 20s);
}

TEST_CASE("session_machine: without an answer nothing is gained and nothing lost", "[session_machine][T13]") {
  const auto result = GENERATE(outcome::unknown, outcome::failed);
  auto m = thirty();
  CHECK(m.renewed(result, start + 10s, start + 12s) == verdict::late);
  CHECK(m.deadline() == start + 28500ms);
  CHECK(m.due() == start + 13s);  // soon again
  CHECK(m.at(start + 28499ms) == verdict::live);
  CHECK(m.renewed(outcome::yes, start + 13s, start + 13s) == verdict::live);
  CHECK(m.deadline() == start + 41500ms);
}

TEST_CASE("session_machine: tries again soon, but not at once", "[session_machine][T32]") {
  const auto pause_of = [](microseconds ttl) {
    session_machine m(ttl, margin_for(ttl, 0us), start);
    m.renewed(outcome::failed, start, start);
    return m.due() - start;
  };
  CHECK(pause_of(100ms) == 20ms);
  CHECK(pause_of(1s) == 50ms);
  CHECK(pause_of(10s) == 500ms);
  CHECK(pause_of(1h) == 1s);
}

TEST_CASE("session_machine: a refusal ends it", "[session_machine]") {
  const auto result = GENERATE(outcome::no, outcome::absent);
  auto m = thirty();
  CHECK(m.renewed(result, start + 10s, start + 10s) == verdict::over);
  CHECK(m.at(start + 10s) == verdict::over);
  CHECK(m.renewed(outcome::yes, start + 11s, start + 11s) == verdict::over);
}

TEST_CASE("session_machine: at its deadline it is over, for ever", "[session_machine]") {
  auto m = thirty();
  CHECK(m.at(start + 28499999us) == verdict::live);
  CHECK(m.at(start + 28500ms) == verdict::over);
  CHECK(m.at(start) == verdict::over);
}

TEST_CASE("session_machine: a reply after the deadline revives nothing", "[session_machine][T38]") {
  auto m = thirty();
  CHECK(m.renewed(outcome::yes, start + 10s, start + 28500ms) == verdict::over);
  CHECK(m.renewed(outcome::yes, start + 29s, start + 29s) == verdict::over);
}

TEST_CASE("session_machine: an old renewal never brings the deadline forward", "[session_machine][T42]") {
  auto m = thirty();
  m.renewed(outcome::yes, start + 20s, start + 20s);
  m.renewed(outcome::yes, start + 10s, start + 21s);
  CHECK(m.deadline() == start + 48500ms);
}

TEST_CASE("margin_for: 50 ms or a twentieth, a quarter of what is shorter, unless set", "[session_machine]") {
  CHECK(margin_for(30s, 0us) == 1500ms);
  CHECK(margin_for(1s, 0us) == 50ms);
  CHECK(margin_for(100ms, 0us) == 25ms);
  CHECK(margin_for(10ms, 0us) == 2500us);
  CHECK(margin_for(30s, 200ms) == 200ms);
  CHECK(margin_for(100ms, 200ms) == 25ms);
}

TEST_CASE("trust: once somebody was told that it is over, it is", "[session_machine]") {
  trust t(start + 1s);
  CHECK(t.remaining(start) == 1s);
  CHECK(t.extend(start + 2s));
  CHECK(t.remaining(start + 1s) == 1s);
  CHECK(t.remaining(start + 2s) == 0us);
  CHECK_FALSE(t.extend(start + 5s));
  CHECK(t.remaining(start) == 0us);
}

TEST_CASE("trust: never moves back, and ends when told", "[session_machine][T42]") {
  trust t(start + 2s);
  CHECK(t.extend(start + 1s));
  CHECK(t.remaining(start) == 2s);
  t.end();
  CHECK(t.remaining(start) == 0us);
  CHECK_FALSE(t.extend(start + 5s));
}

TEST_CASE("trust: without a deadline it lasts", "[session_machine]") {
  trust t;
  CHECK(t.remaining(start + 24h * 365 * 100) > 24h);
  CHECK(t.extend(start));
  CHECK(t.remaining(start) > 24h);
}
