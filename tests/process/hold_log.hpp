// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What several processes held and when, in one file that all of them append to, and the check that none of them held
/// a key together with one that excludes it.

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
    asked = 'A',    ///< an acquire begins; without an answer (N or H) its process died in it
    refused = 'N',  ///< it ended with nothing, and certainly nothing is left behind
    unknown = 'X',  ///< it ended with an error that leaves its outcome open
    held = 'H',     ///< the lease was trusted at this time; the first one of an attempt is also the answer
    lost = 'L',     ///< it was granted, and its holder was told that it is lost
    // Of a resource that refuses what comes with a smaller fence than it has seen:
    behind = 'S',  ///< it refused a write under a trusted lease
    late = 'G',    ///< it refused a write of a holder that had lost its lease
  };
  kind what{};
  std::string key{};
  std::uint32_t units = 0;    ///< lock_mode; 0: exclusive
  std::uint32_t permits = 0;  ///< likewise
  std::uint64_t fence = 0;    ///< of held; 0: its store has none
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

/// A part of time, CLOCK_BOOTTIME in microseconds.
struct time_span {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// What a store promises of the holders of a log, and what was done to them.
struct hold_terms {
  bool fenced = true;  ///< each grant has a fence that is greater than those of the grants of its key before it
  bool counts = true;  ///< these are 1, 2, 3 ..., but for acquires whose answer was lost
  /// When two may trust their leases, since the store promises no more: what a fault of that time ended, its holder
  /// learns only by the end of the span.
  std::vector<time_span> doubts{};
  std::uint64_t first = 0;                      ///< the fence before the first grant of every key
  std::map<std::string, std::uint64_t> last{};  ///< that of the last grant of each key
  std::uint64_t pauses =
      0;  ///< so many grants may have had no holder: their answers came too late, or were lost and asked for again
};

struct hold_check {
  std::vector<std::string> violations{};
  std::size_t grants = 0;    ///< seen by their holder
  std::size_t members = 0;   ///< those of them that were not exclusive
  std::size_t shared = 0;    ///< those of the members that began beside another one
  std::size_t certain = 0;   ///< the grants that began outside of all times of doubt
  std::size_t notified = 0;  ///< leases whose holder was told that they are lost
  std::size_t late = 0;      ///< writes after the loss that the guarded resource refused
  std::size_t doubles = 0;   ///< periods of trust that began before the end of another one, in a time of doubt
  std::uint64_t lost = 0;    ///< fences that nobody logged; counted where they count
  std::uint64_t open = 0;    ///< acquires whose outcome their process never learned
};

/// Of one key no exclusive period of trust overlaps another one, but in a time of doubt, and holders of permits have no
/// more units than the one may see that was the last to come. Fences grow in the order in which exclusive periods
/// begin, and who asked after the beginning of a period always has a greater one than that; a fence belongs to one
/// exclusive attempt; a member has one that is not below those of exclusive periods before it, and below those after
/// it. Fences are left out only by acquires whose answer was lost, or, `pauses` times, that answered too late. The
/// guarded resource refuses no write under a trusted lease.
hold_check check_holds(const std::vector<hold_record>& log, const hold_terms& terms);

/// A process that held a key was killed.
struct holder_death {
  std::string key{};
  std::int64_t at = 0;       ///< read before it was killed
  std::int64_t process = 0;  ///< its pid
};
/// What is wrong, where a store frees a key at once when its holder dies: keys that nobody else had `limit`
/// microseconds after that. Who had the key next is who began after the dead one's last period began: that may be
/// before its death was seen, and, in a time of doubt, before it died.
std::vector<std::string> check_freed(const std::vector<hold_record>& log, const std::vector<holder_death>& deaths,
                                     std::int64_t limit);

}  // namespace dlock::test
