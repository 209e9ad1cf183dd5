// SPDX-License-Identifier: GPL-2.0-or-later
#include "contract/store/store_contract.hpp"
#include "support/mysql_store_place.hpp"

namespace dlock::test {

std::unique_ptr<store_place> make_store_place() { return std::make_unique<mysql_store_place>(); }

}  // namespace dlock::test
