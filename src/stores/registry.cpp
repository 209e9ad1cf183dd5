// SPDX-License-Identifier: BSL-1.0
#include "base/mutex.hpp"
#include "dlock/store_interface/store_url.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <stdexcept>

#include "dlock/stores/memory.hpp"

namespace dlock {

namespace {

[[noreturn]] void bad(const std::string& problem) { throw std::invalid_argument("dlock: store URL: " + problem); }

std::string decoded(std::string_view text, const char* part) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const auto digits = text.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto* const end = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16).ptr;
    if (digits.size() != 2 || end != digits.data() + 2) bad(std::string("bad %-escape in the ") + part);
    out.push_back(static_cast<char>(byte));
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
      bad("parameter " + (into.unclear ? "" : "'" + name + "' ") + "is given twice");
    }
  }
}

void check_host(std::string_view host) {
  const auto odd = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80 && std::isalnum(byte) == 0 && std::string_view(".-_:%").find(c) == std::string_view::npos;
  };
  if (std::any_of(host.begin(), host.end(), odd)) bad("a host has a character that no host's name has");
}

// From here on no message quotes the text, because a part of a password may stand where a host is expected.
store_url::endpoint parse_endpoint(std::string_view text) {
  store_url::endpoint endpoint;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {  // an IPv6 address
    const auto end = text.find(']');
    if (end == std::string_view::npos) bad("'[' without ']' in the host");
    endpoint.host = std::string(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    if (!text.empty() && text.front() != ':') bad("only ':port' may follow ']'");
    port = text.empty() ? text : text.substr(1);
  } else {
    const auto colon = text.find(':');
    endpoint.host = decoded(text.substr(0, colon), "host");
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  check_host(endpoint.host);
  if (port.empty()) return endpoint;
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (failed != std::errc{} || end != port.data() + port.size() || endpoint.port == 0) {
    bad("a port is not 1 to 65535 (where a user and password are given, '@' and a host must follow them)");
  }
  return endpoint;
}

void parse_authority(store_url& into, std::string_view text) {
  const auto at = text.rfind('@');
  if (at != std::string_view::npos) {
    const auto user = text.substr(0, at);
    const auto colon = user.find(':');
    if (user.substr(0, colon).find_first_of("/@") != std::string_view::npos) {
      bad("in a user '/' is written %2F and '@' %40; a password follows it after ':'");
    }
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
  base::mutex mutex;
  std::map<std::string, store_factory> makers DLOCK_GUARDED_BY(mutex);
};

std::shared_ptr<store> open_memory(store_url url) {
  url.expect_no_more_params();
  if (!url.hosts.empty() || !url.user.empty()) bad("memory: has no host and no user, write memory:name");
  if (url.path.empty()) return std::make_shared<stores::memory_store>();
  static base::mutex mutex;
  static std::map<std::string, std::weak_ptr<store>> named DLOCK_GUARDED_BY(mutex);
  const base::lock_guard lock(mutex);
  auto found = named[url.path].lock();
  if (!found) named[url.path] = found = std::make_shared<stores::memory_store>();
  return found;
}

registry& known() {
  // Never destroyed, because static objects of any translation unit may open stores.
  static auto* const instance = [] {
    auto* const stores = new registry;
    const base::lock_guard lock(stores->mutex);
    stores->makers.emplace("memory", open_memory);
    return stores;
  }();
  return *instance;
}

/// The schemes of cmake/stores.cmake, whether their libraries are linked or not.
struct scheme_library {
  std::string_view scheme;
  const char* library;
  bool needs_no_user;
};
constexpr scheme_library all_schemes[]{
#include "store_schemes.inc"
};
const scheme_library* known_scheme(std::string_view scheme) {
  const auto* const found = std::find_if(std::begin(all_schemes), std::end(all_schemes),
                                         [&](const auto& each) { return each.scheme == scheme; });
  return found == std::end(all_schemes) ? nullptr : found;
}
bool is_redis(std::string_view scheme) { return scheme == "redis" || scheme == "rediss" || scheme == "redlock"; }
/// Whether URLs of that scheme usually name no user.
bool needs_no_user(std::string_view scheme) {
  const auto* const found = known_scheme(scheme);
  return found != nullptr && found->needs_no_user;
}
/// Null if the scheme is unknown.
const char* library_of(std::string_view scheme) {
  const auto* const found = known_scheme(scheme);
  return found == nullptr ? nullptr : found->library;
}

bool is_known(const std::string& scheme) {
  auto& all = known();
  const base::lock_guard lock(all.mutex);
  return scheme == "sqlite" || all.makers.contains(scheme);
}

/// The scheme at the beginning of a database URL. A text without one is shown only if it looks like a file's name.
std::string scheme_of(std::string_view text) {
  constexpr auto letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr auto others = "0123456789+-.";
  const auto end = text.find(':');
  const auto scheme = text.substr(0, end);
  const auto plain = scheme.find_first_not_of(std::string(letters) + others) == std::string_view::npos;
  if (end != std::string_view::npos && plain && !scheme.empty() && scheme.find_first_of(letters) == 0) {
    return scheme == "mariadb" ? "mysql" : std::string(scheme);
  }
  std::string expected =
      "no scheme, expected mysql://user:password@host/database, redis://host, sqlite:path or memory:";
  const auto last = text.substr(text.find_last_of('/') + 1);
  const bool file = end == std::string_view::npos && text.find('@') == std::string_view::npos;
  bad(expected + (file && last.find('.') != std::string_view::npos ? "; a file is sqlite:" + std::string(text) : ""));
}

/// Whether the query begins before a path, after what may be a user and password.
bool is_cut_short(std::string_view authority) {
  return authority.find('/') == std::string_view::npos && authority.find_first_of(":@") != std::string_view::npos;
}

}  // namespace

store_url store_url::parse(std::string_view text) {
  store_url url;
  url.scheme = scheme_of(text);
  auto rest = text.substr(text.find(':') + 1);
  // A file has no user or host. Its path may contain an '@', and includes its first slash.
  const bool file = url.scheme == "sqlite" && rest.substr(0, 3) == "///";
  if (file) rest.remove_prefix(2);
  const bool has_authority = !file && rest.substr(0, 2) == "//";
  if (!has_authority && url.scheme == "mysql") {
    bad("mysql: must be followed by two slashes: mysql://user:password@host/database");
  }
  if (!has_authority && is_redis(url.scheme)) {
    bad(url.scheme + ": must be followed by two slashes: " + url.scheme + "://host:port");
  }
  const auto query = rest.find('?');
  const auto parameters = query == std::string_view::npos ? std::string_view{} : rest.substr(query + 1);
  rest = rest.substr(0, query);
  if (!has_authority) {
    url.unclear = !is_known(url.scheme);  // perhaps it is a user, and the scheme was forgotten
    parse_params(url, parameters);
    url.path = decoded(rest, "path");
    return url;
  }
  rest.remove_prefix(2);
  url.unclear = !needs_no_user(url.scheme) && rest.find('@') == std::string_view::npos;
  const bool plain_host = needs_no_user(url.scheme) && rest.find('@') == std::string_view::npos;
  const bool cut_short = query != std::string_view::npos && !plain_host && is_cut_short(rest);
  if (parameters.find('@') != std::string_view::npos || cut_short) {
    bad("a parameter has an '@' (written %40 there), or '?' follows a host or user without the '/' of a path (in a "
        "user or "
        "password '?' is written %3F)");
  }
  parse_params(url, parameters);
  // The last '@' before the path ends the user part, so that a password may hold an unescaped '/'.
  const auto at = rest.rfind('@');
  const auto slash = rest.find('/', at == std::string_view::npos ? 0 : at);
  parse_authority(url, rest.substr(0, slash));
  if (slash != std::string_view::npos) url.path = decoded(rest.substr(slash + 1), "database name");
  return url;
}

std::string store_url::redacted() const {
  std::string text = scheme + ":";
  if (!hosts.empty() || !user.empty() || !password.empty()) {
    text += "//" + user + (password.empty() ? "" : ":***") + (user.empty() && password.empty() ? "" : "@");
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const auto& host = hosts[i].host;
      text += (i == 0 ? "" : ",") + (host.find(':') == std::string::npos ? host : "[" + host + "]");
      if (hosts[i].port != 0) text += ":" + std::to_string(hosts[i].port);
    }
    text += "/";
  }
  if (unclear && hosts.empty()) return text + "***";
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

std::int64_t store_url::take_number(const std::string& name, std::int64_t fallback, std::int64_t least,
                                    std::int64_t most, std::string_view unit) {
  const auto text = take_param(name, std::to_string(fallback));
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return value;
  const auto range = std::to_string(least) + " to " + std::to_string(most);
  throw std::invalid_argument("dlock: " + scheme + " URL: " + name + "=" + text + " is not " + range +
                              (unit.empty() ? "" : " (" + std::string(unit) + ")"));
}

void store_url::expect_no_more_params() const {
  if (params.empty()) return;
  bad("unknown parameter " + (unclear ? "" : "'" + params.begin()->first + "' ") + "for " + scheme);
}

bool register_store(std::string scheme, store_factory make) {
  auto& all = known();
  const base::lock_guard lock(all.mutex);
  return all.makers.emplace(std::move(scheme), std::move(make)).second;
}

std::shared_ptr<store> open_store(std::string_view url) {
  auto parsed = store_url::parse(url);
  store_factory make;
  {
    auto& all = known();
    const base::lock_guard lock(all.mutex);
    const auto found = all.makers.find(parsed.scheme);
    if (found == all.makers.end()) {
      const auto* const library = library_of(parsed.scheme);
      if (library != nullptr) {
        bad("scheme '" + parsed.scheme + "' is unknown; link dlock::" + library +
            " (without CMake also by -Wl,-u,dlock_register_" + library + ")");
      }
      std::string schemes;
      for (const auto& [scheme, maker] : all.makers) schemes += (schemes.empty() ? "" : ", ") + scheme;
      bad("dlock has no store for scheme '" + parsed.scheme + "'; this program has stores for: " + schemes);
    }
    make = found->second;
  }
  return make(std::move(parsed));
}

}  // namespace dlock
