// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stores/sql/waiting_circles.hpp"

namespace {

using namespace dlock;
using namespace dlock::stores::sql;

id128 session_of(unsigned char number) {
  id128 id{};
  id.bytes.fill(number);
  return id;
}

lock_held_meanwhile held(const std::string& key, std::uint64_t fence = 7) {
  return {.key = key, .session = session_of(1), .fence = fence};
}

lock_held_meanwhile held_row(const std::string& text, unsigned char session, std::uint64_t nonce) {
  return {.key = text, .session = session_of(session), .fence = 7, .nonce = nonce};
}

nested_waiter waiter(const std::string& process, const std::string& who, const std::string& waits_for,
                     std::uint64_t since, const std::vector<lock_held_meanwhile>& all) {
  return {.process = process, .who = who, .waits_for = waits_for, .since = since, .held = all};
}

std::map<std::string, present_grant> grants_of(const std::vector<std::string>& keys) {
  std::map<std::string, present_grant> grants;
  for (const auto& each : keys) grants[each] = {session_of(1), 7};
  return grants;
}

std::vector<waiting_circle> broken_by(const std::vector<nested_waiter>& waiters,
                                      const std::map<std::string, present_grant>& grants, const std::string& process) {
  return find_circles(waiters, grants, process).to_break;
}

}  // namespace

TEST_CASE("waiting circles: what is held is read as it was written", "[circle]") {
  const std::vector<lock_held_meanwhile> all{held("a"), held(std::string("\0 :\xff", 4), ~0ULL)};
  nested_waiter waiter;
  REQUIRE(read_held("1234" + write_held({.locks = all}), waiter));
  CHECK(waiter.since == 1234);
  REQUIRE(waiter.held.size() == 2);
  for (std::size_t i = 0; i != all.size(); ++i) {
    CHECK(waiter.held[i].key == all[i].key);
    CHECK(waiter.held[i].session == all[i].session);
    CHECK(waiter.held[i].fence == all[i].fence);
  }
  CHECK(waiter.confirmed == 1234);
  CHECK(write_held({}).empty());
  REQUIRE(read_held("1234+5678" + write_held({.locks = all}), waiter));
  CHECK(waiter.since == 1234);
  CHECK(waiter.confirmed == 5678);
}

TEST_CASE("waiting circles: a row is read as it was written, and so is the grant that a waiter for one has seen",
          "[circle]") {
  const auto row = held_row("orders:7", 2, 0xabc);
  nested_waiter waiter;
  REQUIRE(read_held("1234" + write_held({.locks = {held("a"), row}, .row = {session_of(3), 0xdef}}), waiter));
  CHECK(waiter.row == row_grant{session_of(3), 0xdef});
  REQUIRE(waiter.held.size() == 2);
  CHECK(waiter.held[0].nonce == 0);
  CHECK(waiter.held[1].key == row.key);
  CHECK(waiter.held[1].session == row.session);
  CHECK(waiter.held[1].nonce == row.nonce);
  CHECK(write_held({.row = {session_of(3), 1}}).empty());
}

TEST_CASE("waiting circles: a row is held by the grant that its waiter has seen, and by no other", "[circle]") {
  std::vector<nested_waiter> waiters{waiter("A", "one", "orders:7", 1, {held("a")}),
                                     waiter("B", "two", "a", 2, {held_row("orders:7", 2, 5)})};
  const auto grants = grants_of({"a", "orders:7"});
  CHECK(broken_by(waiters, grants, "B").empty());  // that is the key of the same text
  waiters[0].row = {session_of(2), 5};
  const auto found = broken_by(waiters, grants, "B");
  REQUIRE(found.size() == 1);
  CHECK(found[0].held.nonce == 5);
  waiters[0].row = {session_of(2), 4};
  CHECK(broken_by(waiters, grants, "B").empty());
  waiters[0].row = {session_of(3), 5};
  CHECK(broken_by(waiters, grants, "B").empty());
}

TEST_CASE("waiting circles: another text is refused", "[circle]") {
  const auto lock = write_held({.locks = {held("a")}});
  for (const std::string& text :
       std::vector<std::string>{"", "x", lock, "12+" + lock, "+12" + lock, "12 61", "12 61:01", "12" + lock + "g",
                                "12" + lock + ":g", "12=01:1" + lock, "12 6" + lock.substr(3)}) {
    nested_waiter waiter;
    CAPTURE(text);
    CHECK_FALSE(read_held(text, waiter));
  }
}

