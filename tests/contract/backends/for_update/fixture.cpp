// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/for_update/fixture.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<for_update_fixture>(); }

}  // namespace dlock::test
