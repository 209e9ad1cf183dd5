// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/named_lock/place.hpp"

namespace dlock::test {

std::unique_ptr<store_place> make_store_place() { return std::make_unique<named_lock_place>(); }

}  // namespace dlock::test
