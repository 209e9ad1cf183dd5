// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "stores/credentials.hpp"

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
  // A socket leads to this machine, so nobody can read the connection on the way.
  into.tls = parse_tls(url.take_param("tls", into.socket.empty() ? "prefer" : "off"));
  into.tls_ca = url.take_param("tls_ca");
  into.tls_cert = url.take_param("tls_cert");
  into.tls_key = url.take_param("tls_key");
  if (into.tls_cert.empty() != into.tls_key.empty()) bad("tls_cert and tls_key need each other");
  if (into.tls == tls_mode::off && !(into.tls_ca + into.tls_cert).empty()) {
    bad("tls=off does not go with tls_ca, tls_cert or tls_key");
  }
}

constexpr auto set_credentials = "set_mysql_credentials";

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
  url.take_param("scheme");  // the scheme's parser has been chosen by it
  settings.user = url.user;
  settings.password = url.password;
  settings.credentials =
      stores::credentials<stores::mysql_login>::take(url, set_credentials, [](const auto& text) { bad(text); });
  // Also for mysql:///database, which has no host before the path.
  settings.database = url.path.substr(url.path.starts_with('/') ? 1 : 0);
  if (settings.database.empty()) bad("there is no database: mysql://user@host/database");
  take_hosts(settings, url);
  take_tls(settings, url);
  settings.connect_timeout = take_timeout(url, "connect_timeout");
  settings.statement_timeout = take_timeout(url, "statement_timeout");
  return settings;
}

stores::mysql_login mysql_settings::login() const {
  return credentials.empty() ? stores::mysql_login{user, password}
                             : stores::credentials<stores::mysql_login>::find(credentials)();
}

std::string mysql_settings::where(const store_url::endpoint& host) const {
  if (!socket.empty()) return socket;
  return host.host.find(':') == std::string::npos ? fmt::format("{}:{}", host.host, host.port)
                                                  : fmt::format("[{}]:{}", host.host, host.port);
}

using namespace std::chrono_literals;

namespace {
constexpr auto lately = 1min;
constexpr microseconds least = 100ms;  // the least share
constexpr microseconds most = 1s;      // the share of a host that never needed more
}  // namespace

mysql_hosts::mysql_hosts(std::size_t count, microseconds longest) : longest_(longest), states_(count) {}

std::vector<std::size_t> mysql_hosts::order(clock::time_point now) const {
  const base::lock_guard lock(mutex_);
  std::vector<std::size_t> hosts(states_.size());
  std::iota(hosts.begin(), hosts.end(), std::size_t{0});
  const auto rank = [&](std::size_t host) {
    mutex_.assert_held();
    const auto& at = states_[host];
    const bool failed = at.failed != clock::time_point{} && now - at.failed < lately;
    if (!failed) return std::tuple(host == good_ ? 0 : 1, 0us, clock::time_point{});
    return std::tuple(at.allowed == 0us ? 2 : 3, -at.allowed, at.failed);
  };
  std::stable_sort(hosts.begin(), hosts.end(),
                   [&](std::size_t left, std::size_t right) { return rank(left) < rank(right); });
  return hosts;
}

microseconds mysql_hosts::share(std::size_t host, std::size_t others, microseconds remaining) const {
  if (others == 0) return longest_;
  const base::lock_guard lock(mutex_);
  const auto needed = std::max(least, 2 * states_[host].took);
  const auto equal = remaining / static_cast<microseconds::rep>(others + 1);
  return std::min(longest_, std::clamp(equal, needed, std::max(needed, most)));
}

void mysql_hosts::succeeded(std::size_t host, microseconds took) {
  const base::lock_guard lock(mutex_);
  auto& at = states_[host];
  at.took = took;
  at.failed = {};
  good_ = host;
}

void mysql_hosts::failed(std::size_t host, clock::time_point now, microseconds allowed) {
  const base::lock_guard lock(mutex_);
  auto& at = states_[host];
  at.failed = now;
  at.allowed = allowed;
}

void mysql_hosts::refuses(std::size_t host, std::uint64_t seen, clock::time_point now) {
  // Threads that notice the same refusal must not count it again, because that would drop connections made meanwhile.
  if (states_[host].refusals.compare_exchange_strong(seen, seen + 1)) failed(host, now, 0us);
}

}  // namespace dlock::stores::mysql

namespace dlock::stores {

void set_mysql_credentials(std::string name, std::function<mysql_login()> ask) {
  credentials<mysql_login>::set(mysql::set_credentials, std::move(name), std::move(ask));
}

}  // namespace dlock::stores
