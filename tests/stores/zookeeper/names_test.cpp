// SPDX-License-Identifier: BSL-1.0

/// What the nodes of keys and of those who ask for them are called.

#include <fmt/format.h>

#include <regex>

#include "stores/zookeeper/recipe/names.hpp"
#include "support/test.hpp"

namespace dlock::test {

using namespace stores::zookeeper;

namespace {

using names = std::vector<std::string>;

constexpr key_mode writes{}, reads{.units = 1};

}  // namespace

TEST_CASE("zookeeper names: plain keys are names as they are, all others different ones that lead back") {
  CHECK(name_of_key("stock 7:a_b-c.d", false) == "stock 7:a_b-c.d");
  CHECK(name_of_key("a/b", false) == "a%2Fb");
  CHECK(name_of_key("100%", false) == "100%25");
  CHECK(name_of_key("..", false) == "%2E%2E");
  CHECK(name_of_key("zookeeper", false) == "zookeeper");
  CHECK(name_of_key("zookeeper", true) != "zookeeper");
  std::set<std::string> names;
  std::size_t keys = 0;
  for (int first = 0; first != 256; ++first) {
    for (const auto* more : {"", ".", "%2F", "x"}) {
      const auto key = std::string(1, static_cast<char>(first)) + more;
      const auto name = name_of_key(key, true);
      CHECK(key_of_name(name) == key);
      CHECK(name.find('/') == std::string::npos);
      names.insert(name);
      ++keys;
    }
  }
  CHECK(names.size() == keys);
  CHECK_FALSE(key_of_name("a%2"));
  CHECK_FALSE(key_of_name("a%zz"));
}

TEST_CASE("zookeeper names: nodes are called as by the recipe that was chosen") {
  id128 session;
  session.bytes.fill(0xab);
  const auto attempt = attempt_id(session, 7);
  const auto check = [&](node_names recipe, bool shares, const char* theirs) {
    const auto name = node_prefix(recipe, attempt, shares) + "0000000012";
    CAPTURE(name);
    CHECK(std::regex_match(name, std::regex(theirs)));
    const auto of = contender_of(recipe, name);
    REQUIRE(of);
    CHECK(of->number == 12);
    CHECK(of->shares == shares);
  };
  const std::string protected_node = "_c_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-";
  check(node_names::curator, false, (protected_node + R"(lock-\d{10})").c_str());
  check(node_names::curator_readwrite, false, (protected_node + R"(__WRIT__\d{10})").c_str());
  check(node_names::curator_readwrite, true, (protected_node + R"(__READ__\d{10})").c_str());
  check(node_names::curator_semaphore, true, (protected_node + R"(lease-\d{10})").c_str());
  check(node_names::kazoo, false, R"([0-9a-f]{32}__lock__\d{10})");
  check(node_names::kazoo, true, R"([0-9a-f]{32}__rlock__\d{10})");
  CHECK(attempt_id(session, 8) != attempt);
  session.bytes[0] = 0;
  CHECK(attempt_id(session, 7) != attempt);
}

TEST_CASE("zookeeper names: the order is that of the numbers, whatever stands before them") {
  const names list{"ffff__lock__0000000003", "_c_aaaa-lock-0000000002", "lock-0000000005", "no contender",
                   "read-0000000000",        "lock-000000001",          "lock-0000000001x"};
  const lock_queue queue(node_names::curator, list);
  CHECK(queue.blocker(writes) == "_c_aaaa-lock-0000000002");
  CHECK(queue.before("lock-0000000005") == "ffff__lock__0000000003");
  CHECK(queue.before("ffff__lock__0000000003") == "_c_aaaa-lock-0000000002");
  CHECK(queue.before("_c_aaaa-lock-0000000002") == "");
  const names others{"no contender", "__rlock__0000000001"};
  CHECK(lock_queue(node_names::curator, others).blocker(writes).empty());
  CHECK(queue.contenders() == names{"_c_aaaa-lock-0000000002", "ffff__lock__0000000003", "lock-0000000005"});
  CHECK(queue.size() == 3);
  CHECK(queue.holders() == names{"_c_aaaa-lock-0000000002"});
  // After 2^31 they go round.
  const names late{"lock-2147483647", "lock--2147483648"}, reversed{late.rbegin(), late.rend()};
  CHECK(lock_queue(node_names::curator, late).blocker(writes) == "lock-2147483647");
  CHECK(lock_queue(node_names::curator, reversed).contenders() == late);
  CHECK(lock_queue(node_names::curator, late).before("lock--2147483648") == "lock-2147483647");
}

TEST_CASE("zookeeper names: readers wait for the writers before them, writers for all") {
  const auto [recipe, writer, reader] = GENERATE(table<node_names, std::string, std::string>(
      {{node_names::curator_readwrite, "__WRIT__", "__READ__"}, {node_names::kazoo, "__lock__", "__rlock__"}}));
  const auto w = [&, mark = writer](int number) { return fmt::format("x{}{:010}", mark, number); };
  const auto r = [&, mark = reader](int number) { return fmt::format("x{}{:010}", mark, number); };
  const auto queue_of = [recipe = recipe](const names& all) { return lock_queue(recipe, all); };
  const names shared{r(7), w(6), r(3), r(5), w(4), r(2)};
  const auto queue = queue_of(shared);
  CHECK(queue.contenders() == names{r(2), r(3), w(4), r(5), w(6), r(7)});
  CHECK(queue.holders() == names{r(2), r(3)});
  CHECK(queue.blocker(writes) == r(2));
  CHECK(queue.blocker(reads) == w(4));
  CHECK(queue.before(r(2)) == "");
  CHECK(queue.before(r(3)) == "");
  CHECK(queue.before(w(4)) == r(3));
  CHECK(queue.before(r(5)) == w(4));
  CHECK(queue.before(w(6)) == r(5));
  CHECK(queue.before(r(7)) == w(6));
  CHECK(queue.foreign().empty());
  const names written{r(3), w(2)}, read{r(3), r(4)}, none{};
  CHECK(queue_of(written).holders() == names{w(2)});
  CHECK(queue_of(read).holders() == read);
  CHECK(queue_of(read).blocker(reads).empty());
  CHECK(queue_of(none).holders().empty());
  CHECK(queue_of(none).blocker(writes).empty());
}

TEST_CASE("zookeeper names: of the nodes of permits the first hold the key, as many as the caller names") {
  const names list{"_c_b-lease-0000000007", "_c_a-lease-0000000002", "_c_c-lease-0000000009"};
  const lock_queue queue(node_names::curator_semaphore, list);
  CHECK(queue.before(list[1], 1) == "");
  CHECK(queue.before(list[0], 1) == list[1]);
  CHECK(queue.before(list[0], 2) == "");
  CHECK(queue.before(list[2], 2) == list[1]);
  CHECK(queue.before(list[2], 3) == "");
  CHECK(queue.blocker({.units = 1, .permits = 4}).empty());
  CHECK(queue.blocker({.units = 1, .permits = 3}) == list[1]);
  CHECK_FALSE(queue.before("_c_d-lease-0000000003", 9));
  CHECK(queue.holders() == names{list[1], list[0], list[2]});
  const names late{"_c_b-lease--2147483648", "_c_a-lease-2147483647"};
  CHECK(lock_queue(node_names::curator_semaphore, late).before(late[1], 1) == "");
  CHECK(lock_queue(node_names::curator_semaphore, late).before(late[0], 1) == late[1]);
}

TEST_CASE("zookeeper names: a thread of Curator that writes and reads gives both nodes one number") {
  const names list{"_c_b-__READ__0000000002", "_c_a-__WRIT__0000000002", "_c_c-__WRIT__0000000003",
                   "_c_d-__READ__0000000004"};
  const lock_queue queue(node_names::curator_readwrite, list);
  CHECK(queue.holders() == names{"_c_a-__WRIT__0000000002"});
  CHECK(queue.before("_c_d-__READ__0000000004") == "_c_c-__WRIT__0000000003");
  const names after{list[0], list[2], list[3]};
  CHECK(lock_queue(node_names::curator_readwrite, after).holders() == names{list[0]});
  CHECK(lock_queue(node_names::curator_readwrite, after).before(list[2]) == list[0]);
}

TEST_CASE("zookeeper names: a node of a recipe that is not known is named") {
  const names curator{"_c_aaaa-lock-0000000002", "ffff__lock__0000000003", "lock-0000000005"};
  const names readwrite{"_c_aaaa-__WRIT__0000000002", "_c_aaaa-__READ__0000000003"};
  const names kazoo{"_c_aaaa-lock-0000000002", "ffff__lock__0000000003", "ffff__rlock__0000000001"};
  const auto check = [](node_names recipe, names known, std::initializer_list<const char*> foreign) {
    CHECK(lock_queue(recipe, known).foreign().empty());
    for (const auto* each : foreign) {
      known.emplace_back(each);
      CHECK(lock_queue(recipe, known).foreign() == each);
      CHECK_THAT(foreign_text(recipe, "/k", each), ContainsSubstring(each));
      known.pop_back();
    }
  };
  check(node_names::curator, curator,
        {"_c_aaaa-__READ__0000000001", "_c_aaaa-__WRIT__0000000001", "ffff__rlock__0000000001", "leases", "locks",
         "lock-000000001", "lock-0000000001x"});
  check(node_names::curator_readwrite, readwrite,
        {"_c_aaaa-lock-0000000001", "ffff__lock__0000000001", "ffff__rlock__0000000001", "leases", "0000000001"});
  check(node_names::curator_semaphore, {"_c_aaaa-lease-0000000002"}, {"_c_aaaa-lock-0000000001", "lease", "leases"});
  check(node_names::kazoo, kazoo, {"_c_aaaa-__READ__0000000001", "_c_aaaa-__WRIT__0000000001", "leases"});
}

TEST_CASE("zookeeper names: a list without the node that is asked about tells nothing of its place") {
  const names all[] = {{}, {"_c_bbbb-lock-0000000003"}, {"_c_bbbb-lock-0000000001"}};
  for (const auto& each : all) CHECK_FALSE(lock_queue(node_names::curator, each).before("_c_aaaa-lock-0000000002"));
  CHECK_FALSE(lock_queue(node_names::curator, all[2]).before(""));
}

TEST_CASE("zookeeper names: a node's data tells who has made it, if that was dlock") {
  const node_data data{id128::random(), 1500, "host-a", 42, "two words"};
  const auto again = node_data::parse(data.text());
  REQUIRE(again);
  CHECK(again->session == data.session);
  CHECK(again->timeout_ms == 1500);
  CHECK(again->host == "host-a");
  CHECK(again->pid == 42);
  CHECK(again->label == "two words");
  CHECK(again->who() == "host-a/42 two words");
  for (const auto* text : {"", "10.0.0.1", "dlock", "dlock xyz 1 a/1 ", "dlock 00 1 a/1"})
    CHECK_FALSE(node_data::parse(text));
}

}  // namespace dlock::test
