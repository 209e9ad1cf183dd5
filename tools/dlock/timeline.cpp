// SPDX-License-Identifier: BSL-1.0
// Draws event logs as a picture.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "event_picture.hpp"
#include "event_story.hpp"
#include "output.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

/// Reads "2026-11-24T08:00:00Z", or seconds since 1970. Returns 0 for an empty text.
std::int64_t moment_of(const char* option, const std::string& text) {
  if (text.empty()) return 0;
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end != nullptr && (*end == '\0' || std::string_view(end) == "Z")) {
    return std::int64_t{::timegm(&parts)} * 1'000'000;
  }
  char* rest = nullptr;
  const double seconds = std::strtod(text.c_str(), &rest);
  if (rest != nullptr && *rest == '\0' && seconds > 0 && seconds < event_story::latest / 1e6) {
    return static_cast<std::int64_t>(seconds * 1e6);
  }
  throw failure(exit_code::usage,
                fmt::format("{} '{}': write 2026-11-24T08:00:00Z, or seconds since 1970", option, text));
}

}  // namespace

int timeline(const all_options& options) {
  const auto& what = options.timeline;
  event_story story;
  for (const auto& each : what.files) {
    std::ifstream in(each);
    if (!in) throw failure(exit_code::data, fmt::format("'{}' can't be read: {}", each, std::strerror(errno)));
    story.read(in, each);
  }
  story.finish();
  const auto picture = draw(story, {.key = what.key,
                                    .from = moment_of("--from", what.from),
                                    .to = moment_of("--to", what.to),
                                    .most_keys = what.most_keys});
  if (!what.out.empty()) {
    std::ofstream out(what.out, std::ios::trunc);
    if (!(out << picture << std::flush)) {
      throw failure(exit_code::internal, fmt::format("'{}' can't be written: {}", what.out, std::strerror(errno)));
    }
  }
  if (options.common.json) {
    json out{{"holds", story.holds().size()}, {"waits", story.waits().size()}, {"holders", story.holders().size()}};
    if (what.out.empty()) out["svg"] = picture;
    print_json(out);
  } else if (what.out.empty()) {
    print_line(std::string_view(picture).substr(0, picture.size() - 1));  // without its last line end
  }
  return code(exit_code::done);
}

}  // namespace dlock::command
