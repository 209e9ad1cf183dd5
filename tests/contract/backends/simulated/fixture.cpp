// SPDX-License-Identifier: BSL-1.0
// The tables of the simulation must do what those of real stores do. Its network, and what goes wrong on that, is left
// out.
#include <memory>

#include "contract/backends/simulated/direct_store.hpp"

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<virtual_fixture<direct_store>>(); }

}  // namespace dlock::test
