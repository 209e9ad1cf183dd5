// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "contract/store/store_contract.hpp"
#include "dlock/stores/sqlite.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

/// One lock file in a folder of its own.
class sqlite_file_place final : public store_place {
 public:
  std::shared_ptr<store> open() override {
    auto made = open_store("sqlite:" + path);
    made->prepare();
    return made;
  }
  void pass(microseconds time) override { std::this_thread::sleep_for(time); }

  scratch_folder folder{};
  std::string path = folder / "locks.db";
};

/// What names that grant of an actor's in a statement for a transaction.
inline request grant_of(const actor& who, std::string_view key, std::uint64_t fence) {
  return {.resource = key, .session = who.id, .nonce = who.nonce, .fence = fence};
}

}  // namespace dlock::test
