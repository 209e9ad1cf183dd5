// SPDX-License-Identifier: BSL-1.0
#include "output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "dlock/lock_key.hpp"
#include "exit_code.hpp"

namespace dlock::command {

namespace {

/// The size of the text's first character.
std::size_t bytes_of_first(std::string_view text) noexcept {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) ++size;
  return size;
}

/// The columns of the text's first character. From U+3000 on most take two.
std::size_t columns_of_first(std::string_view text) noexcept {
  return static_cast<unsigned char>(text.front()) >= 0xe3 ? 2 : 1;
}

double seconds(std::chrono::microseconds time) { return static_cast<double>(time.count()) / 1e6; }

}  // namespace

std::size_t columns_of(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    columns += columns_of_first(text);
    text.remove_prefix(bytes_of_first(text));
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  std::string kept;
  std::size_t used = 0;
  while (!text.empty()) {
    const auto next = columns_of_first(text);
    if (used + next > columns) break;
    used += next;
    kept += text.substr(0, bytes_of_first(text));
    text.remove_prefix(bytes_of_first(text));
  }
  return kept;
}

std::vector<std::string> text_table::lines(std::size_t width) const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i != row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::vector<std::string> made;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i != row.size(); ++i) {
      line += row[i];
      if (i + 1 != row.size()) line.append(widths[i] - columns_of(row[i]) + 2, ' ');
    }
    made.push_back(width == 0 ? line : cut(line, width));
  }
  return made;
}

std::string who(const holder_info& holder) {
  // A min_hold, or a lease with its own expiry, outlives its program and the program's session.
  if (holder.host.empty() && holder.label.empty()) {
    return holder.kind == lease_kind::expiring && holder.session ? "(ended)" : "?";
  }
  if (holder.host.empty()) return detail::printable_text(holder.label);
  return detail::printable_text(
      fmt::format("{}/{}{}{}", holder.host, holder.pid, holder.label.empty() ? "" : " ", holder.label));
}

std::string state_of(const holder_info& holder) {
  if (holder.dead) return "dead";
  if (holder.revoked) return "revoked";
  return holder.lingers ? "lingers" : "held";
}

const char* kind_of(const holder_info& holder) noexcept {
  switch (holder.kind) {
    case lease_kind::session: return "session";
    case lease_kind::expiring: return "expiring";
    case lease_kind::column: return "column";
    case lease_kind::connection: return "connection";
  }
  return "unknown";
}

std::string json_text(std::string_view text) {
  try {
    static_cast<void>(json(text).dump());
    return std::string(text);
  } catch (const json::exception&) {  // it is not UTF-8
    return detail::printable_text(text);
  }
}

void add_key(json& to, std::string_view key) {
  const bool is_text = json_text(key) == key;
  if (is_text) to["key"] = key;
  if (!is_text || key.find('\0') != std::string_view::npos) to["key_escaped"] = detail::printable_text(key);
}

std::string unescaped(std::string_view printed) {
  std::string made;
  while (!printed.empty()) {
    if (printed[0] != '\\') {
      made += printed[0];
      printed.remove_prefix(1);
      continue;
    }
    unsigned byte = '\\';
    std::size_t size = printed.starts_with("\\\\") ? 2 : 0;
    if (size == 0 && printed.size() >= 4 && printed[1] == 'x') {
      const auto [end, failed] = std::from_chars(printed.data() + 2, printed.data() + 4, byte, 16);
      if (failed == std::errc{} && end == printed.data() + 4) size = 4;
    }
    if (size == 0) {
      throw failure(exit_code::usage, fmt::format("--escaped: '{}' does not begin with \\xHH or \\\\", printed));
    }
    made += static_cast<char>(byte);
    printed.remove_prefix(size);
  }
  return made;
}

json to_json(const holder_info& holder) {
  json out = json::object();
  add_key(out, holder.key);
  out["state"] = state_of(holder);
  out["kind"] = kind_of(holder);
  if (holder.fence != 0) out["fence"] = holder.fence;
  if (holder.session) out["session"] = holder.session.hex();
  if (!holder.host.empty()) {
    out["host"] = json_text(holder.host);
    out["pid"] = holder.pid;
  }
  out["label"] = json_text(holder.label);
  if (holder.since.count() != 0) out["held_seconds"] = seconds(holder.since);
  if (holder.remaining.count() != 0) out["remaining_seconds"] = seconds(holder.remaining);
  if (holder.waiters) out["waiters"] = *holder.waiters;
  return out;
}

json to_json(const session_info& session) {
  json out{{"session", session.id.hex()}, {"host", json_text(session.host)},
           {"pid", session.pid},          {"label", json_text(session.label)},
           {"locks", session.locks},      {"state", session.dead ? "dead" : session.revoked ? "revoked" : "alive"}};
  if (session.ttl.count() != 0) out["ttl_seconds"] = seconds(session.ttl);
  if (session.age.count() != 0) out["age_seconds"] = seconds(session.age);
  if (session.remaining.count() != 0) out["remaining_seconds"] = seconds(session.remaining);
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string without_name(const std::string& text) { return text.starts_with("dlock: ") ? text.substr(7) : text; }

void print_line(std::string_view text) {
  std::string line(text);
  line += '\n';
  if (std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) std::_Exit(static_cast<int>(exit_code::done));  // head(1) needs no more
  throw failure(exit_code::internal, fmt::format("writing the answer: {}", std::strerror(errno)));
}

void print_json(const json& value) { print_line(text_of(value)); }

std::string text_of(const json& value) {
  constexpr auto replace = json::error_handler_t::replace;
  auto text = value.dump(-1, ' ', false, replace);
  const bool harmless = detail::printable_text(text) == replaced(text, "\\", "\\\\");
  return harmless ? text : value.dump(-1, ' ', true, replace);
}

}  // namespace dlock::command
