// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/store_url.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <stdexcept>

#include "dlock/stores/memory.hpp"

namespace dlock {

namespace {

[[noreturn]] void bad(const std::string& what) { throw std::invalid_argument("dlock: store URL: " + what); }

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text, const char* part) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int a = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int b = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (a < 0 || b < 0) bad(std::string("bad %-escape in the ") + part);
    out.push_back(static_cast<char>(a * 16 + b));
    i += 2;
  }
  return out;
}

void parse_params(store_url& into, std::string_view text) {
  while (!text.empty()) {
    const auto item = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.empty()) continue;
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) bad("a parameter has no name or no '='");
    const auto name = decoded(item.substr(0, equals), "parameters");
    if (!into.params.emplace(name, decoded(item.substr(equals + 1), "parameters")).second) {
      bad("parameter '" + name + "' is given twice");
    }
  }
}

store_url::endpoint parse_endpoint(std::string_view text) {
  store_url::endpoint made;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {  // an IPv6 address
    const auto end = text.find(']');
    if (end == std::string_view::npos) bad("'[' without ']' in the host");
    made.host = std::string(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    if (!text.empty() && text.front() != ':') bad("only ':port' may follow ']'");
    port = text.empty() ? text : text.substr(1);
  } else {
    const auto colon = text.find(':');
    made.host = decoded(text.substr(0, colon), "host");
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  if (port.empty()) return made;
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), made.port);
  if (failed != std::errc{} || end != port.data() + port.size() || made.port == 0) {
    bad("port '" + std::string(port) + "' is not 1 to 65535");
  }
  return made;
}

void parse_authority(store_url& into, std::string_view text) {
  const auto at = text.rfind('@');
  if (at != std::string_view::npos) {
    const auto user = text.substr(0, at);
    const auto colon = user.find(':');
    into.user = decoded(user.substr(0, colon), "user");
    if (colon != std::string_view::npos) into.password = decoded(user.substr(colon + 1), "password");
    text.remove_prefix(at + 1);
  }
  while (!text.empty()) {
    auto comma = text.find(',');
    into.hosts.push_back(parse_endpoint(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
}

bool secret(const std::string& name) {
  return name.find("pass") != std::string::npos || name.find("secret") != std::string::npos ||
         name.find("token") != std::string::npos;
}

struct registry {
  std::mutex mutex;
  std::map<std::string, store_factory> makers;
};

std::shared_ptr<store> open_memory(store_url url) {
  url.expect_no_more_params();
  if (!url.hosts.empty() || !url.user.empty()) bad("memory: has no host and no user, write memory:name");
  if (url.path.empty()) return std::make_shared<stores::memory_store>();
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<store>> named;
  const std::lock_guard lock(mutex);
  auto found = named[url.path].lock();
  if (!found) named[url.path] = found = std::make_shared<stores::memory_store>();
  return found;
}

registry& known() {
  // Never destroyed: stores may be opened by static objects of any translation unit.
  static auto* const instance = [] {
    auto* const made = new registry;
    made->makers.emplace("memory", open_memory);
    return made;
  }();
  return *instance;
}

}  // namespace

store_url store_url::parse(std::string_view text) {
  store_url made;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) bad("no scheme, expected mysql://…, sqlite:path or memory:");
  made.scheme = std::string(text.substr(0, colon));
  auto rest = text.substr(colon + 1);
  if (const auto query = rest.find('?'); query != std::string_view::npos) {
    parse_params(made, rest.substr(query + 1));
    rest = rest.substr(0, query);
  }
  if (rest.substr(0, 2) != "//") {
    made.path = decoded(rest, "path");
    return made;
  }
  rest.remove_prefix(2);
  // A file's path may hold an '@' (sqlite:///var/lib/app@1/locks.db), and no file has a user.
  const bool file = made.scheme == "sqlite" && rest.substr(0, 1) == "/";
  // The last '@' before the path ends the user part, so that a password may hold an unescaped '/'.
  const auto at = file ? std::string_view::npos : rest.rfind('@');
  const auto slash = rest.find('/', at == std::string_view::npos ? 0 : at);
  const auto authority = rest.substr(0, slash);
  parse_authority(made, authority);
  // Behind nothing, as in sqlite:///var/locks.db, the slash belongs to the path: without it the file would be another.
  if (slash != std::string_view::npos) made.path = decoded(rest.substr(authority.empty() ? slash : slash + 1), "path");
  return made;
}

std::string store_url::redacted() const {
  std::string text = scheme + ":";
  if (!hosts.empty() || !user.empty()) {
    text += "//" + user + (password.empty() ? "" : ":***") + (user.empty() ? "" : "@");
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      text += (i == 0 ? "" : ",") + hosts[i].host;
      if (hosts[i].port != 0) text += ":" + std::to_string(hosts[i].port);
    }
    text += "/";
  }
  text += path;
  char separator = '?';
  for (const auto& [name, value] : params) {
    text += separator + name + "=" + (secret(name) ? "***" : value);
    separator = '&';
  }
  return text;
}

std::string store_url::take_param(const std::string& name, std::string fallback) {
  const auto found = params.find(name);
  if (found == params.end()) return fallback;
  auto value = std::move(found->second);
  params.erase(found);
  return value;
}

void store_url::expect_no_more_params() const {
  if (!params.empty()) bad("unknown parameter '" + params.begin()->first + "' for " + scheme);
}

bool register_store(std::string scheme, store_factory make) {
  auto& all = known();
  const std::lock_guard lock(all.mutex);
  return all.makers.emplace(std::move(scheme), std::move(make)).second;
}

std::shared_ptr<store> open_store(std::string_view url) {
  auto parsed = store_url::parse(url);
  store_factory make;
  {
    auto& all = known();
    const std::lock_guard lock(all.mutex);
    const auto found = all.makers.find(parsed.scheme);
    if (found == all.makers.end()) {
      bad("scheme '" + parsed.scheme + "' is unknown; link dlock::" +
          (parsed.scheme == "mysql" || parsed.scheme == "sqlite" ? parsed.scheme : "sqlite or dlock::mysql") +
          " and include dlock/dlock.hpp");
    }
    make = found->second;
  }
  return make(std::move(parsed));
}

}  // namespace dlock
