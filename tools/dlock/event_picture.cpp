// SPDX-License-Identifier: BSL-1.0
#include "event_picture.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "output.hpp"
#include "times.hpp"

namespace dlock::command {

namespace {

/// The width of a page, so that letters keep their size there.
constexpr double left_edge = 200, width = 650, top_edge = 64, lane = 20, gap = 12;
constexpr double line_height = 20;

/// How many events have a number in the picture and a line below it.
constexpr std::size_t most_listed = 12;

/// Ten colours that most colour-blind readers can tell apart; holders take them in turn.
constexpr std::array colours{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
                             "#aa3377", "#997700", "#3366cc", "#bb5566", "#44aa99"};

constexpr const char* style = R"(<style>
text { font: 14px Helvetica, Arial, sans-serif; fill: #1f2328 }
.page { fill: #ffffff } .grid { stroke: #d0d7de } .note { fill: #59636e } .band { stroke: #d0d7de }
.bar { stroke: #59636e } .wait { fill-opacity: 0.28 } .open { fill-opacity: 0.55 }
.lost { stroke: #cf222e; stroke-width: 3 } .mark { fill: #cf222e } .over { stroke: #1f2328; stroke-width: 3 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .page { fill: #0d1117 } .grid { stroke: #30363d } .note { fill: #9198a1 } .band { stroke: #30363d }
.bar { stroke: #9198a1 } .lost { stroke: #f85149 } .mark { fill: #f85149 } .over { stroke: #e6edf3 }
}
</style>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out.push_back(c);
    }
  }
  return out;
}

std::string moment_text(std::int64_t us) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03} UTC", fmt::gmtime(std::time_t{us / 1'000'000}), us / 1000 % 1000);
}

/// Puts spans into lanes, so that no two in one lane overlap.
class lanes {
 public:
  std::size_t lane_of(std::int64_t begin, std::int64_t end) {
    for (std::size_t i = 0; i != ends_.size(); ++i) {
      if (ends_[i] > begin) continue;
      ends_[i] = end;
      return i;
    }
    ends_.push_back(end);
    return ends_.size() - 1;
  }
  std::size_t count() const noexcept { return ends_.size(); }

 private:
  std::vector<std::int64_t> ends_{};
};

class drawing {
 public:
  drawing(const event_story& story, const picture_options& options)
      : story_(story),
        options_(options),
        from_(options.from != 0 ? options.from : story.begin()),
        to_(std::max(from_ + 1, options.to != 0 ? options.to : story.end())) {}

  std::string text() {
    double y = top_edge;
    for (const auto& key : chosen_keys()) y = draw_key(key, y);
    y = draw_processes(y);
    y = draw_legend(y + 34);
    y = draw_events(y);
    const double total = left_edge + width + 30;
    auto out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\">\n<title>Locks from {2} to {3}</title>\n",
        total, y, moment_text(from_), moment_text(to_));
    out += style;
    out += fmt::format("<rect class=\"page\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", total, y);
    out += axis(axis_end_);
    return out + shapes_ + "</svg>\n";
  }

 private:
  bool visible(std::int64_t begin, std::int64_t end) const { return end >= from_ && begin <= to_; }
  bool wanted(const std::string& key) const { return !key.empty() && key.starts_with(options_.key); }
  double x(std::int64_t at) const {
    const auto share = static_cast<double>(std::clamp(at, from_, to_) - from_) / static_cast<double>(to_ - from_);
    return left_edge + share * width;
  }

  /// The keys with most events, in the order of their names.
  std::vector<std::string> chosen_keys() {
    std::map<std::string, std::size_t> busy;
    for (const auto& each : story_.holds())
      if (wanted(each.key) && visible(each.begin, each.end)) ++busy[each.key];
    for (const auto& each : story_.waits())
      if (wanted(each.key) && visible(each.begin, each.end)) ++busy[each.key];
    for (const auto& each : story_.marks())
      if (wanted(each.key) && visible(each.at, each.at)) ++busy[each.key];
    std::vector<std::pair<std::string, std::size_t>> all(busy.begin(), busy.end());
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    left_out_ = all.size() - std::min(all.size(), options_.most_keys);
    all.resize(all.size() - left_out_);
    std::vector<std::string> keys;
    for (auto& each : all) keys.push_back(std::move(each.first));
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  void bar(double y, std::int64_t begin, std::int64_t end, std::size_t holder, std::string_view kind,
           const std::string& says) {
    const double from = x(begin), to = std::max(x(end), from + 1);
    shapes_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" fill=\"{}\" class=\"bar{}{}\">"
        "<title>{}</title></rect>\n",
        from, y + 1, to - from, lane - 2, colours[holder % colours.size()], kind.empty() ? "" : " ", kind,
        escaped(says));
    shown_.insert(holder);
  }

