// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/hold_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace dlock::test {

std::string hold_record::line() const {
  return fmt::format("{} {} {} {} {} {} .\n", static_cast<char>(what), key, fence, at, process, attempt);
}

hold_record hold_record::parse(std::string_view line) {
  std::istringstream in{std::string(line)};
  hold_record record;
  char kind = 0;
  std::string end;
  in >> kind >> record.key >> record.fence >> record.at >> record.process >> record.attempt >> end;
  if (!in || end != "." || std::string_view("ANXH").find(kind) == std::string_view::npos) {
    throw std::invalid_argument(fmt::format("hold log: '{}' is no record", line));
  }
  record.what = static_cast<hold_record::kind>(kind);
  return record;
}

namespace {

struct period {
  std::uint64_t fence = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t process = 0;
  std::uint64_t attempt = 0;

  std::string text() const { return fmt::format("fence {} of process {} from {} to {}", fence, process, begin, end); }
};

struct key_history {
  std::map<std::uint64_t, period> by_fence{};
  std::map<std::tuple<std::int64_t, std::uint64_t>, bool> answered{};  // by process and attempt
};

void add(key_history& to, const hold_record& record, std::vector<std::string>& violations) {
  auto& answered = to.answered[{record.process, record.attempt}];
  if (record.what == hold_record::kind::refused || record.what == hold_record::kind::held) answered = true;
  if (record.what != hold_record::kind::held) return;
  const auto [at, fresh] =
      to.by_fence.try_emplace(record.fence, period{record.fence, record.at, record.at, record.process, record.attempt});
  auto& mine = at->second;
  if (!fresh && (mine.process != record.process || mine.attempt != record.attempt)) {
    violations.push_back(
        fmt::format("key {}: {} was granted to process {} too", record.key, mine.text(), record.process));
  }
  mine.begin = std::min(mine.begin, record.at);
  mine.end = std::max(mine.end, record.at);
}

void check_order(const std::string& key, const key_history& history, std::vector<std::string>& violations) {
  const period* before = nullptr;  // the one of the next smaller fence
  for (const auto& [fence, mine] : history.by_fence) {
    if (before != nullptr && mine.begin <= before->end) {
      violations.push_back(fmt::format("key {}: {} begins before the end of {}", key, mine.text(), before->text()));
    }
    before = &mine;
  }
}

}  // namespace

hold_check check_holds(const std::vector<hold_record>& log, std::uint64_t first,
                       const std::map<std::string, std::uint64_t>& last, std::uint64_t pauses) {
  hold_check found;
  std::map<std::string, key_history> keys;
  for (const auto& record : log) add(keys[record.key], record, found.violations);
  for (const auto& [key, history] : keys) {
    check_order(key, history, found.violations);
    const auto end = last.contains(key) ? last.at(key) : 0;
    const auto newest = history.by_fence.empty() ? first : history.by_fence.rbegin()->first;
    if (end < newest)
      found.violations.push_back(fmt::format("key {}: fence went back from {} to {}", key, newest, end));
    found.grants += history.by_fence.size();
    found.lost += std::max(end, newest) - first - history.by_fence.size();
    found.open += static_cast<std::uint64_t>(
        std::count_if(history.answered.begin(), history.answered.end(), [](const auto& each) { return !each.second; }));
  }
  if (found.lost > found.open + pauses) {
    found.violations.push_back(fmt::format("{} fences are missing, but only {} acquires were cut off and {} paused",
                                           found.lost, found.open, pauses));
  }
  return found;
}

}  // namespace dlock::test
