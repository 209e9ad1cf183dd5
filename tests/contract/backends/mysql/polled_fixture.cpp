// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/mysql/fixtures.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() {
  auto fixture = std::make_unique<mysql_store_fixture>();
  fixture->more = "&wake=off";
  return fixture;
}

}  // namespace dlock::test
