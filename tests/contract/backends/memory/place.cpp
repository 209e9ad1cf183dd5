// SPDX-License-Identifier: BSL-1.0
#include "contract/virtual_place.hpp"

namespace dlock::test {

std::unique_ptr<store_place> make_store_place() { return std::make_unique<virtual_place<stores::memory_store>>(); }

}  // namespace dlock::test
