// SPDX-License-Identifier: BSL-1.0
// Reports each change of a key's holder.
#include <fmt/chrono.h>

#include <chrono>
#include <ctime>
#include <optional>
#include <thread>

#include "client.hpp"
#include "output.hpp"
#include "times.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

/// "2026-11-24T08:00:00.123Z"
std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::time_t{ms / 1000}), ms % 1000);
}

/// What happened to the key between two polls; empty if nothing.
std::string change(const std::optional<holder_info>& before, const std::optional<holder_info>& now) {
  if (!before && !now) return {};
  if (!now) return "released";
  if (!before) return "granted";
  if (before->session != now->session || before->fence != now->fence || before->label != now->label) {
    return before->dead ? "taken_over" : "granted";
  }
  if (!before->revoked && now->revoked) return "revoked";
  if (!before->dead && now->dead) return "dead";
  return {};
}

void print(const std::string& what, const lock_key& key, const std::optional<holder_info>& holder, bool as_json) {
  if (as_json) {
    json out{{"time", now_text()}};
    add_key(out, key.view());
    out["change"] = what;
    if (holder) out["holder"] = to_json(*holder);
    return print_json(out);
  }
  std::string line = fmt::format("{}  {}", now_text(), what);
  if (holder) line += fmt::format("  {}", who(*holder));
  if (holder && holder->fence != 0) line += fmt::format("  fence {}", holder->fence);
  print_line(line);
}

}  // namespace

int watch(const all_options& options) {
  const auto& what = options.watch;
  client with(options.common);
  const auto key = with.key_of(what.key);
  const auto begun = std::chrono::steady_clock::now();
  std::optional<holder_info> last;
  for (bool first = true;; first = false) {
    const auto found = with.holders(key);
    const auto now = found.empty() ? std::nullopt : std::optional(found.front());
    const auto changed = first ? std::string(now ? "held" : "free") : change(last, now);
    if (!changed.empty()) print(changed, key, now, options.common.json);
    last = now;
    if ((what.end == until::free && !now) || (what.end == until::held && now)) return code(exit_code::done);
    if (what.limit && std::chrono::steady_clock::now() - begun >= *what.limit) {
      return code(what.end == until::forever ? exit_code::done : exit_code::no);
    }
    std::this_thread::sleep_for(what.interval);
  }
}

}  // namespace dlock::command
