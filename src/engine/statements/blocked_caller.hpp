// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <cstddef>

namespace dlock::engine {

/// A thread that waits for answers, and executes a batch with one of its own statements itself where it can. Lives on its
/// stack; guarded by the executor's mutex.
class blocked_caller {
 public:
  std::condition_variable wake{};
  std::size_t open = 0;  ///< statements without an answer
  bool leads = false;    ///< it executes a batch now
};

}  // namespace dlock::engine