TEST_CASE("waiting circles: the youngest wait breaks it, and no other", "[circle]") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}),
                                           waiter("B", "two", "c", 3, {held("x"), held("b")}),
                                           waiter("C", "three", "a", 2, {held("c")})};
  const auto grants = grants_of({"a", "b", "c", "x"});
  CHECK(broken_by(waiters, grants, "A").empty());
  CHECK(broken_by(waiters, grants, "C").empty());
  const auto found = broken_by(waiters, grants, "B");
  REQUIRE(found.size() == 1);
  CHECK(found[0].waits_for == "c");
  CHECK(found[0].held.key == "b");
  REQUIRE(found[0].others.size() == 2);
  CHECK(found[0].others[0].who == "three");
  CHECK(found[0].others[0].waits_for == "a");
  CHECK(found[0].others[1].who == "one");
  CHECK(found[0].others[1].waits_for == "b");
}

TEST_CASE("waiting circles: two that were written in the same microsecond have one youngest", "[circle]") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 5, {held("a")}),
                                           waiter("B", "two", "a", 5, {held("b")})};
  const auto grants = grants_of({"a", "b"});
  CHECK(broken_by(waiters, grants, "A").size() + broken_by(waiters, grants, "B").size() == 1);
}

TEST_CASE("waiting circles: a lock that is held no more, or by another grant, closes none", "[circle]") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}),
                                           waiter("B", "two", "a", 2, {held("b")})};
  CHECK(broken_by(waiters, grants_of({"a", "b"}), "B").size() == 1);
  CHECK(broken_by(waiters, grants_of({"b"}), "B").empty());
  CHECK(broken_by(waiters, grants_of({"a"}), "B").empty());
  auto grants = grants_of({"a", "b"});
  grants["a"].fence = 8;
  CHECK(broken_by(waiters, grants, "B").empty());
  grants = grants_of({"a", "b"});
  grants["b"].session = session_of(2);
  CHECK(broken_by(waiters, grants, "B").empty());
}

TEST_CASE("waiting circles: who waits for a circle without being in it breaks none", "[circle]") {
  const std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}),
                                           waiter("B", "two", "a", 2, {held("b")}),
                                           waiter("C", "three", "a", 3, {held("c")})};
  const auto grants = grants_of({"a", "b", "c"});
  CHECK(broken_by(waiters, grants, "C").empty());
  CHECK(broken_by(waiters, grants, "B").size() == 1);
}

TEST_CASE("waiting circles: it counts once all have confirmed after the youngest began", "[circle]") {
  std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}), waiter("B", "two", "c", 3, {held("b")}),
                                     waiter("C", "three", "a", 2, {held("c")})};
  const auto grants = grants_of({"a", "b", "c"});
  for (auto& each : waiters) each.confirmed = each.since;
  auto found = find_circles(waiters, grants, "B");
  CHECK(found.to_break.empty());
  CHECK(found.to_ask == std::set<std::string>{"A", "C"});
  found = find_circles(waiters, grants, "A");
  CHECK(found.to_ask.empty());
  CHECK(found.to_confirm == std::map<std::string, std::uint64_t>{{"b", 1}});
  waiters[0].confirmed = 3;
  CHECK(find_circles(waiters, grants, "A").to_confirm.empty());
  CHECK(find_circles(waiters, grants, "B").to_ask == std::set<std::string>{"C"});
  waiters[2].confirmed = 4;
  found = find_circles(waiters, grants, "B");
  CHECK(found.to_ask.empty());
  CHECK(found.to_break.size() == 1);
}

TEST_CASE("waiting circles: a process need not confirm its own other waits", "[circle]") {
  std::vector<nested_waiter> waiters{waiter("A", "one", "b", 1, {held("a")}), waiter("B", "two", "c", 3, {held("b")}),
                                     waiter("B", "two", "a", 2, {held("c")})};
  for (auto& each : waiters) each.confirmed = each.since;
  waiters[0].confirmed = 3;
  CHECK(broken_by(waiters, grants_of({"a", "b", "c"}), "B").size() == 1);
}
