// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/named_lock/fixture.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<named_lock_fixture>(); }

}  // namespace dlock::test
