// SPDX-License-Identifier: BSL-1.0
#include "dlock/event_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "dlock/lock_key.hpp"
#include "observers/event_details.hpp"

namespace dlock {

namespace {

/// A JSON string. printable_text() makes broken UTF-8 readable, and leaves only these characters to escape.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : detail::printable_text(text)) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + '"';
}

/// Builds one line.
class json_line {
 public:
  void add(std::string_view name, std::string_view value) { fmt::format_to(to(), "{}{}", begin(name), quoted(value)); }
  void add(std::string_view name, std::int64_t value) { fmt::format_to(to(), "{}{}", begin(name), value); }
  void add(std::string_view name, std::uint64_t value) { fmt::format_to(to(), "{}{}", begin(name), value); }
  void add(std::string_view name, std::chrono::microseconds value) { add(name, std::int64_t{value.count()}); }
  void add(std::string_view name, bool value) { fmt::format_to(to(), "{}{}", begin(name), value); }
  std::string end() && {
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  std::back_insert_iterator<std::string> to() { return std::back_inserter(text_); }
  std::string_view begin(std::string_view name) {
    fmt::format_to(to(), "{}\"{}\":", text_.empty() ? "{" : ",", name);
    return {};
  }
  std::string text_{};
};

std::string host_name() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) return "unknown";
  return text.data();
}

using time_point = std::chrono::system_clock::time_point;

int open_file(const std::string& path) noexcept {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

class event_log final : public observer {
 public:
  event_log(const std::string& path, event_log_options options)
      : options_(std::move(options)),
        path_(std::filesystem::absolute(path).string()),  // the program may change its working directory
        host_(host_name()),
        file_(open_file(path_)) {
    if (file_ < 0) fail("opening");
  }
  event_log(const event_log&) = delete;
  event_log& operator=(const event_log&) = delete;
  ~event_log() override { ::close(file_); }

  void on(const event& event) override {
    const auto now = options_.now ? options_.now() : std::chrono::system_clock::now();
    const auto text = compose(event, now);
    int not_reopened = 0;
    if (due(now)) not_reopened = reopen();
    // One call per line, so that lines of other processes do not mix with it.
    const auto written = ::write(file_, text.data(), text.size());
    if (written < 0) fail("writing to");
    if (static_cast<std::size_t>(written) != text.size()) {
      errno = ENOSPC;
      fail("writing to");
    }
    if (not_reopened != 0) {
      errno = not_reopened;
      fail("reopening");
    }
  }

 private:
  [[noreturn]] void fail(const char* doing) const {
    throw std::system_error(errno, std::generic_category(), fmt::format("dlock: {} the event log '{}'", doing, path_));
  }

  /// Whether this event checks the file, which one event a second does. A clock that was set back counts as a second.
  bool due(time_point now) noexcept {
    auto before = looked_.load(std::memory_order_relaxed);
    if (now >= before && now - before < std::chrono::seconds{1}) return false;
    return looked_.compare_exchange_strong(before, now, std::memory_order_relaxed);
  }

  /// Opens the path again if the file was renamed or removed. Returns an error number, or 0.
  int reopen() const noexcept {
    struct ::stat ours {
    }, there{};
    if (::fstat(file_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino) {
      return 0;
    }
    const int made = open_file(path_);
    if (made < 0) return errno;
    // dup3() replaces the file in one step, so another thread writes to the old file or to the new one.
    const int failed = ::dup3(made, file_, O_CLOEXEC) < 0 ? errno : 0;
    ::close(made);
    return failed;
  }

  std::string compose(const event& event, time_point now) const {
    json_line out;
    const detail::shown_texts shown(event, options_.hash_keys);
    out.add("time_us", std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()));
    out.add("host", host_);
    out.add("pid", std::int64_t{::getpid()});
    if (!options_.service.empty()) out.add("service", options_.service);
    out.add("event", to_string(event.what));
    if (!event.key.empty()) out.add("key", std::string_view(shown.key));
    if (event.fence != 0) out.add("fence", event.fence);
    detail::add_details(out, event);
    if (!event.text.empty()) out.add("text", std::string_view(shown.text));
    return std::move(out).end();
  }

  const event_log_options options_;
  const std::string path_;
  const std::string host_;
  const int file_;
  std::atomic<time_point> looked_{time_point{}};
};

}  // namespace

std::shared_ptr<observer> make_event_log(const std::string& path, event_log_options options) {
  return std::make_shared<event_log>(path, std::move(options));
}

}  // namespace dlock
