// SPDX-License-Identifier: BSL-1.0
#include "contract/store_fixture.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() {
  return std::make_unique<virtual_fixture<stores::memory_store>>();
}

}  // namespace dlock::test
