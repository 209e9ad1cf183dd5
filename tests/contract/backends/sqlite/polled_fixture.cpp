// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/sqlite/file_fixture.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<sqlite_file_fixture>("?wake=off"); }

}  // namespace dlock::test
