// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace dlock::test {

/// The schemes of MySQL on a table that other programs share, as cmake/stores.cmake has them.
inline std::vector<std::string> table_schemes() {
  std::istringstream all(DLOCK_TEST_TABLE_SCHEMES);
  return {std::istream_iterator<std::string>(all), {}};
}

}  // namespace dlock::test
