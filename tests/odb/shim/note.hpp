// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <odb/core.hxx>
#include <string>

namespace dlock::test {

/// The smallest mapped class: proves that what ODB generates compiles, links and runs in a C++20 program.
#pragma db object table("note")
struct note {
#pragma db id auto
  std::uint64_t id = 0;
  std::string text;
};

}  // namespace dlock::test
