// SPDX-License-Identifier: BSL-1.0
#include "annotations/options.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "gen/parts/annotation_text.hpp"

namespace {

using dlock_gen::split_arguments;
using dlock_gen::test::annotation_text;

/// "name=value" of each argument.
std::vector<std::string> arguments_of(const std::string& text) {
  const annotation_text from(text);
  std::vector<std::string> all;
  for (const auto& each : split_arguments(from.inside)) {
    all.push_back(each.name + (each.complete ? "=" : "!") + each.value.text);
  }
  return all;
}
using list = std::vector<std::string>;

}  // namespace

TEST_CASE("gen arguments: a comma inside of brackets or behind a name is part of a value") {
  CHECK(arguments_of("\"a,b\", .ttl = 30s, .retry = {.pause = 1ms, .limit = 3}, .wait = f(1, 2)") ==
        list{"=\"a,b\"", "ttl=30s", "retry={.pause = 1ms, .limit = 3}", "wait=f(1, 2)"});
  CHECK(arguments_of(".ttl = pair<int, int>{1, 2}.first, .wait = 1s") ==
        list{"ttl=pair<int, int>{1, 2}.first", "wait=1s"});
  CHECK(arguments_of("call, place_later") == list{"=call", "=place_later"});
}

TEST_CASE("gen arguments: nothing, half an option and open brackets do not end the program") {
  CHECK(arguments_of("").empty());
  CHECK(arguments_of("  // only a comment").empty());
  CHECK(arguments_of(".ttl") == list{"ttl!"});
  CHECK(arguments_of(".ttl =") == list{"ttl="});
  CHECK(arguments_of("\"a\", .ttl = (30s") == list{"=\"a\"", "ttl=(30s"});
  CHECK(arguments_of("a,,b") == list{"=a", "=", "=b"});
}

TEST_CASE("gen arguments: each has the place where it is written") {
  const annotation_text from("\"a\", .ttl = 30s");
  const auto all = split_arguments(from.inside);
  REQUIRE(all.size() == 2);
  CHECK(all[0].where.at().column == 3);
  CHECK(all[1].where.at().column == 8);
  CHECK(all[1].value.where.at().column == 15);
}
