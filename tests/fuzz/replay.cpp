// SPDX-License-Identifier: BSL-1.0
// Runs a fuzz target without a fuzzer: over the files of its corpus, and over each of them cut short and with one byte
// changed. The ordinary test run does it, so that a target always compiles and a known crash does not come back.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/fuzz.hpp"

namespace {

void run(const std::vector<char>& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

void run_variants(const std::vector<char>& input) {
  run(input);
  const auto step = std::max<std::size_t>(1, input.size() / 256);
  for (std::size_t at = 0; at < input.size(); at += step) {
    run({input.begin(), input.begin() + static_cast<std::ptrdiff_t>(at)});
    for (const char changed : {'\0', '\xff', static_cast<char>(input[at] ^ 1)}) {
      auto other = input;
      other[at] = changed;
      run(other);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int folder = 1; folder < argc; ++folder) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[folder])) {
      std::ifstream file(entry.path(), std::ios::binary);
      run_variants({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
      ++files;
    }
  }
  if (files == 0) {
    std::cerr << "fuzz: there is no input in the folders that were named\n";
    return 1;
  }
  std::cout << files << " inputs\n";
  return 0;
}
