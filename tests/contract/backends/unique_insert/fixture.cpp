// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/unique_insert/fixture.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<unique_insert_fixture>(); }

}  // namespace dlock::test
