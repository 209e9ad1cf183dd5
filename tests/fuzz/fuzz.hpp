// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Each source in this folder is a fuzz target: it hands arbitrary bytes to one parser of what other programs wrote.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

/// libFuzzer's name for what it calls with each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the program if a property does not hold, in every build, so that the fuzzer keeps the input.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::cerr << "fuzz: not so: " << property << '\n';
  std::abort();
}

}  // namespace fuzz
