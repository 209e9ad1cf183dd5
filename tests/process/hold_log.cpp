// SPDX-License-Identifier: BSL-1.0
#include "process/hold_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
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
  if (!in || end != "." || std::string_view("ANXHL").find(kind) == std::string_view::npos) {
    throw std::invalid_argument(fmt::format("hold log: '{}' is no record", line));
  }
  record.what = static_cast<hold_record::kind>(kind);
  return record;
}

namespace {

/// An acquire, and how long the lease was trusted that it got.
struct attempt {
  bool answered = false;
  bool held = false;
  std::uint64_t fence = 0;
  std::int64_t asked = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t process = 0;

  std::string text() const { return fmt::format("fence {} of process {} from {} to {}", fence, process, begin, end); }
};

using attempts = std::map<std::tuple<std::int64_t, std::uint64_t>, attempt>;  // by process and number

void add(attempts& to, const hold_record& record) {
  using kind = hold_record::kind;
  auto& mine = to[{record.process, record.attempt}];
  mine.process = record.process;
  if (record.what == kind::asked) mine.asked = record.at;
  if (record.what == kind::refused || record.what == kind::held) mine.answered = true;
  if (record.what != kind::held) return;
  mine.begin = mine.held ? std::min(mine.begin, record.at) : record.at;
  mine.end = std::max(mine.end, record.at);
  mine.fence = record.fence;
  mine.held = true;
}

/// In the order in which they began.
std::vector<attempt> held_of(const attempts& all) {
  std::vector<attempt> held;
  for (const auto& [name, each] : all) {
    if (each.held) held.push_back(each);
  }
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return held;
}

bool in_doubt(const hold_terms& terms, std::int64_t from, std::int64_t to) {
  return std::any_of(terms.doubts.begin(), terms.doubts.end(),
                     [&](const time_span& each) { return each.from <= from && to <= each.to; });
}

void check_overlaps(const std::string& key, const std::vector<attempt>& held, const hold_terms& terms,
                    hold_check& found) {
  const attempt* longest = nullptr;
  for (const auto& mine : held) {
    if (longest != nullptr && mine.begin <= longest->end) {
      if (in_doubt(terms, mine.begin, std::min(mine.end, longest->end))) {
        ++found.doubles;
      } else {
        found.violations.push_back(
            fmt::format("key {}: {} begins before the end of {}", key, mine.text(), longest->text()));
      }
    }
    if (longest == nullptr || mine.end > longest->end) longest = &mine;
  }
}

/// Each fence belongs to one attempt and is greater than those of before.
void check_fences(const std::string& key, const std::vector<attempt>& held, const hold_terms& terms,
                  hold_check& found) {
  std::map<std::uint64_t, const attempt*> by_fence;
  std::vector<const attempt*> greatest;  // of those up to each place in the order of their beginnings
  for (const auto& mine : held) {
    const auto [twin, fresh] = by_fence.try_emplace(mine.fence, &mine);
    if (!fresh) {
      found.violations.push_back(
          fmt::format("key {}: {} was granted to process {} too", key, twin->second->text(), mine.process));
    }
    const auto asked_after =
        std::partition_point(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(greatest.size()),
                             [&](const attempt& each) { return each.begin < mine.asked; });
    const auto* const before = greatest.empty() ? nullptr : greatest.back();
    const auto* const known =
        asked_after == held.begin() ? nullptr : greatest[static_cast<std::size_t>(asked_after - held.begin() - 1)];
    if (known != nullptr && mine.fence < known->fence) {
      found.violations.push_back(fmt::format("key {}: {} was asked for at {}, after the beginning of {}", key,
                                             mine.text(), mine.asked, known->text()));
    } else if (before != nullptr && mine.fence < before->fence && !in_doubt(terms, before->begin, mine.begin)) {
      found.violations.push_back(
          fmt::format("key {}: {} begins after the beginning of {}", key, mine.text(), before->text()));
    }
    greatest.push_back(before != nullptr && before->fence > mine.fence ? before : &mine);
  }
}

void check_last(const std::string& key, const std::vector<attempt>& held, const hold_terms& terms, hold_check& found) {
  std::set<std::uint64_t> fences;
  for (const auto& each : held) fences.insert(each.fence);
  const auto newest = fences.empty() ? terms.first : *fences.rbegin();
  const auto last = terms.last.contains(key) ? terms.last.at(key) : 0;
  if (last < newest) {
    found.violations.push_back(fmt::format("key {}: fence went back from {} to {}", key, newest, last));
  }
  if (terms.counts) found.lost += std::max(last, newest) - terms.first - fences.size();
}

}  // namespace

hold_check check_holds(const std::vector<hold_record>& log, const hold_terms& terms) {
  hold_check found;
  std::map<std::string, attempts> keys;
  for (const auto& record : log) {
    add(keys[record.key], record);
    if (record.what == hold_record::kind::lost) ++found.notified;
  }
  for (const auto& [key, all] : keys) {
    const auto held = held_of(all);
    check_overlaps(key, held, terms, found);
    if (terms.fenced) {
      check_fences(key, held, terms, found);
      check_last(key, held, terms, found);
    }
    found.grants += held.size();
    found.certain += static_cast<std::size_t>(std::count_if(
        held.begin(), held.end(), [&](const attempt& each) { return !in_doubt(terms, each.begin, each.begin); }));
    found.open += static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(), [](const auto& each) { return !each.second.answered; }));
  }
  if (found.lost > found.open + terms.pauses) {
    found.violations.push_back(fmt::format("{} fences are missing, but only {} acquires were cut off and {} paused",
                                           found.lost, found.open, terms.pauses));
  }
  return found;
}

std::vector<std::string> check_freed(const std::vector<hold_record>& log, const std::vector<holder_death>& deaths,
                                     std::int64_t limit) {
  std::map<std::string, attempts> keys;
  for (const auto& record : log) add(keys[record.key], record);
  std::vector<std::string> violations;
  for (const auto& death : deaths) {
    const auto held = held_of(keys[death.key]);
    const auto own =
        std::find_if(held.rbegin(), held.rend(), [&](const attempt& each) { return each.process == death.process; });
    const auto from = own == held.rend() ? death.at : own->begin;
    const auto next = std::find_if(held.begin(), held.end(), [&](const attempt& each) {
      return each.begin > from && each.process != death.process;
    });
    if (next != held.end() && next->begin <= death.at + limit) continue;
    violations.push_back(fmt::format("key {}: its holder died at {}, and {}", death.key, death.at,
                                     next == held.end() ? "nobody had it after that" : "the next was " + next->text()));
  }
  return violations;
}

}  // namespace dlock::test
