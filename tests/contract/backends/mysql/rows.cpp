// SPDX-License-Identifier: GPL-2.0-or-later
#include "contract/row/row_contract.hpp"
#include "support/mysql_row_place.hpp"

namespace dlock::test {

std::unique_ptr<row_place> make_row_place() { return std::make_unique<mysql_row_place>(); }

}  // namespace dlock::test
