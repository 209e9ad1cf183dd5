// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/mysql/places.hpp"

namespace dlock::test {

std::unique_ptr<store_place> make_store_place() { return std::make_unique<mysql_store_place>(); }

}  // namespace dlock::test
