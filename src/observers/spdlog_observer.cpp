// SPDX-License-Identifier: BSL-1.0
#include "dlock/spdlog_observer.hpp"
#include "base/mutex.hpp"

#include <spdlog/logger.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/lock_key.hpp"
#include "dlock/store_interface/clock.hpp"
#include "observers/event_details.hpp"

namespace dlock {

namespace {

using kind = event::kind;
constexpr std::size_t kinds = event_kinds.size();

spdlog::level::level_enum level_of(kind which) noexcept {
  switch (which) {
    case kind::lost:
    case kind::split_brain:
    case kind::session_lost: return spdlog::level::err;
    case kind::release_failed:
    case kind::outcome_unknown:
    case kind::acquire_failed:
    case kind::deadlock:
    case kind::in_transaction:
    case kind::blocked:
    case kind::unchecked:
    case kind::renewal_late:
    case kind::still_held:
    case kind::waiters_poll:
    case kind::handler_failed:
    case kind::observer_failed: return spdlog::level::warn;
    case kind::session_opened: return spdlog::level::info;
    default: return spdlog::level::debug;
  }
}

void replace_all(std::string& in, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = 0; (at = in.find(from, at)) != std::string::npos; at += to.size()) {
    in.replace(at, from.size(), to);
  }
}

// One line of name=value pairs.
class line {
 public:
  explicit line(std::string_view title) : text_(title) {}

  void add(std::string_view name, std::string_view value) {
    std::string safe = detail::printable_text(value);
    begin(name);
    if (!safe.empty() && safe.find_first_of(" \"=") == std::string::npos) {
      text_ += safe;
      return;
    }
    replace_all(safe, "\"", "\\\"");  // backslashes of the text are doubled already
    text_ += '"';
    text_ += safe;
    text_ += '"';
  }
  void add(std::string_view name, bool value) { begin(name) += value ? "true" : "false"; }
  void add(std::string_view name, std::uint64_t value) { begin(name) += std::to_string(value); }
  void add(std::string_view name, std::chrono::microseconds value) { begin(name) += std::to_string(value.count()); }

  const std::string& text() const noexcept { return text_; }

 private:
  std::string& begin(std::string_view name) {
    text_ += ' ';
    text_ += name;
    return text_ += '=';
  }
  std::string text_;
};

class spdlog_observer final : public observer {
 public:
  spdlog_observer(std::shared_ptr<spdlog::logger> to, const spdlog_observer_options& options)
      : to_(std::move(to)), options_(options), time_(options.time != nullptr ? *options.time : system_time()) {}

  ~spdlog_observer() override {
    try {
      std::vector<suppressed> left;
      for (std::size_t i = 0; i != kinds; ++i) take_suppressed(i, left);
      write(left);
    } catch (...) {  // a destructor has no caller to report to
    }
  }

  void on(const event& event) override {
    const spdlog::level::level_enum level = level_of(event.what);
    if (!to_->should_log(level)) return;
    std::vector<suppressed> due;
    const bool allowed = admit(event.what, due);
    write(due);
    if (allowed) to_->log(level, compose(event));
  }

 private:
  struct window {
    instant begin{};
    bool open = false;
    unsigned written = 0;
    std::uint64_t left_out = 0;
  };
  struct suppressed {
    kind which;
    std::uint64_t count;
  };

  // Whether one more line of this kind may be written now. `due` gets the counts that earlier seconds suppressed.
  bool admit(kind which, std::vector<suppressed>& due) {
    if (options_.per_second == 0) return true;
    const instant now = time_.now();
    const base::lock_guard guard(mutex_);
    for (std::size_t i = 0; i != kinds; ++i) {
      window& each = windows_[i];
      if (!each.open || now - each.begin < std::chrono::seconds{1}) continue;
      take_suppressed(i, due);
      each = window{};
    }
    window& mine = windows_[static_cast<std::size_t>(which)];
    if (!mine.open) mine = window{now, true, 0, 0};
    if (mine.written == options_.per_second) {
      ++mine.left_out;
      return false;
    }
    ++mine.written;
    return true;
  }

  void take_suppressed(std::size_t index, std::vector<suppressed>& out) DLOCK_REQUIRES(mutex_) {
    const std::uint64_t count = std::exchange(windows_[index].left_out, 0);
    if (count != 0) out.push_back({static_cast<kind>(index), count});
  }

  void write(const std::vector<suppressed>& all) {
    for (const suppressed& each : all) {
      line out("suppressed");
      out.add("event", to_string(each.which));
      out.add("count", each.count);
      name_service(out);
      to_->log(level_of(each.which), out.text());
    }
  }

  std::string compose(const event& event) const {
    line out(to_string(event.what));
    const detail::shown_texts shown(event, options_.hash_keys);
    if (!event.key.empty()) {
      out.add("key", std::string_view(shown.key));
      if (event.fence != 0) out.add("fence", event.fence);
    }
    detail::add_details(out, event);
    if (!event.text.empty()) out.add("text", std::string_view(shown.text));
    name_service(out);
    return out.text();
  }
  void name_service(line& out) const {
    if (!options_.service.empty()) out.add("service", std::string_view(options_.service));
  }

  const std::shared_ptr<spdlog::logger> to_;
  const spdlog_observer_options options_;
  const time_source& time_;
  base::mutex mutex_;
  std::array<window, kinds> windows_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace

std::shared_ptr<observer> make_spdlog_observer(std::shared_ptr<spdlog::logger> to, spdlog_observer_options options) {
  if (to == nullptr) throw std::invalid_argument("dlock: make_spdlog_observer: the logger is null");
  return std::make_shared<spdlog_observer>(std::move(to), options);
}

}  // namespace dlock
