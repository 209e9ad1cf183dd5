// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Whether processes that waited for a key got it in time, by the log of who asked and who held.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "process/hold_log.hpp"

namespace dlock::test {

/// A process stood still.
struct process_stop {
  std::int64_t process = 0;
  time_span when{};
};

/// Times are microseconds. What a store promises, and what was done.
struct wait_terms {
  /// For so long, nobody may wait for a key that no trusted lease keeps from it. That of members is longer by the time
  /// for which a caller that died while it waited for the exclusive lock keeps them out.
  std::int64_t idle = 0;
  std::int64_t idle_members = 0;
  /// Within which one of those gets the key who wait for it exclusively, whatever members come.
  std::int64_t exclusive = 0;
  /// For so long, one process may have a key alone for which another one waits exclusively. 0: for ever.
  std::int64_t alone = 0;
  // Times that do not count: of a process that stands still, and of all while the server is away.
  std::vector<process_stop> stops{};
  std::map<std::int64_t, std::int64_t> deaths{};  ///< of processes
  std::vector<time_span> troubles{};
  std::int64_t end = 0;  ///< of the run
};

struct wait_check {
  std::vector<std::string> violations{};
  // The longest of each, also within the terms.
  std::int64_t idle = 0;
  std::int64_t exclusive = 0;
  std::int64_t alone = 0;
};

wait_check check_waits(const std::vector<hold_record>& log, const wait_terms& terms);

}  // namespace dlock::test