  double draw_key(const std::string& key, double y) {
    lanes held, waiting;
    for (const auto& each : story_.holds()) {
      if (each.key != key || !visible(each.begin, each.end)) continue;
      const double at = y + static_cast<double>(held.lane_of(each.begin, each.end)) * lane;
      draw_hold(each, at);
    }
    const double below = y + static_cast<double>(held.count()) * lane;
    for (const auto& each : story_.waits()) {
      if (each.key != key || !visible(each.begin, each.end)) continue;
      const double at = below + static_cast<double>(waiting.lane_of(each.begin, each.end)) * lane;
      bar(at, each.begin, each.end, each.holder, "wait",
          fmt::format("{}: {} waited {}, {}", key, story_.holders()[each.holder], spent(each.begin, each.end),
                      each.granted ? "granted" : "busy"));
    }
    const double bottom = below + static_cast<double>(std::max<std::size_t>(waiting.count(), held.count() == 0)) * lane;
    for (const auto& each : story_.marks()) {
      if (each.key == key && visible(each.at, each.at)) draw_mark(each, y);
    }
    head(key, y, bottom);
    if (held.count() > 1) {
      shapes_ += fmt::format("<text class=\"mark\" x=\"8\" y=\"{:.1f}\" fill=\"#cf222e\">held twice at once</text>\n",
                             y + lane + 15);
    }
    return bottom + gap;
  }

