// SPDX-License-Identifier: BSL-1.0
#include "process/torture/wait_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "process/hold_attempts.hpp"

namespace dlock::test {

namespace {

/// Waits that are shorter are not looked at.
constexpr std::int64_t short_wait = 500'000;

using spans = std::vector<time_span>;

void sort(spans& all) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
}

/// How much of `of` none of these covers. They are sorted.
std::int64_t length_without(const time_span& of, const spans& excuses) {
  auto length = of.to - of.from;
  auto from = of.from;
  for (const auto& each : excuses) {
    const auto begin = std::max(each.from, from), end = std::min(each.to, of.to);
    if (end <= begin) continue;
    length -= end - begin;
    from = end;
  }
  return length;
}

struct gap {
  time_span when{};
  std::int64_t length = 0;
};

/// The longest part of `whole` in which none of `ends` is, without the excuses.
gap longest_gap(const time_span& whole, spans ends, const spans& excuses) {
  sort(ends);
  gap longest{.when = {whole.from, whole.from}};
  auto from = whole.from;
  const auto look = [&](std::int64_t to) {
    if (to <= from) return;
    const auto length = length_without({from, to}, excuses);
    if (length > longest.length) longest = {{from, to}, length};
  };
  for (const auto& each : ends) {
    if (each.from >= whole.to) break;
    if (each.to <= from) continue;
    look(each.from);
    from = each.to;
  }
  look(whole.to);
  return longest;
}

bool meet(const time_span& a, const time_span& b) { return a.from <= b.to && b.from <= a.to; }

class key_waits {
 public:
  key_waits(std::string key, const hold_attempts& all, const wait_terms& terms, wait_check& found)
      : key_(std::move(key)), terms_(terms), found_(found), held_(held_of(all)) {
    for (const auto& [name, each] : all) all_.push_back(each);
  }

  void check() {
    for (const auto& each : all_) {
      const time_span wait{each.asked, ended(each)};
      if (each.asked == 0 || wait.to - wait.from < short_wait) continue;
      const auto excused = excuses(each, wait);
      idle(each, wait, excused);
      if (each.exclusive() && terms_.alone != 0) alone(each, wait, excused);
    }
    exclusive();
  }

