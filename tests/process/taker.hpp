// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A lock_taker process under a test's control. Everything waits for what the process says or does, with a limit
/// that is only there to end a failing test.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace dlock::test {

class taker {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds timeout{20'000};
  /// Of one whose lease is to run out, in us, and its arguments for that. Others have a long one, which no stall ends.
  static constexpr std::int64_t ttl = 5'000'000;
  static std::vector<std::string> expiring() { return {"--ttl", "5000"}; }
  static constexpr std::int64_t longest_pause = 250'000;  ///< between two polls

  /// Starts it; returns when it is ready. Throws std::runtime_error if it does not get that far.
  explicit taker(const std::string& url, std::vector<std::string> more = {});
  /// Kills it.
  ~taker();
  taker(taker&& other) noexcept;
  taker& operator=(taker&& other) noexcept;

  void say(const std::string& command) const;
  /// The words of the next line that begins with one of `first`, those that come before it are kept. Throws
  /// std::runtime_error, with all that it said, if none comes or the process ends before.
  std::vector<std::string> expect_one_of(const std::vector<std::string>& first, milliseconds limit = timeout);
  std::vector<std::string> expect(const std::string& first, milliseconds limit = timeout) {
    return expect_one_of({first}, limit);
  }
  /// say(), then expect().
  std::vector<std::string> ask(const std::string& command, const std::string& first) {
    say(command);
    return expect(first);
  }
  /// Whether it has said such a line that nobody has read.
  bool said(const std::string& first);

  struct grant {
    std::uint64_t fence = 0;
    std::string session{};
    std::int64_t at = 0;
  };
  /// take, held ...
  grant take(milliseconds wait = milliseconds{0});
  grant expect_held();

  /// SIGSTOP; returns when it stands still.
  void stop();
  void go_on();
  /// SIGKILL; returns when it is gone.
  void kill();
  /// Waits for its end; the exit code, or minus the signal. Kills it and throws std::runtime_error at the limit.
  int end(milliseconds limit = timeout);
  pid_t pid() const noexcept { return pid_; }

 private:
  bool read_more(std::chrono::steady_clock::time_point until);
  [[noreturn]] void fail(const std::string& why) const;
  void close_pipes() noexcept;

  pid_t pid_ = -1;  // -1: gone
  int to_ = -1;
  int from_ = -1;
  std::string rest_{};               // of a line
  std::deque<std::string> lines_{};  // not yet expected
  std::vector<std::string> history_{};
};

/// Allowed to a machine that has much else to do, in us.
inline constexpr std::int64_t sluggish = 10'000'000;

/// CLOCK_BOOTTIME in microseconds, as the takers tell it.
std::int64_t boot_time();

}  // namespace dlock::test
