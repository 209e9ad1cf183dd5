// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/unique_insert/place.hpp"

namespace dlock::test {

std::unique_ptr<store_place> make_store_place() { return std::make_unique<unique_insert_place>(); }

}  // namespace dlock::test