 private:
  std::int64_t ended(const hold_attempt& each) const {
    if (each.ended != hold_attempt::never) return each.ended;
    const auto death = terms_.deaths.find(each.process);
    return death == terms_.deaths.end() ? terms_.end : death->second;
  }
  /// When the one that waits, or its server, did not run.
  spans excuses(const hold_attempt& of, const time_span& wait) const {
    spans found;
    for (const auto& each : terms_.stops) {
      if (each.process == of.process && meet(each.when, wait)) found.push_back(each.when);
    }
    for (const auto& each : troubles(wait)) found.push_back(each);
    sort(found);
    return found;
  }
  spans troubles(const time_span& within) const {
    spans found;
    for (const auto& each : terms_.troubles) {
      if (meet(each, within)) found.push_back(each);
    }
    sort(found);
    return found;
  }
  /// The parts of its wait in which its process runs.
  spans without_stops(const hold_attempt& of) const {
    spans stops;
    for (const auto& each : terms_.stops) {
      if (each.process == of.process) stops.push_back(each.when);
    }
    sort(stops);
    spans parts;
    time_span rest{of.asked, ended(of)};
    for (const auto& each : stops) {
      if (each.to <= rest.from || each.from >= rest.to) continue;
      if (each.from > rest.from) parts.push_back({rest.from, each.from});
      rest.from = each.to;
    }
    if (rest.to > rest.from) parts.push_back(rest);
    return parts;
  }
  std::vector<const hold_attempt*> held_within(const time_span& span) const {
    std::vector<const hold_attempt*> found;
    for (const auto& each : held_) {
      if (meet({each.begin, each.end}, span)) found.push_back(&each);
    }
    return found;
  }
  void idle(const hold_attempt& of, const time_span& wait, const spans& excused) {
    const auto held = held_within(wait);
    spans ends;
    for (const auto* each : held) {
      if (of.exclusive() || each->exclusive()) ends.push_back({each->begin, each->end});
    }
    if (!of.exclusive()) {
      for (const auto& each : all_) {  // who waits for the exclusive lock closes the key
        if (each.exclusive() && meet({each.asked, ended(each)}, wait)) ends.push_back({each.asked, ended(each)});
      }
      if (!of.reader()) add_full(of, held, ends);
    }
    const auto limit = of.exclusive() ? terms_.idle : terms_.idle_members;
    judge(of, wait, longest_gap(wait, std::move(ends), excused), limit, found_.idle,
          "and no trusted lease kept it off");
  }
  /// When too many units were taken for this one.
  static void add_full(const hold_attempt& of, const std::vector<const hold_attempt*>& held, spans& ends) {
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;
    for (const auto* each : held) {
      changes.emplace_back(each->begin, each->units);
      changes.emplace_back(each->end, -std::int64_t{each->units});
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t taken = 0, since = 0;
    const std::int64_t room = std::int64_t{of.permits} - of.units;
    for (const auto& [at, units] : changes) {
      const bool full = taken > room;
      taken += units;
      if (!full && taken > room) since = at;
      if (full && taken <= room) ends.push_back({since, at});
    }
  }
  /// While one or the other waits for the exclusive lock all the time, one of them must get it.
  void exclusive() {
    std::vector<std::pair<time_span, const hold_attempt*>> parts;
    for (const auto& each : all_) {
      if (!each.exclusive() || each.asked == 0) continue;
      for (const auto& part : without_stops(each)) parts.emplace_back(part, &each);
    }
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first.from < b.first.from; });
    for (auto at = parts.begin(); at != parts.end();) {
      const auto& [first, of] = *at;
      auto wait = first;
      for (; at != parts.end() && at->first.from <= wait.to; ++at) wait.to = std::max(wait.to, at->first.to);
      exclusive(*of, wait);
    }
  }
  void exclusive(const hold_attempt& first, const time_span& wait) {
    if (wait.to - wait.from < short_wait) return;
    spans ends;
    for (const auto* each : held_within(wait)) {
      if (each->exclusive()) ends.push_back({each->begin, each->end});
    }
    judge(first, wait, longest_gap(wait, std::move(ends), troubles(wait)), terms_.exclusive, found_.exclusive,
          "or another one for it, and nobody had it exclusively");
  }
  void alone(const hold_attempt& of, const time_span& wait, const spans& excused) {
    gap longest;
    const hold_attempt* first = nullptr;
    for (const auto* each : held_within(wait)) {
      if (first == nullptr || first->process != each->process) first = each;
      const time_span when{std::max(first->begin, wait.from), std::min(each->end, wait.to)};
      const auto length = length_without(when, excused);
      if (length > longest.length) longest = {when, length};
    }
    judge(of, wait, longest, terms_.alone, found_.alone, "and one process had it alone");
  }
  void judge(const hold_attempt& of, const time_span& wait, const gap& found, std::int64_t limit, std::int64_t& longest,
             const char* why) {
    longest = std::max(longest, found.length);
    if (found.length <= limit) return;
    const auto as = of.exclusive() ? ""
                    : of.reader()  ? " as a reader"
                                   : fmt::format(" for {} of {}", of.units, of.permits);
    found_.violations.push_back(fmt::format("key {}: process {} waited{} from {} to {}, {}, for {} us from {} to {}",
                                            key_, of.process, as, wait.from, wait.to, why, found.length,
                                            found.when.from, found.when.to));
  }

  const std::string key_;
  const wait_terms& terms_;
  wait_check& found_;
  const std::vector<hold_attempt> held_;  // in the order in which they began
  std::vector<hold_attempt> all_{};
};

}  // namespace

wait_check check_waits(const std::vector<hold_record>& log, const wait_terms& terms) {
  wait_check found;
  for (const auto& [key, all] : attempts_of(log)) key_waits(key, all, terms, found).check();
  return found;
}

}  // namespace dlock::test
