// SPDX-License-Identifier: BSL-1.0
#include "simulation/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock::simulation {

namespace {

constexpr int left_edge = 130;
constexpr int width = 1'200;
constexpr int height = 22;

/// What a line of the story is about: "key k3: has fence 7".
struct about {
  std::string key{};
  std::string_view does{};
};

about parse(std::string_view text) {
  if (!text.starts_with("key ")) return {{}, text};
  // A row's key has a colon of its own.
  const auto end = text.find(": ");
  if (end == std::string_view::npos) return {{}, text};
  return {std::string(text.substr(4, end - 4)), text.substr(end + 2)};
}

class drawing {
 public:
  drawing(const result& of, moment window)
      : of_(of),
        begin_(of.failure.empty() ? 0 : std::max<moment>(0, last(of) - window)),
        end_(std::min(begin_ + window, last(of))) {}

  std::string text() {
    number_rows();
    for (const auto& line : of_.story) note(line);
    for (const auto& [at, since] : asking_) bar(at, since, end_, "#d9d9d9");
    for (const auto& [at, since] : holding_) bar(at, since, end_, "#59a14f");
    const auto total = 40 + static_cast<int>(rows_.size()) * height + 40;
    auto made = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
        "font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        left_edge + width + 40, total);
    std::string_view above;
    for (const auto& [at, row] : rows_) {
      if (at.first != above) {
        made += fmt::format(
            "<line x1=\"0\" x2=\"{0}\" y1=\"{1}\" y2=\"{1}\" stroke=\"#ccc\"/>\n<text x=\"4\" y=\"{2}\">{3}</text>\n",
            left_edge + width + 40, y(row), y(row) + 15, escaped(at.first));
      }
      above = at.first;
      made += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#777\">{}</text>\n", left_edge - 30, y(row) + 15, at.second);
    }
    made += shapes_;
    for (int i = 0; i <= 10; ++i) {
      const auto when = begin_ + (end_ - begin_) * i / 10;
      made += fmt::format("<text x=\"{:.0f}\" y=\"{}\" fill=\"#777\" text-anchor=\"middle\">{:.0f} ms</text>\n",
                          x(when), total - 26, static_cast<double>(when) / 1'000);
    }
    made += fmt::format(
        "<text x=\"4\" y=\"{}\">grey: asks; green: holds; red line: trust ended by a loss; blue: stands still; black "
        "line: "
        "killed{}</text>\n</svg>\n",
        total - 8, of_.failure.empty() ? "" : "; at the end: " + escaped(of_.failure));
    return made;
  }

 private:
  using key_of_process = std::pair<std::string, std::string>;  // key and process

  static moment last(const result& of) { return of.story.empty() ? 1 : of.story.back().when; }
  static std::string escaped(const std::string& text) {
    std::string made;
    for (const char c : text) made += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return made;
  }
  double x(moment when) const {
    const auto span = static_cast<double>(std::max<moment>(1, end_ - begin_));
    return left_edge + width * static_cast<double>(std::clamp(when, begin_, end_) - begin_) / span;
  }
  static int y(int row) { return 20 + row * height; }
  int row_of(const key_of_process& at) const { return rows_.at(at); }

  /// The processes that use a key stand one below the other, so that two holders would be seen.
  void number_rows() {
    for (const auto& line : of_.story) {
      if (line.when < begin_ || line.when > end_ || line.who == "server" || line.who == "checker") continue;
      if (const auto [key, does] = parse(line.text); !key.empty()) rows_.try_emplace({key, line.who}, 0);
    }
    int row = 0;
    for (auto& each : rows_) each.second = row++;
  }

  void bar(const key_of_process& at, moment from, moment to, const char* colour) {
    if (to < begin_ || from > end_ || !rows_.contains(at)) return;
    shapes_ += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n", x(from),
                           y(row_of(at)) + 4, std::max(1.0, x(to) - x(from)), height - 8, colour);
  }
  void mark(const key_of_process& at, moment when, const char* colour) {
    if (when < begin_ || when > end_ || !rows_.contains(at)) return;
    shapes_ +=
        fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"2\"/>\n",
                    x(when), y(row_of(at)) + 1, y(row_of(at)) + height - 1, colour);
  }
  void end(std::map<key_of_process, moment>& of, const key_of_process& at, moment when, const char* colour) {
    if (const auto found = of.find(at); found != of.end()) {
      bar(at, found->second, when, colour);
      of.erase(found);
    }
  }

  void note(const journal::line& line) {
    const auto [key, does] = parse(line.text);
    const key_of_process at{key, line.who};
    if (line.who == "server" || line.who == "checker") return;
    if (does == "asks") {
      asking_.try_emplace(at, line.when);
    } else if (does.starts_with("has fence")) {
      end(asking_, at, line.when, "#d9d9d9");
      holding_.try_emplace(at, line.when);
    } else if (does == "gets nothing") {
      end(asking_, at, line.when, "#d9d9d9");
    } else if (does.starts_with("lets fence")) {
      end(holding_, at, line.when, "#59a14f");
    } else if (does.starts_with("loses fence")) {
      end(holding_, at, line.when, "#59a14f");
      mark(at, line.when, "#e15759");
    } else if (does.starts_with("stands still for ")) {
      const auto ms = std::atoll(std::string(does.substr(17)).c_str());
      for_process(line.who, [&](const key_of_process& each) {
        bar(each, line.when, line.when + ms * 1'000, "#4e79a7\" fill-opacity=\"0.4");
      });
    } else if (does == "is killed") {
      for_process(line.who, [&](const key_of_process& each) {
        asking_.erase(each);
        end(holding_, each, line.when, "#59a14f");
        mark(each, line.when, "black");
      });
    }
  }
  template <class Use>
  void for_process(const std::string& who, Use use) {
    std::vector<key_of_process> all;
    for (const auto& [each, row] : rows_) {
      if (each.second == who) all.push_back(each);
    }
    for (const auto& each : all) use(each);
  }

  const result& of_;
  const moment begin_;
  const moment end_;
  std::map<key_of_process, int> rows_{};
  std::map<key_of_process, moment> asking_{};
  std::map<key_of_process, moment> holding_{};
  std::string shapes_{};
};

}  // namespace

std::string picture(const result& of, moment window) { return drawing(of, window).text(); }

}  // namespace dlock::simulation
