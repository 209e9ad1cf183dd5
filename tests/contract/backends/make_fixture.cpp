// SPDX-License-Identifier: BSL-1.0

/// The fixture that CMakeLists.txt names for a backend.

#include DLOCK_TEST_FIXTURE_HEADER

namespace dlock::test {

std::unique_ptr<store_fixture> make_store_fixture() {
  return std::make_unique<DLOCK_TEST_FIXTURE>(DLOCK_TEST_FIXTURE_PARAMETERS);
}

}  // namespace dlock::test
