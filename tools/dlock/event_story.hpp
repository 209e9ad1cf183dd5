// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace dlock::command {

/// The history of locks in event logs: who held which key when, who waited for it, and what went wrong. Times are
/// microseconds since 1970. dlock/event_log.hpp has the format.
class event_story {
 public:
  enum class end_of_hold { released, lost, taken_over, open };

  struct hold {
    std::string key{};
    std::size_t holder = 0;  ///< in holders()
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t fence = 0;
    end_of_hold how = end_of_hold::open;
    bool took_over = false;  ///< from a holder that had died
    std::string reason{};    ///< why it was lost
  };
  struct waiting {
    std::string key{};
    std::size_t holder = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool granted = false;
  };
  /// Anything else that has a key, or that a process reports of itself (key empty).
  struct mark {
    std::string key{};
    std::size_t holder = 0;
    std::int64_t at = 0;
    std::string event{};
    std::string text{};
  };

  /// Times in a log are not negative, and before the year 10000.
  static constexpr std::int64_t latest = 253'402'300'800'000'000;

  /// Reads a log. An incomplete last line is left out, because its writer died. Throws failure(exit_code::data), which
  /// names `name` and the line.
  void read(std::istream& from, const std::string& name);
  /// Must be called after the last read().
  void finish();

  const std::vector<std::string>& holders() const noexcept { return holders_; }
  const std::vector<hold>& holds() const noexcept { return holds_; }
  const std::vector<waiting>& waits() const noexcept { return waits_; }
  const std::vector<mark>& marks() const noexcept { return marks_; }
  /// The first and last time of everything that was read; equal if there is nothing.
  std::int64_t begin() const noexcept { return begin_; }
  std::int64_t end() const noexcept { return end_; }

 private:
  struct entry {
    std::int64_t at = 0;
    std::size_t holder = 0;
    std::string event{};
    std::string key{};
    std::uint64_t fence = 0;
    std::int64_t waited = 0;
    std::int64_t held = 0;
    bool taken_over = false;
    std::string reason{};
    std::string text{};
  };

  std::size_t holder_called(const std::string& name);
  void tell(const entry& of);
  void end_hold(const entry& of, end_of_hold how);
  void note_time(std::int64_t at);

  std::vector<entry> entries_{};
  std::vector<std::string> holders_{};
  std::map<std::string, std::size_t, std::less<>> by_name_{};
  std::vector<hold> holds_{};
  std::vector<waiting> waits_{};
  std::vector<mark> marks_{};
  /// Holds without an end yet, by key and holder: their indices in holds_.
  std::map<std::pair<std::string, std::size_t>, std::vector<std::size_t>> open_{};
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace dlock::command
