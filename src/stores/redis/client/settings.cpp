// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <utility>

#include "stores/credentials.hpp"

namespace dlock::stores::redis {
namespace {

constexpr std::uint16_t default_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;
constexpr auto set_credentials = "set_redis_credentials";

[[noreturn]] void bad(const std::string& text, const char* scheme = "redis") {
  throw std::invalid_argument(fmt::format("dlock: {} URL: {}", scheme, text));
}

std::chrono::milliseconds take_ms(store_url& url, const char* name, std::chrono::milliseconds otherwise,
                                  std::int64_t least, std::int64_t most) {
  return std::chrono::milliseconds{url.take_number(name, otherwise.count(), least, most, "milliseconds")};
}

persistence parse_persistence(const std::string& text) {
  if (text == "always") return persistence::always;
  if (text == "everysec") return persistence::everysec;
  if (text == "none") return persistence::none;
  bad(fmt::format("persistence={} is not always, everysec or none", text));
}

tls_mode parse_tls(const std::string& text) {
  if (text == "off") return tls_mode::off;
  if (text == "require") return tls_mode::require;
  if (text == "verify") return tls_mode::verify;
  bad(fmt::format("tls={} is not off, require or verify", text));
}

void take_tls(redis_settings& into, store_url& url) {
  const bool by_scheme = url.scheme == "rediss";
  into.tls.mode = parse_tls(url.take_param("tls", by_scheme ? "verify" : "off"));
  into.tls.ca = url.take_param("tls_ca");
  into.tls.cert = url.take_param("tls_cert");
  into.tls.key = url.take_param("tls_key");
  if (into.tls.cert.empty() != into.tls.key.empty()) bad("tls_cert and tls_key need each other");
  if (into.tls.mode != tls_mode::off) {
    if (!tls_session::available()) bad("this dlock was built without TLS (DLOCK_REDIS_TLS)");
    if (!into.socket.empty()) bad("tls= and socket= exclude each other");
    return;
  }
  if (by_scheme) bad("tls=off does not go with rediss:");
  if (!(into.tls.ca + into.tls.cert).empty()) bad("tls=off, the default, does not go with tls_ca, tls_cert or tls_key");
}

void take_sentinel(redis_settings& into, store_url& url) {
  into.sentinel = url.take_param("sentinel");
  into.sentinel_user = url.take_param("sentinel_user");
  into.sentinel_password = url.take_param("sentinel_password");
  if (!into.sentinel_user.empty() && into.sentinel_password.empty()) bad("sentinel_user needs sentinel_password");
  if (into.sentinel.empty() && !into.sentinel_password.empty()) bad("sentinel_password needs sentinel=");
}

void take_hosts(redis_settings& into, store_url& url) {
  into.socket = url.take_param("socket");
  if (!into.socket.empty() && !into.sentinel.empty()) bad("socket= and sentinel= exclude each other");
  into.hosts = std::move(url.hosts);
  if (into.socket.empty()) {
    if (into.hosts.empty()) bad("there is no host and no socket=");
    for (auto& host : into.hosts) {
      if (host.host.empty()) bad("a host has no name");
      if (host.port == 0) host.port = into.sentinel.empty() ? default_port : sentinel_port;
    }
    return;
  }
  for (const auto& host : into.hosts) {
    if (!host.host.empty() || host.port != 0) bad("socket= and a host exclude each other");
  }
  into.hosts.assign(1, {});
}

void check_prefix(const std::string& text) {
  const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == ':'; };
  if (text.empty() || text.size() > 40 || !std::all_of(text.begin(), text.end(), good)) {
    bad(fmt::format("prefix={} is not 1 to 40 letters, digits, '_' and ':'", text));
  }
}

}  // namespace

redis_settings redis_settings::parse(store_url url) {
  auto settings = take(url);
  settings.take_wake(url);
  url.expect_no_more_params();
  return settings;
}

