// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What several processes held and when, in one file that all of them append to, and the check that no two of them
/// ever held one key at one time.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "process/record_log.hpp"

namespace dlock::test {

/// One line of the log. Times are CLOCK_BOOTTIME in microseconds, which all processes of a host share.
struct hold_record {
  enum class kind : char {
    asked = 'A',    ///< an acquire begins; without an answer (N or B) its process died in it
    refused = 'N',  ///< it ended with nothing, and certainly nothing is left behind
    unknown = 'X',  ///< it ended with an error that leaves its outcome open
    held = 'H',     ///< the lease was trusted at this time; the first one of a fence is also the answer
  };
  kind what{};
  std::string key{};
  std::uint64_t fence = 0;    ///< of held
  std::int64_t at = 0;        ///< of held: read before the lease was asked whether it can be trusted
  std::int64_t process = 0;   ///< its pid
  std::uint64_t attempt = 0;  ///< counts a process's acquires

  /// The process that holds after this record, if `before` held before it. 0: none.
  std::int64_t holder_after(std::int64_t before) const { return what == kind::held ? process : before; }
  std::string line() const;
  /// Throws std::invalid_argument for anything else than a whole line.
  static hold_record parse(std::string_view line);
};

using hold_log = record_log<hold_record>;

struct hold_check {
  std::vector<std::string> violations{};
  std::size_t grants = 0;  ///< seen by their holder
  std::uint64_t lost = 0;  ///< fences that nobody logged
  std::uint64_t open = 0;  ///< acquires whose outcome their process never learned
};

/// Of one key no two periods of trust overlap; fences grow in the order in which the periods begin; a fence belongs to
/// one attempt; and fences are left out only by acquires whose answer was lost, or, `pauses` times, that answered too
/// late. `first` is the fence before the first grant of every key, `last` that of its last grant.
hold_check check_holds(const std::vector<hold_record>& log, std::uint64_t first,
                       const std::map<std::string, std::uint64_t>& last, std::uint64_t pauses);

}  // namespace dlock::test
