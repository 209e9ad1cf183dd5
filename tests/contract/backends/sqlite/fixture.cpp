// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/sqlite/file_fixture.hpp"
#include "support/raw_sqlite.hpp"

namespace dlock::test {

namespace {

#ifdef DLOCK_TEST_ENCODING
/// A file that its application made, with texts in an encoding of its choice.
class encoded_fixture final : public sqlite_file_fixture {
 public:
  encoded_fixture() { make_sqlite_file(path, DLOCK_TEST_ENCODING); }
};
#else
using encoded_fixture = sqlite_file_fixture;
#endif

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<encoded_fixture>(); }

}  // namespace dlock::test
