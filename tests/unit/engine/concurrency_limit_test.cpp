// SPDX-License-Identifier: BSL-1.0
#include "engine/statements/concurrency_limit.hpp"

#include <catch2/catch_test_macros.hpp>

using dlock::engine::concurrency_limit;

TEST_CASE("concurrency_limit: all connections are used until there are more statements than connections",
          "[concurrency_limit]") {
  concurrency_limit limit(8, true);
  CHECK(limit.now() == 8);
  for (int i = 0; i != 100; ++i) limit.formed(1, 8, 3);
  CHECK(limit.now() == 8);
  CHECK_FALSE(limit.holds_back());
  limit.formed(2, 9, 0);
  CHECK(limit.now() == 2);
  CHECK(limit.holds_back());
}

TEST_CASE("concurrency_limit: a crowd is over some batches after its end, not at once", "[concurrency_limit]") {
  concurrency_limit limit(8, true);
  limit.formed(10, 64, 20);
  for (int i = 0; i != 16; ++i) limit.formed(4, 5, 0);
  CHECK(limit.now() == 2);
  for (int i = 0; i != 32; ++i) limit.formed(4, 5, 0);
  CHECK(limit.now() == 8);
}

TEST_CASE("concurrency_limit: what shares nothing with others gets connections of its own", "[concurrency_limit]") {
  concurrency_limit limit(4, true);
  limit.formed(1, 64, 40);
  CHECK(limit.now() == 3);
  limit.formed(1, 64, 40);
  limit.formed(1, 64, 40);
  CHECK(limit.now() == 4);
  limit.formed(1, 64, 0);  // nothing was left that could have gone with it
  CHECK(limit.now() == 4);
  limit.formed(12, 64, 40);
  limit.formed(12, 64, 40);
  limit.formed(12, 64, 40);
  CHECK(limit.now() == 2);
}

TEST_CASE("concurrency_limit: a store that serves one at a time, or a single connection, is not held back",
          "[concurrency_limit]") {
  concurrency_limit apart(8, false);
  apart.formed(1, 64, 40);
  CHECK(apart.now() == 8);
  CHECK_FALSE(apart.holds_back());
  concurrency_limit single(1, true);
  single.formed(1, 64, 40);
  CHECK(single.now() == 1);
  CHECK_FALSE(single.holds_back());
}
