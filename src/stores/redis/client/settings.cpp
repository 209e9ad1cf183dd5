// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace dlock::stores::redis {
namespace {

constexpr std::uint16_t default_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

[[noreturn]] void bad(const std::string& text) {
  throw std::invalid_argument(fmt::format("dlock: redis URL: {}", text));
}

std::chrono::milliseconds take_timeout(store_url& url, const char* name) {
  return std::chrono::milliseconds{url.take_number(name, 5'000, 1, 3'600'000, "milliseconds")};
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

}  // namespace

redis_settings redis_settings::take(store_url& url) {
  redis_settings settings;
  settings.name = url.redacted();
  url.take_param("scheme");
  settings.user = url.user;
  settings.password = url.password;
  if (!settings.user.empty() && settings.password.empty()) bad("a user needs a password");
  // Of redis:///0 too, where no host stands before it.
  settings.database = url.path.substr(url.path.starts_with('/') ? 1 : 0);
  if (settings.database.empty()) settings.database = "0";
  if (settings.database.size() > 6 || settings.database.find_first_not_of("0123456789") != std::string::npos) {
    bad(fmt::format("database={} is not 0 to 999999", settings.database));
  }
  take_sentinel(settings, url);
  take_hosts(settings, url);
  take_tls(settings, url);
  settings.least = parse_persistence(url.take_param("persistence", "everysec"));
  settings.connect_timeout = take_timeout(url, "connect_timeout");
  settings.statement_timeout = take_timeout(url, "statement_timeout");
  return settings;
}

std::string redis_settings::checked_prefix(std::string text) {
  const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == ':'; };
  if (text.empty() || text.size() > 40 || !std::all_of(text.begin(), text.end(), good)) {
    bad(fmt::format("prefix={} is not 1 to 40 letters, digits, '_' and ':'", text));
  }
  return text;
}

std::string redis_settings::where(const store_url::endpoint& host) const {
  if (!socket.empty()) return socket;
  return host.host.find(':') == std::string::npos ? fmt::format("{}:{}", host.host, host.port)
                                                  : fmt::format("[{}]:{}", host.host, host.port);
}

}  // namespace dlock::stores::redis
