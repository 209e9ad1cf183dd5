// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/raw_sqlite.hpp"

namespace dlock::test {

namespace {

class fixture final : public sqlite_file_fixture {
 public:
#ifdef DLOCK_TEST_ENCODING
  /// A file that its application made, with texts in an encoding of its choice.
  fixture() { make_sqlite_file(path, DLOCK_TEST_ENCODING); }
#endif
  std::shared_ptr<store> open() override { return clock_.open(url()); }
  void stop_clock() override { clock_.stop(); }
  void pass(microseconds time) override { clock_.pass(time); }
  std::size_t held_by_waiters() override { return held_by_waiters_of(path); }

 private:
  machine_clock clock_{};
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<fixture>(); }

}  // namespace dlock::test