  void draw_hold(const event_story::hold& each, double y) {
    using how = event_story::end_of_hold;
    const auto& who = story_.holders()[each.holder];
    const char* const ended = each.how == how::released     ? "released"
                              : each.how == how::lost       ? "lost"
                              : each.how == how::taken_over ? "its holder died, and the key was taken over"
                                                            : "held at the end of the log";
    auto says = fmt::format("{}: {} held it for {}, {}", each.key, who, spent(each.begin, each.end), ended);
    if (!each.reason.empty()) says += ": " + each.reason;
    if (each.fence != 0) says += fmt::format("; fence {}", each.fence);
    if (each.took_over) says += "; taken over";
    bar(y, each.begin, each.end, each.holder, each.how == how::open ? "open" : "", says);
    const auto line = [&](std::int64_t at, const char* kind) {
      if (at < from_ || at > to_) return;
      shapes_ += fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{3:.1f}\"/>\n",
                             kind, x(at), y - 1, y + lane);
    };
    if (each.took_over) line(each.begin, "over");
    if (each.how == how::lost || each.how == how::taken_over) line(each.end, "lost");
  }

  /// Draws a triangle. The first ones have a number, which draw_events() explains.
  void draw_mark(const event_story::mark& each, double y) {
    const double at = x(each.at);
    const auto says =
        fmt::format("{}: {}{}{}", story_.holders()[each.holder], each.event, each.text.empty() ? "" : ": ", each.text);
    shapes_ += fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f} l5 -9 l-10 0 z\"><title>{}</title></path>\n", at,
                           y + 1, escaped(says));
    if (events_.size() < most_listed) {
      events_.push_back(fmt::format("+{}  {}", spent(from_, each.at), says));
      shapes_ +=
          fmt::format("<text class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at + 7, y - 1, events_.size());
    } else {
      ++unlisted_;
    }
    shown_.insert(each.holder);
  }

  void head(const std::string& name, double y, double bottom) {
    shapes_ += fmt::format(
        "<text x=\"8\" y=\"{:.1f}\">{}</text>\n<line class=\"band\" x1=\"0\" x2=\"{:.0f}\" "
        "y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
        y + 15, escaped(cut(name, 26)), left_edge + width + 30, bottom + gap / 2, bottom + gap / 2);
  }

  /// Draws what processes report of themselves.
  double draw_processes(double y) {
    std::map<std::size_t, std::vector<const event_story::mark*>> by_process;
    for (const auto& each : story_.marks()) {
      if (each.key.empty() && each.event != "cleanup" && visible(each.at, each.at))
        by_process[each.holder].push_back(&each);
    }
    for (const auto& [holder, marks] : by_process) {
      for (const auto* each : marks) draw_mark(*each, y + 14);
      head(story_.holders()[holder], y, y + lane);
      y += lane + gap;
    }
    axis_end_ = y;
    return y;
  }

  /// Continues in the next line if there is no `room`. Returns the beginning.
  static double place(double& at, double& y, double room) {
    if (at > 8 && at + room > left_edge + width + 22) {
      at = 8;
      y += line_height;
    }
    return std::exchange(at, at + room);
  }
  static double room_of(std::string_view text) { return 8.0 * static_cast<double>(columns_of(text)); }

  /// Draws each sign with its meaning.
  double draw_legend(double y) {
    double at = 8;
    const auto words = [&](double from, std::string_view text) {
      shapes_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", from, y, escaped(text));
    };
    const auto box = [&](std::string_view text, std::string_view colour, std::string_view kind, double wide) {
      const double from = place(at, y, wide + 24 + room_of(text));
      shapes_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"12\" rx=\"2\" fill=\"{}\" class=\"bar{}\"/>\n",
          from, y - 11, wide, colour, kind);
      words(from + wide + 6, text);
    };
    for (const auto holder : shown_) box(story_.holders()[holder], colours[holder % colours.size()], "", 12);
    at = 8;
    y += line_height;
    box("held", colours[0], "", 24);
    box("waited", colours[0], " wait", 24);
    for (const auto& [kind, text] : {std::pair{"lost", "lost, or the holder died"}, {"over", "taken over"}}) {
      const double from = place(at, y, 28 + room_of(text));
      shapes_ += fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{3:.1f}\"/>\n",
                             kind, from + 4, y - 13, y + 3);
      words(from + 12, text);
    }
    if (!events_.empty()) {
      constexpr std::string_view text = "an event, listed below by its number";
      const double from = place(at, y, 36 + room_of(text));
      shapes_ += fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f} l5 -9 l-10 0 z\"/>\n", from + 5, y);
      words(from + 16, text);
    }
    if (left_out_ != 0) {
      const auto text = fmt::format("{} more keys are not shown", left_out_);
      words(place(at, y, 20 + room_of(text)), text);
    }
    return y + line_height;
  }

  /// Lists the events of the triangles.
  double draw_events(double y) {
    std::size_t number = 0;
    const auto line = [&](std::string_view text) {
      shapes_ += fmt::format("<text class=\"note\" x=\"8\" y=\"{:.1f}\">{}</text>\n", y, escaped(text));
      y += line_height;
    };
    constexpr std::size_t columns = 112;
    for (const auto& each : events_) line(cut(fmt::format("{}.  {}", ++number, each), columns));
    if (unlisted_ != 0) line(fmt::format("and {} more: point at their triangles", unlisted_));
    return y;
  }

  std::string axis(double bottom) const {
    // Steps of 1, 2 or 5 of a power of ten.
    const double span = static_cast<double>(to_ - from_);
    const double power = std::pow(10, std::floor(std::log10(span / 10)));
    double step = power;
    for (const double factor : {2.0, 5.0, 10.0}) {
      if (span / step > 9) step = power * factor;
    }
    std::string out = fmt::format("<text x=\"8\" y=\"20\">{}</text>\n", moment_text(from_));
    for (double at = 0; at <= span; at += step) {
      const double x = left_edge + at / span * width;
      out += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"50\" y2=\"{1:.1f}\"/>\n<text "
          "class=\"note\" x=\"{0:.1f}\" y=\"44\" text-anchor=\"middle\">+{2}</text>\n",
          x, bottom, at == 0 ? "0" : print_time(std::chrono::microseconds{std::llround(at)}));
    }
    return out;
  }

  static std::string spent(std::int64_t begin, std::int64_t end) {
    return print_time(std::chrono::microseconds{end - begin});
  }

  const event_story& story_;
  const picture_options& options_;
  const std::int64_t from_;
  const std::int64_t to_;
  std::size_t left_out_ = 0;
  std::vector<std::string> events_{};
  std::size_t unlisted_ = 0;
  std::set<std::size_t> shown_{};
  double axis_end_ = 0;
  std::string shapes_{};
};

}  // namespace

std::string draw(const event_story& story, const picture_options& options) { return drawing(story, options).text(); }

}  // namespace dlock::command
