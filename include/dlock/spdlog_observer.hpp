// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Logs what a lock_service does. In the library dlock::spdlog, so that dlock::core needs no spdlog:
///
///   dlock::lock_service locks{url, {.observer = dlock::make_spdlog_observer(spdlog::default_logger())}};
///
/// One line per event, in key=value pairs whose names never change with the data:
///
///   granted key=order:42 fence=7 waited_us=1830 attempts=3 taken_over=false
///   lost key=order:42 fence=7 held_us=31022113 reason="renewal refused"
///
/// Levels: debug for what happens all the time (granted, reentered, busy, released, cleanup), info for
/// session_opened, warn for what dlock still deals with (release_failed, outcome_unknown, acquire_failed,
/// renewal_late) and what it can only tell (deadlock, in_transaction, blocked, unchecked, still_held, waiters_poll),
/// error for what it can't repair (lost, split_brain, session_lost). An event below the logger's level costs nothing.

#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/observer.hpp"

namespace spdlog {
class logger;
}

namespace DLOCK_EXPORT dlock {

class time_source;

struct spdlog_observer_options {
  /// Write "sha256:" and 16 hex digits instead of keys, for keys with personal data: equal keys can still be
  /// told to be equal. In texts each key goes, and whatever else stands in quotes, such as a value in a database's
  /// error. No secret is involved: a reader who can guess the key can check the guess. Default false.
  bool hash_keys = false;
  /// Most lines per second for each kind of event. What was left out is said: in a line "suppressed" by the
  /// next event after that second, at the latest when the observer is destroyed. Default 20; 0: no limit.
  unsigned per_second = 20;
  /// Each line says service=... with this name, so that lines of several services in one log can be distinguished.
  /// Default: none.
  std::string service{};
  /// Only for tests: another clock. Default: system_time().
  time_source* time = nullptr;
};

/// Keys and texts are written as printable text, in quotes where they hold blanks, quotes or '=': no key can forge a
/// line or a pair.
/// Errors: std::invalid_argument, the logger is null.
/// Thread safety: any thread, if the logger is (spdlog's *_mt sinks).
DLOCK_EXPORT std::shared_ptr<observer> make_spdlog_observer(std::shared_ptr<spdlog::logger> to,
                                                            spdlog_observer_options options = {});

}  // namespace dlock
