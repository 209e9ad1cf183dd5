// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <stdexcept>
#include <string>

namespace dlock::command {

/// The exit codes of the command. From 64 on they are those of sysexits.h, if it has one.
enum class exit_code : int {
  done = 0,
  no = 1,
  usage = 64,
  data = 65,
  unavailable = 69,
  internal = 70,
  busy = 75,
  config = 78,
  lost = 79,
  left = 80,
  not_executable = 126,
  not_found = 127,
  by_signal = 128,
};

struct exit_meaning {
  exit_code code;
  const char* number;
  const char* text;
};

/// For the manual page and docs/command.md.
inline constexpr std::array exit_meanings{
    exit_meaning{exit_code::done, "0",
                 "Done. For run: the command's exit code, or the key was busy and --on-busy is skip."},
    exit_meaning{
        exit_code::no, "1",
        "The answer is no: the key is free (show, force), no process waits for it (waiters), it did not change in "
        "time (watch), or doctor found a problem."},
    exit_meaning{exit_code::usage, "64", "Wrong arguments, a key that can't be one, or a wrong URL."},
    exit_meaning{exit_code::data, "65", "A file is not an event log (timeline)."},
    exit_meaning{exit_code::unavailable, "69",
                 "The store can't be reached, it refused or failed, or it can't answer the question."},
    exit_meaning{exit_code::internal, "70", "An error of dlock itself, or of the system: no processes, no memory."},
    exit_meaning{exit_code::busy, "75", "Another owner held the key for the whole wait."},
    exit_meaning{exit_code::config, "78", "The configuration file can't be read."},
    exit_meaning{exit_code::lost, "79",
                 "The lock was lost while the command ran. dlock ended the command, unless it had exited."},
    exit_meaning{exit_code::left, "80",
                 "dlock could not end processes that the command started. They run on without the lock; the standard "
                 "error names them."},
    exit_meaning{exit_code::not_executable, "126", "The command can't be executed."},
    exit_meaning{exit_code::not_found, "127", "There is no such command."},
    exit_meaning{exit_code::by_signal, "128+N", "Signal N ended the command, or dlock while it waited."},
};

/// Ends the command with that code and text.
class failure : public std::runtime_error {
 public:
  failure(exit_code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

}  // namespace dlock::command
