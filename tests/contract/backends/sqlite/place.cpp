// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/sqlite/file_place.hpp"
#include "support/raw_sqlite.hpp"

namespace dlock::test {

namespace {

#ifdef DLOCK_TEST_ENCODING
/// A file that its application made, with texts in an encoding of its choice.
class encoded_place final : public sqlite_file_place {
 public:
  encoded_place() { make_sqlite_file(path, DLOCK_TEST_ENCODING); }
};
#else
using encoded_place = sqlite_file_place;
#endif

}  // namespace

std::unique_ptr<store_place> make_store_place() { return std::make_unique<encoded_place>(); }

}  // namespace dlock::test
