// SPDX-License-Identifier: BSL-1.0
#include <exception>
#include <iostream>

#include "app/run.hpp"

int main(int argc, char** argv) {
  const auto line = dlock_gen::read_command_line(argc, argv);
  if (line.ends) return static_cast<int>(*line.ends);
  return static_cast<int>(dlock_gen::run(line.chosen, std::cout, std::cerr));
}
