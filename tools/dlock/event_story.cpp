// SPDX-License-Identifier: BSL-1.0
#include "event_story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "exit_code.hpp"
#include "output.hpp"

namespace dlock::command {

namespace {

[[noreturn]] void refuse(const std::string& name, int line, const std::string& why) {
  throw failure(exit_code::data, fmt::format("{}:{}: {}", name, line, why));
}

}  // namespace

std::size_t event_story::holder_called(const std::string& name) {
  const auto [at, is_new] = by_name_.emplace(name, holders_.size());
  if (is_new) holders_.push_back(name);
  return at->second;
}

void event_story::note_time(std::int64_t at) {
  begin_ = begin_ == 0 ? at : std::min(begin_, at);
  end_ = std::max(end_, at);
}

void event_story::read(std::istream& from, const std::string& name) {
  std::string line;
  for (int number = 1; std::getline(from, line); ++number) {
    if (from.eof()) break;
    if (line.empty()) continue;
    const auto parsed = json::parse(line, nullptr, false);
    if (!parsed.is_object()) refuse(name, number, "is not a JSON object");
    try {
      // The library would convert 1e30 to any whole number.
      const auto whole = [&](const char* field, const char* otherwise = "no whole number") -> std::uint64_t {
        const auto found = parsed.find(field);
        if (found == parsed.end()) return 0;
        if (!found->is_number_unsigned()) {
          refuse(name, number, fmt::format("{} is {}: {}", field, found->dump(), otherwise));
        }
        return found->get<std::uint64_t>();
      };
      const auto time = [&](const char* field) {
        const auto value = whole(field, "no time");
        if (value >= static_cast<std::uint64_t>(latest)) {
          refuse(name, number, fmt::format("{} is {}: no time", field, value));
        }
        return static_cast<std::int64_t>(value);
      };
      if (!parsed.contains("time_us")) refuse(name, number, "has no time_us");
      entry made{.at = time("time_us"), .event = parsed.at("event").get<std::string>()};
      auto who = fmt::format("{}/{}", parsed.value("host", "?"), whole("pid"));
      if (const auto service = parsed.value("service", ""); !service.empty()) who += " " + service;
      made.holder = holder_called(who);
      made.key = parsed.value("key", "");
      made.fence = whole("fence");
      made.waited = time("waited_us");
      made.held = time("held_us");
      made.taken_over = parsed.value("taken_over", false);
      made.reason = parsed.value("reason", "");
      made.text = parsed.value("text", "");
      entries_.push_back(std::move(made));
    } catch (const json::exception& wrong) {
      refuse(name, number, std::string("is not an event: ") + wrong.what());
    }
  }
  if (from.bad()) throw failure(exit_code::data, fmt::format("'{}' can't be read", name));
}

void event_story::finish() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const entry& a, const entry& b) { return a.at < b.at; });
  for (const auto& each : entries_) tell(each);
  // These were held at the end of the log, or by a process that died. The next holder of the key shows which.
  std::set<std::tuple<std::string_view, std::int64_t, std::uint64_t>> begins;
  if (!open_.empty()) {
    for (const auto& each : holds_) begins.emplace(each.key, each.begin, each.fence);
  }
  for (const auto& [of, open_holds] : open_) {
    for (const auto index : open_holds) {
      auto& ends = holds_[index];
      const auto next = begins.upper_bound({ends.key, ends.begin, ends.fence});
      const bool another = next != begins.end() && std::get<0>(*next) == ends.key;
      ends.end = another ? std::get<1>(*next) : end_;
      if (another) ends.how = end_of_hold::taken_over;
    }
  }
  open_.clear();
  entries_.clear();
}

void event_story::end_hold(const entry& of, end_of_hold how) {
  const auto found = open_.find({of.key, of.holder});
  if (found == open_.end() || found->second.empty()) {
    // The log begins during this hold.
    holds_.push_back({of.key, of.holder, of.at - of.held, of.at, of.fence, how, false, of.reason});
    note_time(of.at - of.held);
    return;
  }
  // The hold with that fence, or else the last one.
  auto& open_holds = found->second;
  auto at = std::find_if(open_holds.begin(), open_holds.end(),
                         [&](std::size_t each) { return holds_[each].fence == of.fence; });
  if (at == open_holds.end()) at = std::prev(open_holds.end());
  auto& ends = holds_[*at];
  ends.end = of.at;
  ends.how = how;
  ends.reason = of.reason;
  open_holds.erase(at);
}

void event_story::tell(const entry& of) {
  note_time(of.at);
  if (of.event == "granted") {
    if (of.waited > 0) {
      waits_.push_back({of.key, of.holder, of.at - of.waited, of.at, true});
      note_time(of.at - of.waited);
    }
    open_[{of.key, of.holder}].push_back(holds_.size());
    holds_.push_back({of.key, of.holder, of.at, of.at, of.fence, end_of_hold::open, of.taken_over, {}});
  } else if (of.event == "busy") {
    waits_.push_back({of.key, of.holder, of.at - of.waited, of.at, false});
    note_time(of.at - of.waited);
  } else if (of.event == "released") {
    end_hold(of, end_of_hold::released);
  } else if (of.event == "lost") {
    end_hold(of, end_of_hold::lost);
  } else if (of.event != "reentered" && of.event != "session_opened") {
    marks_.push_back({of.key, of.holder, of.at, of.event, of.reason.empty() ? of.text : of.reason});
  }
}

}  // namespace dlock::command
