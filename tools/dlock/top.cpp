// SPDX-License-Identifier: BSL-1.0
// A live screen.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <string>
#include <thread>

#include "client.hpp"
#include "dlock/error.hpp"
#include "output.hpp"
#include "rates.hpp"
#include "times.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

using clock = std::chrono::steady_clock;

volatile sig_atomic_t ended = 0, suspended = 0;

/// Owns the whole screen, and reads typed keys, until it is destroyed.
class screen {
 public:
  screen() {
    struct sigaction end {};
    end.sa_handler = [](int) { ended = 1; };
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaction(each, &end, nullptr);
    stop_.sa_handler = [](int) { suspended = 1; };
    take();
  }
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;
  ~screen() { give_back(); }

  struct size {
    std::size_t rows = 24;
    std::size_t columns = 80;
  };
  static size room() {
    winsize window{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0) return {};
    return {window.ws_row, window.ws_col};
  }

  static void show(const std::vector<std::string>& lines) {
    const auto is = room();
    std::string frame = "\x1b[H";
    for (std::size_t i = 0; i != std::min(lines.size(), is.rows); ++i) {
      frame += (i == 0 ? "" : "\r\n") + cut(lines[i], is.columns) + "\x1b[K";
    }
    fmt::print("{}\x1b[J", frame);
    std::fflush(stdout);
  }

  /// Waits until that time, or for a key. Returns false if the user wants to end.
  bool wait(clock::time_point until) {
    for (;;) {
      if (ended != 0) return false;
      if (suspended != 0) {  // Ctrl-Z: the shell gets its terminal back unchanged
        suspended = 0;
        give_back();
        ::signal(SIGTSTP, SIG_DFL);
        ::raise(SIGTSTP);
        take();
        return true;
      }
      const auto left = std::chrono::ceil<milliseconds>(until - clock::now()).count();
      if (left <= 0) return true;
      pollfd typed{STDIN_FILENO, POLLIN, 0};
      if (::poll(&typed, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) <= 0) continue;
      char key = 0;
      if (::read(STDIN_FILENO, &key, 1) <= 0) {  // there is no keyboard
        std::this_thread::sleep_until(until);
        return ended == 0;
      }
      if (key == 'q' || key == 'Q') return false;
      return true;
    }
  }

 private:
  void take() {
    ::sigaction(SIGTSTP, &stop_, nullptr);
    raw_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (raw_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      raw_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    fmt::print("\x1b[?1049h\x1b[?25l");
  }
  void give_back() const {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
    if (raw_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  struct sigaction stop_ {};
  termios before_{};
  bool raw_ = false;
};

/// The result of one poll of the store, and what changed since the previous one.
struct picture {
  store_overview store{};
  rates::per_second rate{};
  unsigned statements = 0;
  std::chrono::microseconds took{0};
};

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.1f}/s", *rate) : "-"; }

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

std::vector<std::string> lines_of(const std::string& store, const picture& now, std::size_t sessions,
                                  std::size_t keys) {
  const auto& all = now.store;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}  {}  {} statements in {}", store, time_text(), now.statements, print_time(now.took)));
  lines.push_back(fmt::format(
      "keys: {}{} held, {} by dead sessions, {} stored   sessions: {} alive, {} dead   grants {}   losses {}",
      all.complete ? "" : ">= ", all.held, all.held_dead, all.keys, all.sessions_alive, all.sessions_dead,
      rate_text(now.rate.grants), rate_text(now.rate.losses)));
  lines.emplace_back();
  text_table of_sessions({"SESSION OF", "LOCKS", "AGE", "EXPIRES IN", "TTL", "STATE"});
  for (std::size_t i = 0; i != std::min(sessions, all.sessions.size()); ++i) {
    const auto& each = all.sessions[i];
    const holder_info named{.host = each.host, .pid = each.pid, .label = each.label};
    of_sessions.add({who(named), fmt::to_string(each.locks), each.age.count() == 0 ? "-" : print_time(each.age),
                     each.remaining.count() == 0 ? "-" : print_time(each.remaining),
                     each.ttl.count() == 0 ? "-" : print_time(each.ttl),
                     each.dead      ? "dead"
                     : each.revoked ? "revoked"
                                    : "alive"});
  }
  for (auto& each : of_sessions.lines()) lines.push_back(std::move(each));
  lines.emplace_back();
  text_table of_keys({"KEY", "HOLDER", "HELD", "EXPIRES IN", "FENCE", "STATE"});
  for (std::size_t i = 0; i != std::min(keys, all.longest.size()); ++i) {
    const auto& each = all.longest[i];
    of_keys.add({detail::printable_text(each.key), who(each), each.since.count() == 0 ? "-" : print_time(each.since),
                 each.remaining.count() == 0 ? "-" : print_time(each.remaining),
                 each.fence == 0 ? "-" : fmt::to_string(each.fence), state_of(each)});
  }
  for (auto& each : of_keys.lines()) lines.push_back(std::move(each));
  return lines;
}

json to_json(const picture& now, std::size_t rows) {
  const auto& all = now.store;
  json out{{"time", std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()},
           {"statements", now.statements},
           {"took_ms", static_cast<double>(now.took.count()) / 1e3},
           {"held", all.held},
           {"held_dead", all.held_dead},
           {"keys", all.keys},
           {"sessions_alive", all.sessions_alive},
           {"sessions_dead", all.sessions_dead},
           {"complete", all.complete},
           {"grants_per_second", now.rate.grants ? json(*now.rate.grants) : json()},
           {"losses_per_second", now.rate.losses ? json(*now.rate.losses) : json()},
           {"sessions", json::array()},
           {"longest", json::array()}};
  for (std::size_t i = 0; i != std::min(rows, all.sessions.size()); ++i) {
    out["sessions"].push_back(command::to_json(all.sessions[i]));
  }
  for (std::size_t i = 0; i != std::min(rows, all.longest.size()); ++i) {
    out["longest"].push_back(command::to_json(all.longest[i]));
  }
  return out;
}

/// Sessions are tracked from one poll to the next, so more of them are read than shown.
constexpr std::size_t most_followed = 500;

class viewer {
 public:
  explicit viewer(const all_options& options) : with_(options.common) {}

