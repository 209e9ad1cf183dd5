// SPDX-License-Identifier: BSL-1.0
#include "catalogue/order.hpp"

#include <catch2/catch_test_macros.hpp>

using dlock_gen::overlap;

TEST_CASE("gen domain: two domains overlap if a key can be of both") {
  CHECK(overlap("order:{}", "order:{}"));
  CHECK(overlap("order:{}", "order:42"));
  CHECK(overlap("report", "report"));
  CHECK(overlap("{}:{}", "order:42"));
  CHECK(overlap("a{}:b", "ax:b"));
  CHECK(overlap("a{}z", "ab{}yz"));
  CHECK(overlap("a{}", "{}b"));
}

TEST_CASE("gen domain: a value holds no ':', so other numbers of parts never meet") {
  CHECK_FALSE(overlap("order:{}", "order:{}:{}"));
  CHECK_FALSE(overlap("order:{}", "user:{}"));
  CHECK_FALSE(overlap("order", "order:"));
  CHECK_FALSE(overlap("a{}", "b{}"));
  CHECK_FALSE(overlap("{}a", "{}b"));
  CHECK_FALSE(overlap("ab{}bc", "abc"));
  CHECK_FALSE(overlap("report", "reports"));
}

TEST_CASE("gen domain: rows meet rows of their class alone, and an unknown key nothing") {
  CHECK(overlap("row of shop::order", "row of shop::order"));
  CHECK_FALSE(overlap("row of shop::order", "row of shop::user"));
  CHECK_FALSE(overlap("row of shop::order", "{}"));
  CHECK_FALSE(overlap("?", "?"));
}
