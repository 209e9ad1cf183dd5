// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

/// What many test cases of a store begin with.
struct two_actors {
  std::unique_ptr<store_fixture> fixture = make_store_fixture();
  actor a{*fixture}, b{*fixture};
};

}  // namespace dlock::test
