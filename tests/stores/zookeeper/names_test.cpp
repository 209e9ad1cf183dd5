// SPDX-License-Identifier: BSL-1.0

/// What the nodes of keys and of those who ask for them are called.

#include <regex>

#include "stores/zookeeper/recipe/names.hpp"
#include "support/test.hpp"

namespace dlock::test {

using namespace stores::zookeeper;

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
  const auto curator = node_prefix(node_names::curator, attempt) + "0000000012";
  const std::regex theirs(R"(_c_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-lock-\d{10})");
  CHECK(std::regex_match(curator, theirs));
  const auto kazoo = node_prefix(node_names::kazoo, attempt) + "0000000012";
  CHECK(std::regex_match(kazoo, std::regex(R"([0-9a-f]{32}__lock__\d{10})")));
  CHECK(number_in(curator) == 12);
  CHECK(number_in(kazoo) == 12);
  CHECK(attempt_id(session, 8) != attempt);
  session.bytes[0] = 0;
  CHECK(attempt_id(session, 7) != attempt);
}

TEST_CASE("zookeeper names: the order is that of the numbers, whatever stands before them") {
  const std::vector<std::string> names{"ffff__lock__0000000003", "_c_aaaa-lock-0000000002", "lock-0000000005",
                                       "no contender",           "read-0000000000",         "lock-000000001",
                                       "lock-0000000001x"};
  CHECK(first_of(names) == "_c_aaaa-lock-0000000002");
  CHECK(before(names, "lock-0000000005") == "ffff__lock__0000000003");
  CHECK(before(names, "ffff__lock__0000000003") == "_c_aaaa-lock-0000000002");
  CHECK(before(names, "_c_aaaa-lock-0000000002") == "");
  CHECK(first_of({"no contender", "__rlock__0000000001"}).empty());
  CHECK(contenders_in(names) ==
        std::vector<std::string>{"_c_aaaa-lock-0000000002", "ffff__lock__0000000003", "lock-0000000005"});
  // After 2^31 they go round.
  const std::vector<std::string> late{"lock-2147483647", "lock--2147483648"};
  CHECK(first_of(late) == "lock-2147483647");
  CHECK(contenders_in({late.rbegin(), late.rend()}) == late);
  CHECK(before(late, "lock--2147483648") == "lock-2147483647");
}

TEST_CASE("zookeeper names: a node of a recipe that is not known is named") {
  CHECK(foreign_in({}).empty());
  CHECK(foreign_in({"_c_aaaa-lock-0000000002", "ffff__lock__0000000003", "lock-0000000005"}).empty());
  for (const auto* foreign : {"_c_aaaa-__READ__0000000001", "_c_aaaa-__WRIT__0000000001", "ffff__rlock__0000000001",
                              "leases", "locks", "lock-000000001", "lock-0000000001x"}) {
    CHECK(foreign_in({"_c_aaaa-lock-0000000002", foreign}) == foreign);
  }
}

TEST_CASE("zookeeper names: a list without the node that is asked about tells nothing of its place") {
  CHECK_FALSE(before({}, "_c_aaaa-lock-0000000002"));
  CHECK_FALSE(before({"_c_bbbb-lock-0000000003"}, "_c_aaaa-lock-0000000002"));
  CHECK_FALSE(before({"_c_bbbb-lock-0000000001"}, "_c_aaaa-lock-0000000002"));
  CHECK_FALSE(before({"_c_bbbb-lock-0000000001"}, ""));
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
