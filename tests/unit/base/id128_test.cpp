// SPDX-License-Identifier: BSL-1.0
#include "dlock/store_interface/id128.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

using dlock::id128;

TEST_CASE("id128: random ids differ and are never zero", "[id128][T04]") {
  std::set<id128> all;
  for (int i = 0; i < 10'000; ++i) {
    const auto id = id128::random();
    CHECK(static_cast<bool>(id));
    all.insert(id);
  }
  CHECK(all.size() == 10'000);
}

TEST_CASE("id128: zero means none", "[id128]") {
  CHECK_FALSE(static_cast<bool>(id128{}));
  CHECK(id128{} == id128{});
}

TEST_CASE("id128: hex shows each byte in order", "[id128]") {
  id128 id;
  CHECK(id.hex() == std::string(32, '0'));
  id.bytes[0] = 0xab;
  id.bytes[1] = 0x01;
  id.bytes[15] = 0xf0;
  CHECK(id.hex() == "ab0100000000000000000000000000f0");
}

TEST_CASE("id128: hex is read again, and nothing else", "[id128]") {
  const auto id = id128::random();
  CHECK(id128::parse(id.hex()) == id);
  CHECK_FALSE(id128::parse(""));
  CHECK_FALSE(id128::parse(id.hex() + "00"));
  CHECK_FALSE(id128::parse("ab0100000000000000000000000000g0"));
  CHECK_FALSE(id128::parse("-b010000000000000000000000000000"));
}

TEST_CASE("id128: ordered by its bytes", "[id128]") {
  id128 low, high;
  low.bytes[15] = 0xff;
  high.bytes[0] = 0x01;
  CHECK(low < high);
  CHECK(low != high);
}
