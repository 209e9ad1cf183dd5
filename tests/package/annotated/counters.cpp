// SPDX-License-Identifier: BSL-1.0
#include "shop/counters.hpp"

#include <map>

int shop::counters::next(const std::string& name) {
  static std::map<std::string, int> all;
  return ++all[name];
}
