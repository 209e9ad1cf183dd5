// SPDX-License-Identifier: BSL-1.0
#include "dlock/fenced.hpp"

#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("fence_gate: admits tokens that are not lower than the greatest seen", "[T71]") {
  fence_gate gate;
  CHECK(gate.seen() == 0);
  CHECK(gate.admit(5));
  CHECK(gate.admit(5));  // the same holder
  CHECK_FALSE(gate.admit(4));
  CHECK(gate.admit(9));
  CHECK_FALSE(gate.admit(8));
  CHECK(gate.admit(9));
  CHECK(gate.seen() == 9);
}

TEST_CASE("fence_gate: each resource has a token of its own") {
  fence_gate gate;
  CHECK(gate.admit("a", 7));
  CHECK(gate.admit("b", 3));
  CHECK_FALSE(gate.admit("a", 3));
  CHECK(gate.admit("b", 4));
  CHECK(gate.admit(1));
  CHECK(gate.seen("a") == 7);
  CHECK(gate.seen("b") == 4);
  CHECK(gate.seen() == 1);
  CHECK(gate.seen("c") == 0);
}

TEST_CASE("fence_gate: what is refused names both tokens and the resource") {
  fence_gate gate;
  gate.require("report\n1", 12);
  bool ran = false;
  const auto refused = test::caught<stale_fence>([&] { gate.require("report\n1", 11, [&] { ran = true; }); });
  CHECK(refused.code() == errc::stale_fence);
  CHECK(refused.token() == 11);
  CHECK(refused.seen() == 12);
  const std::string text = refused.what();
  CHECK(text.starts_with("dlock: resource 'report\\x0a1': fencing token 11 is stale: 12 was here"));
  CHECK_FALSE(ran);
  CHECK_THROWS_AS(gate.require("report\n1", 11), error);
  CHECK_NOTHROW(gate.require(1));
  CHECK_THROWS_AS((gate.require(2), gate.require(1)), stale_fence);
}

TEST_CASE("fence_gate: runs the write if the token is admitted, and gives its result") {
  fence_gate gate;
  int writes = 0;
  CHECK(gate.require("k", 2, [&] { return ++writes; }) == 1);
  auto owned = gate.require("k", 2, [] { return std::make_unique<int>(7); });
  CHECK(*owned == 7);
  int& same = gate.require("k", 2, [&]() -> int& { return writes; });
  CHECK(&same == &writes);
  CHECK(gate.admit("k", 3, [&] { return ++writes; }));
  CHECK_FALSE(gate.admit("k", 2, [&] { return ++writes; }));
  CHECK(writes == 2);
}

TEST_CASE("fence_gate: a write that throws was there") {
  fence_gate gate;
  CHECK_THROWS_AS(gate.require("k", 5, [] { throw std::runtime_error("half written"); }), std::runtime_error);
  CHECK_FALSE(gate.admit("k", 4));
  CHECK_THROWS_AS(gate.admit("k", 6, [] { throw std::runtime_error("half written"); }), std::runtime_error);
  CHECK_FALSE(gate.admit("k", 5));
  CHECK(gate.admit("k", 6));  // nobody is kept out for good
}

TEST_CASE("fence_gate: refuses the token of an empty lease") {
  fence_gate gate;
  CHECK_THROWS_MATCHES(gate.admit(0), std::invalid_argument, MessageMatches(ContainsSubstring("token = 0")));
  CHECK_THROWS_AS(gate.require("k", 0), std::invalid_argument);
  CHECK_THROWS_AS(gate.require("k", 0, [] {}), std::invalid_argument);
}

TEST_CASE("fence_gate: check and write are one step for all threads", "[T71]") {
  constexpr std::uint64_t last = 20'000;
  fence_gate gate;
  std::atomic<std::uint64_t> next{0};
  std::uint64_t written = 0;  // the resource: guarded by the gate alone
  bool backwards = false;
  test::on_threads(4, [&](int) {
    for (std::uint64_t token = ++next; token <= last; token = ++next) {
      gate.admit("k", token, [&] {
        backwards = backwards || token < written;
        written = token;
      });
      gate.admit("other " + std::to_string(token % 7), token);
    }
  });
  CHECK_FALSE(backwards);
  CHECK(written == last);
  CHECK(gate.seen("k") == last);
}

