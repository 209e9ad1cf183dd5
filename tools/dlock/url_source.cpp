// SPDX-License-Identifier: BSL-1.0
#include "url_source.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "exit_code.hpp"

namespace dlock::command {

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string{} : value;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Reads lines "name = value". A line that begins with '#' is a comment. The value may be in double quotes.
std::string url_in(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw failure(exit_code::config, fmt::format("the configuration file '{}' can't be read", path.string()));
  std::string url, line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);  // a byte order mark
    const auto text = trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    const auto refuse = [&](const std::string& why) {
      throw failure(exit_code::config, fmt::format("{}:{}: {}", path.string(), number, why));
    };
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) refuse("a line is: url = mysql://...");
    const auto name = trimmed(text.substr(0, equals));
    auto value = trimmed(text.substr(equals + 1));
    if (name != "url") refuse(fmt::format("there is no setting '{}', only url", name));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (!url.empty()) refuse("url is given twice");
    url = value;
  }
  if (in.bad())
    throw failure(exit_code::config, fmt::format("the configuration file '{}' can't be read", path.string()));
  return url;
}

std::vector<std::filesystem::path> usual_files() {
  std::vector<std::filesystem::path> files;
  if (const auto folder = variable("XDG_CONFIG_HOME"); !folder.empty()) {
    files.push_back(std::filesystem::path(folder) / "dlock.conf");
  } else if (const auto home = variable("HOME"); !home.empty()) {
    files.push_back(std::filesystem::path(home) / ".config" / "dlock.conf");
  }
  files.emplace_back("/etc/dlock.conf");
  return files;
}

/// From a file that was named.
found_url from_named(const std::string& path) {
  auto url = url_in(path);
  if (url.empty()) throw failure(exit_code::config, fmt::format("'{}' has no line 'url = ...'", path));
  return {std::move(url), path};
}

}  // namespace

found_url find_url(const common_options& from) {
  const auto given = [](const char* option, const std::string& value) {
    if (value.empty()) throw failure(exit_code::usage, fmt::format("{} is empty", option));
    return value;
  };
  if (from.url) return {given("--url", *from.url), {}};
  if (from.config) return from_named(given("--config", *from.config));
  if (auto url = variable("DLOCK_URL"); !url.empty()) return {std::move(url), {}};
  if (const auto named = variable("DLOCK_CONFIG"); !named.empty()) return from_named(named);
  for (const auto& each : usual_files()) {
    std::error_code ignored;  // a folder that we can't read has no file for us
    if (!std::filesystem::exists(each, ignored)) continue;
    if (auto url = url_in(each); !url.empty()) return {std::move(url), each.string()};
  }
  return {};
}

std::string need_url(const common_options& from) {
  auto url = find_url(from).url;
  if (!url.empty()) return url;
  throw failure(
      exit_code::usage,
      "no store is named: give --url, set DLOCK_URL, or write 'url = mysql://user:password@host/database' into "
      "~/.config/dlock.conf or /etc/dlock.conf");
}

std::string without_making_tables(const std::string& url) {
  const auto parsed = store_url::parse(url);
  const auto scheme = parsed.params.find("scheme");
  const bool own_tables = (parsed.scheme == "mysql" || parsed.scheme == "sqlite") &&
                          (scheme == parsed.params.end() || scheme->second == "lease_table");
  if (!own_tables || parsed.params.contains("schema")) return url;
  return url + (url.find('?') == std::string::npos ? "?" : "&") + "schema=verify";
}

}  // namespace dlock::command
