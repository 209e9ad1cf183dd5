// SPDX-License-Identifier: BSL-1.0
#include "process/hold_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "process/hold_attempts.hpp"

namespace dlock::test {

std::string hold_record::line() const {
  return fmt::format("{} {} {} {} {} {} {} {} .\n", static_cast<char>(what), key, units, permits, fence, at, process,
                     attempt);
}

hold_record hold_record::parse(std::string_view line) {
  std::istringstream in{std::string(line)};
  hold_record record;
  char kind = 0;
  std::string end;
  in >> kind >> record.key >> record.units >> record.permits >> record.fence >> record.at >> record.process >>
      record.attempt >> end;
  if (!in || end != "." || std::string_view("ANXHLSG").find(kind) == std::string_view::npos) {
    throw std::invalid_argument(fmt::format("hold log: '{}' is no record", line));
  }
  record.what = static_cast<hold_record::kind>(kind);
  return record;
}

namespace {

using attempt = hold_attempt;

bool in_doubt(const hold_terms& terms, std::int64_t from, std::int64_t to) {
  return std::any_of(terms.doubts.begin(), terms.doubts.end(),
                     [&](const time_span& each) { return each.from <= from && to <= each.to; });
}

/// How many units these hold at least: the readers of a process may share one member.
std::uint64_t units_of(const std::vector<const attempt*>& all, std::int64_t from) {
  std::uint64_t units = 0;
  std::set<std::int64_t> reading;
  for (const auto* each : all) {
    if (each->begin > from) continue;
    if (each->reader()) {
      reading.insert(each->process);
    } else {
      units += each->units;
    }
  }
  return units + reading.size();
}

/// `mine` is granted while these are trusted.
void check_permits(const std::string& key, const attempt& mine, const std::vector<const attempt*>& beside,
                   const hold_terms& terms, hold_check& found) {
  if (mine.exclusive() || mine.reader() || in_doubt(terms, mine.begin, mine.begin)) return;
  // Those that were there all the time while it asked.
  const auto before = units_of(beside, mine.asked);
  if (before + mine.units > mine.permits) {
    found.violations.push_back(
        fmt::format("key {}: {} asked at {} beside {} units", key, mine.text(), mine.asked, before));
  }
  // One of those that are there is the last that came, and was allowed so many.
  std::uint64_t units = mine.units, most = mine.permits;
  for (const auto* each : beside) {
    if (each->reader()) continue;
    units += each->units;
    most = std::max<std::uint64_t>(most, each->permits);
  }
  if (units > most) found.violations.push_back(fmt::format("key {}: {} units with {}", key, units, mine.text()));
}

void check_overlaps(const std::string& key, const std::vector<attempt>& held, const hold_terms& terms,
                    hold_check& found) {
  std::vector<const attempt*> beside;
  for (const auto& mine : held) {
    std::erase_if(beside, [&](const attempt* each) { return each->end < mine.begin; });
    for (const auto* each : beside) {
      if (!mine.exclusive() && !each->exclusive()) continue;
      if (in_doubt(terms, mine.begin, std::min(mine.end, each->end))) {
        ++found.doubles;
      } else {
        found.violations.push_back(
            fmt::format("key {}: {} begins before the end of {}", key, mine.text(), each->text()));
      }
    }
    check_permits(key, mine, beside, terms, found);
    found.members += mine.exclusive() ? 0 : 1;
    found.shared += mine.exclusive() || beside.empty() ? 0 : 1;
    beside.push_back(&mine);
  }
}

/// Each exclusive fence belongs to one attempt and is greater than those of before.
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

/// A member comes after the exclusive holders whose fences it knows, and before all others.
void check_members(const std::string& key, const std::vector<attempt>& held, const hold_terms& terms,
                   hold_check& found) {
  const attempt *exclusive = nullptr, *any = nullptr;
  for (const auto& mine : held) {
    const auto* const before = mine.exclusive() ? any : exclusive;
    if (before != nullptr && !in_doubt(terms, before->begin, mine.begin)) {
      const bool follows =
          mine.exclusive() && !before->exclusive() ? mine.fence > before->fence : mine.fence >= before->fence;
      if (!follows) {
        found.violations.push_back(fmt::format("key {}: {} comes after {}", key, mine.text(), before->text()));
      }
    }
    if (any == nullptr || mine.fence > any->fence || (mine.fence == any->fence && !mine.exclusive())) any = &mine;
    if (mine.exclusive() && (exclusive == nullptr || mine.fence > exclusive->fence)) exclusive = &mine;
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
  for (const auto& record : log) {
    if (record.what == hold_record::kind::lost) ++found.notified;
    if (record.what == hold_record::kind::late) ++found.late;
    if (record.what == hold_record::kind::behind && !in_doubt(terms, record.at, record.at)) {
      found.violations.push_back(fmt::format("a write under a trusted lease was refused: {}", record.line()));
    }
  }
  for (const auto& [key, all] : attempts_of(log)) {
    const auto held = held_of(all);
    check_overlaps(key, held, terms, found);
    if (terms.fenced) {
      std::vector<attempt> exclusive;
      std::copy_if(held.begin(), held.end(), std::back_inserter(exclusive),
                   [](const attempt& each) { return each.exclusive(); });
      check_fences(key, exclusive, terms, found);
      if (exclusive.size() != held.size()) check_members(key, held, terms, found);
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
  auto keys = attempts_of(log);
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
