// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/for_update/place.hpp"

namespace dlock::test {

std::unique_ptr<store_place> make_store_place() { return std::make_unique<for_update_place>(); }

}  // namespace dlock::test
