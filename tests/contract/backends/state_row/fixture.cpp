// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/state_row/fixture.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<state_row_fixture>(); }

}  // namespace dlock::test
