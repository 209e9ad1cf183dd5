// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/state_row/place.hpp"

namespace dlock::test {

std::unique_ptr<store_place> make_store_place() { return std::make_unique<state_row_place>(); }

}  // namespace dlock::test
