// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/client/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace dlock::stores::zookeeper {
namespace {

constexpr std::uint16_t default_port = 2181;

[[noreturn]] void bad(const std::string& text) {
  throw std::invalid_argument(fmt::format("dlock: zookeeper URL: {}", text));
}

std::chrono::milliseconds take_timeout(store_url& url, const char* name) {
  return std::chrono::milliseconds{url.take_number(name, 5'000, 1, 3'600'000, "milliseconds")};
}

std::vector<std::string> servers_of(const store_url& url) {
  if (url.hosts.empty()) bad("there is no host");
  std::vector<std::string> all;
  for (const auto& host : url.hosts) {
    if (host.host.empty()) bad("a host has no name");
    const auto port = host.port == 0 ? default_port : host.port;
    const bool numbers = host.host.find(':') != std::string::npos;  // IPv6
    all.push_back(fmt::format("{}{}{}:{}", numbers ? "[" : "", host.host, numbers ? "]" : "", port));
  }
  return all;
}

/// Of a path without a slash at its end: "" or "/a/b".
void check_path(const char* name, std::string_view path) {
  for (auto rest = path; !rest.empty();) {
    const auto part = rest.substr(1, rest.find('/', 1) - 1);
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const bool plain = std::all_of(part.begin(), part.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (part.empty() || part == "." || part == ".." || !plain) {
      bad(fmt::format("{}={} is not a path of printable ASCII names", name, path));
    }
  }
  if (path.size() > 200) bad(fmt::format("{} has {} characters, which is more than 200", name, path.size()));
  if (path == "/zookeeper" || path.starts_with("/zookeeper/")) bad("/zookeeper belongs to the server");
}

std::string without_last_slash(std::string path) {
  if (path.ends_with('/')) path.pop_back();
  return path;
}

node_names parse_names(const std::string& text) {
  if (text == "curator") return node_names::curator;
  if (text == "kazoo") return node_names::kazoo;
  bad(fmt::format("names={} is not curator or kazoo", text));
}

}  // namespace

zookeeper_settings zookeeper_settings::parse(store_url url) {
  zookeeper_settings settings;
  settings.name = url.redacted();
  settings.servers = servers_of(url);
  if (url.user.empty() != url.password.empty()) bad("a user and a password need each other");
  if (!url.user.empty()) settings.digest = url.user + ":" + url.password;
  const auto root = without_last_slash(url.path.starts_with('/') ? url.path : "/" + url.path);
  check_path("path", root);
  const auto base = without_last_slash(url.take_param("base", "/dlock"));
  if (!base.empty() && !base.starts_with('/')) bad(fmt::format("base={} does not begin with '/'", base));
  check_path("base", base);
  settings.base = root + base;
  settings.names = parse_names(url.take_param("names", "curator"));
  settings.connect_timeout = take_timeout(url, "connect_timeout");
  settings.statement_timeout = take_timeout(url, "statement_timeout");
  url.expect_no_more_params();
  return settings;
}

}  // namespace dlock::stores::zookeeper
