// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Writes what a lock_service does into a file, one JSON object in each line. `dlock timeline FILE` draws it.
///
///   dlock::lock_service locks{url, {.observer = dlock::make_event_log("locks.jsonl")}};
///
///   {"time_us":1732428695123456,"host":"web1","pid":4312,"service":"billing","event":"granted","key":"order:42",
///    "fence":7,"waited_us":1830,"attempts":3,"taken_over":false}
///
/// | field                             | in                                    | what                                     |
/// |-----------------------------------|---------------------------------------|------------------------------------------|
/// | time_us                           | all                                   | microseconds since 1970, by the host     |
/// | host, pid, service                | all; service if one was given         | who writes                               |
/// | event                             | all                                   | to_string(event::kind)                   |
/// | key                               | events of a key                       | as printable() writes it                 |
/// | fence                             | events of a grant                     | its fencing token, if there is one       |
/// | waited_us                         | granted, busy                         | from the call to its answer              |
/// | held_us                           | released, lost                        | from the grant to its end                |
/// | attempts                          | granted                               | statements that were sent                |
/// | rows                              | cleanup                               | how many were deleted                    |
/// | taken_over                        | granted                               | from a holder that died                  |
/// | reason                            | lost, session_lost                    | to_string(loss_reason)                   |
/// | text                              | where the event has one               | for people                               |
///
/// Several processes may write to one file of a local file system: each line is one write() to the file's end.
///
/// A file that was renamed or removed, as logrotate does, is made anew within a second of the next event.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/observer.hpp"

namespace DLOCK_EXPORT dlock {

struct event_log_options {
  /// The field `service`, to tell several services of a process apart. Default: no such field.
  std::string service{};
  /// As that of spdlog_observer_options: no key stands in the file as it is. Default false.
  bool hash_keys = false;
  /// Only for tests: another clock. Default: the system's.
  std::function<std::chrono::system_clock::time_point()> now{};
};

/// Adds to the file, or makes it (mode 0640). A line that can't be written (a full disk) counts as
/// event::kind::observer_failed; so does a file that can't be made anew, and then the line is in the old one.
/// Errors: std::system_error naming the path, it can't be opened.
/// Thread safety: any thread.
/// Cost: one write() for each event, and one stat() in a second.
DLOCK_EXPORT std::shared_ptr<observer> make_event_log(const std::string& path, event_log_options options = {});

}  // namespace dlock
