// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>
#include <dlock/version.hpp>
#include <string>

TEST_CASE("version: the library and its headers name the same version", "[unit]") {
  CHECK(dlock::library_version() == dlock::header_version);
}

TEST_CASE("version: the number for the preprocessor spells the version text", "[unit]") {
  const int number = DLOCK_DETAIL_VERSION;
  const std::string text =
      std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
  CHECK(text == dlock::header_version);
}
