// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

#include "dlock/store_interface/store.hpp"

namespace dlock::test {

/// Who waits for a key, as the engine does. Counts how often it heard that its watch works, or that the key may be
/// free, and how often that its watch works no longer.
struct counting_listener final : key_listener {
  void may_be_free(bool works) noexcept override {
    works_ = works;
    ++(works ? yes : no);
  }
  int calls() const { return yes + no; }
  /// What it heard last.
  bool works() const { return works_; }

  std::atomic<int> yes{0}, no{0};

 private:
  std::atomic<bool> works_{false};
};

/// The same of a thread that holds locks meanwhile.
struct nested_listener final : key_listener {
  void may_be_free(bool works) noexcept override { heard += works ? 1 : 0; }
  void list_held(held_meanwhile& all) const override { all.locks.push_back(held); }

  lock_held_meanwhile held{};
  std::atomic<int> heard{0};  ///< that its watch works, or that the key may be free
};

}  // namespace dlock::test
