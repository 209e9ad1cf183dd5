// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/settings.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace dlock::stores::mysql {
namespace {

constexpr std::uint16_t default_port = 3306;

[[noreturn]] void bad(const std::string& text) {
  throw std::invalid_argument(fmt::format("dlock: mysql URL: {}", text));
}

tls_mode parse_tls(const std::string& text) {
  if (text == "off") return tls_mode::off;
  if (text == "prefer") return tls_mode::prefer;
  if (text == "require") return tls_mode::require;
  if (text == "verify") return tls_mode::verify;
  bad(fmt::format("tls={} is not off, prefer, require or verify", text));
}

std::chrono::milliseconds take_timeout(store_url& url, const char* name) {
  return std::chrono::milliseconds{url.take_number(name, 5'000, 1, 3'600'000, "milliseconds")};
}

void take_tls(mysql_settings& into, store_url& url) {
  // A socket leads to this machine, so the connection can't be read on the way.
  into.tls = parse_tls(url.take_param("tls", into.socket.empty() ? "prefer" : "off"));
  into.tls_ca = url.take_param("tls_ca");
  into.tls_cert = url.take_param("tls_cert");
  into.tls_key = url.take_param("tls_key");
  if (into.tls_cert.empty() != into.tls_key.empty()) bad("tls_cert and tls_key need each other");
  if (into.tls == tls_mode::off && !(into.tls_ca + into.tls_cert).empty()) {
    bad("tls=off does not go with tls_ca, tls_cert or tls_key");
  }
}

void take_hosts(mysql_settings& into, store_url& url) {
  into.socket = url.take_param("socket");
  into.hosts = std::move(url.hosts);
  if (into.socket.empty()) {
    if (into.hosts.empty()) bad("there is no host and no socket=");
    for (auto& host : into.hosts) {
      if (host.host.empty()) bad("a host has no name");
      if (host.port == 0) host.port = default_port;
    }
    return;
  }
  for (const auto& host : into.hosts) {
    if ((!host.host.empty() && host.host != "localhost") || host.port != 0) {
      bad("socket= and a host exclude each other");
    }
  }
  into.hosts.assign(1, {});
}

}  // namespace

mysql_settings mysql_settings::take(store_url& url) {
  mysql_settings settings;
  settings.name = url.redacted();
  url.take_param("scheme");  // it chose the reader of this URL
  settings.user = url.user;
  settings.password = url.password;
  // Of mysql:///database too, where no host stands before it.
  settings.database = url.path.substr(url.path.starts_with('/') ? 1 : 0);
  if (settings.database.empty()) bad("there is no database: mysql://user@host/database");
  take_hosts(settings, url);
  take_tls(settings, url);
  settings.connect_timeout = take_timeout(url, "connect_timeout");
  settings.statement_timeout = take_timeout(url, "statement_timeout");
  return settings;
}

std::string mysql_settings::where(const store_url::endpoint& host) const {
  if (!socket.empty()) return socket;
  return host.host.find(':') == std::string::npos ? fmt::format("{}:{}", host.host, host.port)
                                                  : fmt::format("[{}]:{}", host.host, host.port);
}

}  // namespace dlock::stores::mysql