  picture look(std::size_t rows) {
    picture now;
    const auto begun = clock::now();
    const auto answer = with_.ask("overview", [&](connection& on) {
      return with_.admin().overview(on, std::max(rows, most_followed), now.store);
    });
    const auto at = clock::now();
    now.took = std::chrono::duration_cast<std::chrono::microseconds>(at - begun);
    now.statements = answer.statements;
    now.rate = rates_.next(now.store, at);
    return now;
  }
  const std::string& name() { return with_.name(); }

 private:
  client with_;
  rates rates_{};
};

int print_refreshes(const all_options& options, std::size_t refreshes) {
  viewer view(options);
  const auto rows = options.top.rows == 0 ? std::size_t{20} : options.top.rows;
  auto next = clock::now();
  for (std::size_t i = 0; i != refreshes; ++i) {
    if (i != 0) std::this_thread::sleep_until(next += options.top.interval);
    const auto now = view.look(rows);
    if (options.common.json) {
      print_json(to_json(now, rows));
    } else {
      for (const auto& each : lines_of(view.name(), now, rows, rows)) print_line(each);
    }
  }
  return code(exit_code::done);
}

}  // namespace

int top(const all_options& options) {
  const bool live = ::isatty(STDOUT_FILENO) != 0 && !options.common.json;
  if (!live) return print_refreshes(options, std::max<std::size_t>(1, options.top.refreshes));
  viewer view(options);
  view.name();  // reports a wrong URL before it takes the screen
  screen on;
  auto next = clock::now();
  for (std::size_t i = 0; options.top.refreshes == 0 || i != options.top.refreshes; ++i) {
    const auto room = screen::room();
    // Two heads of two lines, and a blank line.
    const auto lines = room.rows > 12 ? room.rows - 6 : std::size_t{6};
    const auto sessions = options.top.rows != 0 ? options.top.rows : lines / 3;
    const auto keys = options.top.rows != 0 ? options.top.rows : lines - lines / 3;
    try {
      screen::show(lines_of(view.name(), view.look(keys), sessions, keys));
    } catch (const store_error& why) {
      screen::show({view.name(), time_text() + "  " + why.what(), "dlock tries again."});
    }
    next = std::max(next + options.top.interval, clock::now());
    if (!on.wait(next)) break;
  }
  return code(exit_code::done);
}

}  // namespace dlock::command
