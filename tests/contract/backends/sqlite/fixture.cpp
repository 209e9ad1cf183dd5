// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/sqlite/file_fixture.hpp"
#include "stores/sqlite/client/wake_file.hpp"
#include "support/raw_sqlite.hpp"

namespace dlock::test {

namespace {

class fixture final : public sqlite_file_fixture {
 public:
#ifdef DLOCK_TEST_ENCODING
  /// A file that its application made, with texts in an encoding of its choice.
  fixture() { make_sqlite_file(path, DLOCK_TEST_ENCODING); }
#endif
  std::size_t held_by_waiters() override {
    std::string why;
    const auto file = wakes_.open(false, why);
    std::size_t locks = 0;
    if (file == nullptr) return locks;
    for (const auto& each : file->nested_waiters()) locks += each.held.size();
    return locks;
  }

 private:
  stores::sqlite::wake_file wakes_{path};
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<fixture>(); }

}  // namespace dlock::test
