// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/settings.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

namespace dlock::stores::sqlite {

namespace {

[[noreturn]] void bad(const std::string& problem) { throw std::invalid_argument("dlock: sqlite URL: " + problem); }

bool parse_any_file_system(const std::string& text) {
  if (text != "local" && text != "any") bad(fmt::format("filesystem={} is not local or any", text));
  return text == "any";
}

void check_path(const store_url& url) {
  if (!url.hosts.empty() || !url.user.empty() || !url.password.empty()) {
    // The message does not quote it, because it may have been meant as a password.
    bad("what stands between '//' and the next '/' is a user and a host, and a file has no user and no host: write "
        "sqlite:path for a path relative to the working directory, sqlite:/path or sqlite:///path for an absolute one");
  }
  if (url.path.empty()) bad("the path is empty");
  if (url.path.ends_with('/')) bad(fmt::format("the path '{}' is a folder, the file has no name", url.path));
  if (url.path.find('\0') != std::string::npos) bad("the path contains a zero byte");
  if (url.path == ":memory:" || url.path.starts_with("file:")) {
    bad(fmt::format("'{}' is no file that processes can share: for locks within one process use memory:", url.path));
  }
}

}  // namespace

sqlite_settings sqlite_settings::take(store_url& url) {
  sqlite_settings settings;
  settings.name = url.redacted();
  check_path(url);
  // Made absolute, because the process may change its working directory.
  const auto slashes = url.path.find_first_not_of('/');  // several count as one
  settings.path = std::filesystem::absolute(url.path.substr(slashes > 1 ? slashes - 1 : 0)).string();
  settings.busy_timeout = std::chrono::milliseconds{url.take_number("busy_timeout", 5'000, 1, 3'600'000, "ms")};
  settings.any_file_system = parse_any_file_system(url.take_param("filesystem", "local"));
  return settings;
}

}  // namespace dlock::stores::sqlite