redis_settings redis_settings::take(store_url& url, const std::string& default_prefix) {
  redis_settings settings;
  settings.name = url.redacted();
  url.take_param("scheme");
  settings.user = url.user;
  settings.password = url.password;
  if (!settings.user.empty() && settings.password.empty()) bad("a user needs a password");
  settings.credentials =
      stores::credentials<stores::redis_login>::take(url, set_credentials, [](const auto& text) { bad(text); });
  // Also for redis:///0, which has no host before the path.
  settings.database = url.path.substr(url.path.starts_with('/') ? 1 : 0);
  if (settings.database.empty()) settings.database = "0";
  if (settings.database.size() > 6 || settings.database.find_first_not_of("0123456789") != std::string::npos) {
    bad(fmt::format("database={} is not 0 to 999999", settings.database));
  }
  take_sentinel(settings, url);
  take_hosts(settings, url);
  take_tls(settings, url);
  settings.least = parse_persistence(url.take_param("persistence", "everysec"));
  constexpr std::int64_t hour = 3'600'000;
  settings.connect_timeout = take_ms(url, "connect_timeout", settings.connect_timeout, 1, hour);
  settings.statement_timeout = take_ms(url, "statement_timeout", settings.statement_timeout, 1, hour);
  settings.prefix = url.take_param("prefix", default_prefix);
  if (!settings.prefix.empty() || !default_prefix.empty()) check_prefix(settings.prefix);
  return settings;
}

stores::redis_login redis_settings::login() const {
  if (credentials.empty()) return {user, password};
  try {
    return stores::credentials<stores::redis_login>::find(credentials)();
  } catch (const std::exception& problem) {
    throw std::runtime_error(fmt::format("credentials={}: {}", credentials, problem.what()));
  }
}

void redis_settings::take_wake(store_url& url) {
  const auto text = url.take_param("wake", "on");
  if (text != "on" && text != "off") bad(fmt::format("wake={} is not on or off", text));
  wake = text == "on";
}

std::string redis_settings::where(const store_url::endpoint& host) const {
  if (!socket.empty()) return socket;
  return host.host.find(':') == std::string::npos ? fmt::format("{}:{}", host.host, host.port)
                                                  : fmt::format("[{}]:{}", host.host, host.port);
}

lease_settings lease_settings::parse(store_url url) {
  lease_settings settings{take(url, "dlock:")};
  settings.expire = false;
  const auto fences = url.take_param("fences", "clock");
  if (fences != "clock" && fences != "count") bad(fmt::format("fences={} is not clock or count", fences));
  settings.by_clock = fences == "clock";
  url.expect_no_more_params();
  return settings;
}

redlock_settings redlock_settings::parse(store_url url) {
  constexpr std::size_t least = 3;
  const auto refuse = [](const std::string& text) { bad(text, "redlock"); };
  if (url.params.contains("socket")) refuse("socket= is one server; name the hosts of three or more masters");
  for (const char* strange : {"scheme", "sentinel"}) {
    if (url.params.contains(strange)) refuse(fmt::format("there is no {}=", strange));
  }
  auto name = url.redacted();
  // The other masters make up for what one loses in a crash.
  url.params.emplace("persistence", "none");
  redlock_settings settings{redis_settings::take(url)};
  settings.name = std::move(name);
  if (settings.hosts.size() < least) {
    refuse(
        fmt::format("{} of the {} masters that a majority needs at least; for one server there is "
                    "redis://host?scheme=setnx",
                    settings.hosts.size(), least));
  }
  std::set<std::string> named;
  for (const auto& host : settings.hosts) {
    if (!named.insert(settings.where(host)).second) refuse(fmt::format("{} is named twice", settings.where(host)));
  }
  settings.take_wake(url);
  constexpr std::int64_t day = 86'400'000;
  settings.master_timeout = take_ms(url, "master_timeout", settings.master_timeout, 1, day);
  settings.restart_delay = take_ms(url, "restart_delay", settings.restart_delay, 0, day);
  url.expect_no_more_params();
  return settings;
}

}  // namespace dlock::stores::redis

namespace dlock::stores {

void set_redis_credentials(std::string name, std::function<redis_login()> ask) {
  credentials<redis_login>::set(redis::set_credentials, std::move(name), std::move(ask));
}

}  // namespace dlock::stores
