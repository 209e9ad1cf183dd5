// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What several processes held and when, in one file that all of them append to, and the check that no two of them
/// ever held one key at one time.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

  std::string line() const;
  /// Throws std::invalid_argument for anything else than a whole line.
  static hold_record parse(std::string_view line);
};

/// Appends records. A record is one write, so what a killed process had logged is there, whole.
class hold_log {
 public:
  /// Throws std::system_error.
  explicit hold_log(const std::string& path);
  ~hold_log();
  hold_log(const hold_log&) = delete;
  hold_log& operator=(const hold_log&) = delete;

  void append(const hold_record& one) const;
  static std::vector<hold_record> read(const std::string& path);
  /// The process of the last record of something held; 0: there is none near the end.
  static std::int64_t last_holder(const std::string& path);

 private:
  int file_;
};

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
