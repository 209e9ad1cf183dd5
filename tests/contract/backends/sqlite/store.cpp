// SPDX-License-Identifier: GPL-2.0-or-later
#include <thread>

#include "contract/store/store_contract.hpp"
#include "dlock/stores/sqlite.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

namespace {

#ifndef DLOCK_TEST_ENCODING
#define DLOCK_TEST_ENCODING "UTF-8"
#endif

class sqlite_place final : public store_place {
 public:
  sqlite_place() { make_sqlite_file(folder_ / "locks.db", DLOCK_TEST_ENCODING); }
  std::shared_ptr<store> open() override {
    auto made = open_store("sqlite:" + (folder_ / "locks.db"));
    made->prepare();
    return made;
  }
  void pass(microseconds time) override { std::this_thread::sleep_for(time); }

 private:
  scratch_folder folder_;
};

}  // namespace

std::unique_ptr<store_place> make_store_place() { return std::make_unique<sqlite_place>(); }

}  // namespace dlock::test