TEST_CASE("fence_gate: nobody passes while a write on that resource runs", "[T71]") {
  fence_gate gate;
  // A gate that lets the second one pass is found out in the rounds in which that one is quick.
  for (std::uint64_t token = 1; token <= 400; token += 2) {
    std::atomic<bool> second_begins{false}, first_ended{false}, second_waited{false};
    std::thread other;
    gate.admit("k", token, [&] {
      other = std::thread([&] {
        second_begins = true;
        gate.admit("k", token + 1, [&] { second_waited = first_ended.load(); });
      });
      while (!second_begins) std::this_thread::yield();
      std::this_thread::yield();
      first_ended = true;
    });
    other.join();
    REQUIRE(second_waited);
  }
}

TEST_CASE("fence_gate: a write on one resource does not keep others out") {
  fence_gate gate;
  gate.admit("slow", 1, [&] {
    std::thread other([&] {
      CHECK(gate.admit("quick", 1));
      CHECK(gate.seen("slow") == 1);
    });
    other.join();
  });
}

TEST_CASE("fenced_update: check and write are one statement", "[T71]") {
  const fenced_update save{.table = "report", .assignments = "body = ?, author = ?", .condition = "id = ?"};
  CHECK(save.sql() == "UPDATE report SET body = ?, author = ?, fence = ? WHERE (id = ?) AND fence <= ?");
  CHECK(save.sql(17) == "UPDATE report SET body = ?, author = ?, fence = 17 WHERE (id = ?) AND fence <= 17");
  CHECK(save.seen_sql() == "SELECT fence FROM report WHERE (id = ?) FOR UPDATE");
}

TEST_CASE("fenced_update: a condition with OR stays within the check") {
  const fenced_update save{
      .table = "`a b`", .assignments = "x = 1", .condition = "id = 1 OR id = 2", .column = "`token`"};
  CHECK(save.sql(3) == "UPDATE `a b` SET x = 1, `token` = 3 WHERE (id = 1 OR id = 2) AND `token` <= 3");
  CHECK(save.seen_sql() == "SELECT `token` FROM `a b` WHERE (id = 1 OR id = 2) FOR UPDATE");
}

TEST_CASE("fenced_update: without assignments it announces the token") {
  const fenced_update announce{.table = "report", .condition = "id = ?"};
  CHECK(announce.sql() == "UPDATE report SET fence = ? WHERE (id = ?) AND fence <= ?");
}

TEST_CASE("fenced_update: what is missing is an error that names the field") {
  const auto refuses = [](const fenced_update& bad, const std::string& field) {
    CHECK_THROWS_MATCHES(bad.sql(), std::invalid_argument, MessageMatches(ContainsSubstring(field)));
    CHECK_THROWS_MATCHES(bad.seen_sql(), std::invalid_argument, MessageMatches(ContainsSubstring(field)));
  };
  refuses({.condition = "id = 1"}, "table = ''");
  refuses({.table = "t"}, "condition = ''");  // it would be every row
  refuses({.table = "t", .condition = "id = 1", .column = ""}, "column = ''");
  CHECK_THROWS_MATCHES((fenced_update{.table = "t", .condition = "id = 1"}.sql(0)), std::invalid_argument,
                       MessageMatches(ContainsSubstring("token = 0")));
}

TEST_CASE("fenced_update: no row is a refusal only where rows are counted that matched", "[T55]") {
  using rows = fenced_update::rows;
  using verdict = fenced_update::verdict;
  CHECK(fenced_update::judge(1, rows::found) == verdict::written);
  CHECK(fenced_update::judge(1, rows::changed) == verdict::written);
  CHECK(fenced_update::judge(0, rows::found) == verdict::refused);
  CHECK(fenced_update::judge(0, rows::changed) == verdict::ask);
}
