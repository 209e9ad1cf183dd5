// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stores/findings.hpp"
#include "stores/redis/client/errors.hpp"
#include "stores/redis/client/server.hpp"

namespace dlock::stores::redis {

namespace {

class examination {
 public:
  examination(redis_connection& with, const redis_settings& settings, bool expire, std::vector<store_finding>& found)
      : with_(with), settings_(settings), expire_(expire), found_(found) {}

  reply run() {
    const auto got = with_.ask({"INFO"});
    if (!got.is_result()) return failure(got, "examine");
    info_ = got.text();
    config_ = with_.ask({"CONFIG", "GET", "*"});
    if (!config_) return failure(config_, "examine");
    if (config_.is_error()) {
      found_.note(
          "settings", "CONFIG GET is not allowed to this user",
          "dlock knows the settings from INFO alone. It assumes the weakest value of a setting that INFO lacks.",
          "Give the user +config|get.");
    }
    check_version();
    check_durability();
    check_memory();
    check_replicas();
    check_clock();
    check_clients();
    check_rights();
    check_tls();
    return {.result = outcome::yes, .statements = 4};
  }

 private:
  std::string field(std::string_view name) const { return std::string(info_field(info_, name)); }
  double number(std::string_view name) const { return std::strtod(field(name).c_str(), nullptr); }
  /// Empty: it is not known.
  std::string setting(std::string_view name) const { return std::string(config_value(config_, name)); }

  void check_version() {
    const auto valkey = field("valkey_version");
    const auto version = field("redis_version");
    found_.good("version", valkey.empty() ? "Redis " + version : "Valkey " + valkey);
  }

  void check_durability() {
    const auto fsync = setting("appendfsync"), rewrite = setting("no-appendfsync-on-rewrite");
    const bool appends = field("aof_enabled") == "1";
    const auto value = appends ? fmt::format("appendonly = yes, appendfsync = {}, no-appendfsync-on-rewrite = {}",
                                             fsync.empty() ? "(hidden)" : fsync, rewrite.empty() ? "(hidden)" : rewrite)
                               : std::string("appendonly = no");
    if (appends && fsync == "always" && rewrite == "no") {
      return found_.good("durability", value, "No grant is lost in a crash.");
    }
    found_.warning(
        "durability", value,
        appends ? "A crash loses the grants of about the last second. dlock treats the restarted server as another "
                  "one and declares all leases lost; until a process has reached it, a key may be granted twice."
                : "A restart loses all grants. dlock treats the restarted server as another one and declares all "
                  "leases lost; until a process has reached it, a key may be granted twice.",
        "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no, or check fencing tokens.");
  }

  void check_memory() {
    const auto policy = field("maxmemory_policy");
    const double limit = number("maxmemory"), used = number("used_memory");
    const auto value = limit > 0
                           ? fmt::format("{:.0f} of {:.0f} MB, maxmemory-policy = {}", used / 1e6, limit / 1e6, policy)
                           : fmt::format("{:.0f} MB, no limit, maxmemory-policy = {}", used / 1e6, policy);
    if (policy.starts_with("allkeys") || (expire_ && limit > 0 && policy.starts_with("volatile"))) {
      return found_.problem("memory", value, "A server whose memory is full deletes locks that are held.",
                            expire_ ? "Set maxmemory-policy noeviction."
                                    : "Set maxmemory-policy to noeviction, or to one of volatile-*.");
    }
    if (limit > 0 && used > 0.9 * limit) {
      return found_.warning("memory", value, "A full server grants no new key. It still renews and releases leases.",
                            "Raise maxmemory, or find out what fills the memory.");
    }
    found_.good("memory", value);
  }

  void check_replicas() {
    const auto count = static_cast<int>(number("connected_slaves"));
    const auto least = setting("min-replicas-to-write");
    const auto value =
        fmt::format("{} connected, min-replicas-to-write = {}", count, least.empty() ? "(hidden)" : least);
    if (count == 0) return found_.good("replicas", value);
    if (!least.empty() && least != "0") {
      if (std::strtol(least.c_str(), nullptr, 10) >= count) {
        return found_.warning("replicas", value,
                              "If one replica is missing, the primary refuses renewals, and all "
                              "leases are lost after a ttl.",
                              "Run one replica more than min-replicas-to-write demands.");
      }
      return found_.good("replicas", value);
    }
    found_.note("replicas", value,
                "Replication is asynchronous: a failover may lose the last grants, and a primary that was cut off "
                "goes on granting to those that reach only it. Tokens grow all the same.",
                "Set min-replicas-to-write and min-replicas-max-lag; check fencing tokens.");
  }

  void check_clock() {
    const auto before = std::chrono::system_clock::now();
    const auto got = with_.ask({"TIME"});
    const auto after = std::chrono::system_clock::now();
    if (got.size() != 2) return;
    const double there = static_cast<double>(got[0].number()) + static_cast<double>(got[1].number()) / 1e6;
    const auto here = std::chrono::duration<double>((before + (after - before) / 2).time_since_epoch()).count();
    const auto value =
        fmt::format("{:.3f} s {} this host's clock", std::abs(there - here), there < here ? "behind" : "ahead of");
    if (std::abs(there - here) < 1) return found_.good("clock", value);
    found_.note(
        "clock", value,
        "Leases use the server's clock alone. Fencing tokens follow that clock, so they may decrease after a failover "
        "to a server whose clock is behind.",
        "Synchronise the hosts by chrony or systemd-timesyncd.");
  }

  void check_clients() {
    const double used = number("connected_clients");
    const double most =
        std::strtod((field("maxclients").empty() ? setting("maxclients") : field("maxclients")).c_str(), nullptr);
    const auto value = most > 0 ? fmt::format("{:.0f} of {:.0f}", used, most) : fmt::format("{:.0f}", used);
    if (most <= 0 || used < 0.9 * most) return found_.good("connections", value);
    found_.warning("connections", value, "When none is left, a program that starts gets no locks.",
                   "Raise maxclients, or find the programs that keep the connections.");
  }

  void check_rights() {
    const auto who = with_.ask({"ACL", "WHOAMI"});
    const auto user = who && !who.is_error() ? std::string(who.text()) : settings_.user;
    if (user != "default") return found_.good("rights", user.empty() ? "not known" : "user " + user);
    if (!settings_.password.empty()) {
      return found_.note("rights", "user default, with a password", "That user may do everything.",
                         "Make a user as docs/redis.md shows: dlock schema prints the ACL.");
    }
    found_.note("rights", "user default, without a password",
                "Any program that reaches the server can delete locks, and everything else.",
                "Make a user as docs/redis.md shows: dlock schema prints the ACL.");
  }

  void check_tls() {
    const bool local =
        !settings_.socket.empty() || std::all_of(settings_.hosts.begin(), settings_.hosts.end(), [](const auto& host) {
          return host.host == "localhost" || host.host == "127.0.0.1" || host.host == "::1";
        });
    switch (settings_.tls.mode) {
      case tls_mode::verify: return found_.good("tls", "verified");
      case tls_mode::require:
        return found_.note("tls", "encrypted, the certificate is not checked",
                           "An attacker on the network path can pose as the server.", "Write tls=verify into the URL.");
      case tls_mode::off: break;
    }
    if (local) return found_.good("tls", "none, the server is on this host");
    found_.warning("tls", "none", "An attacker on the network path can read the password and change replies.",
                   "Use rediss://, a private network or a tunnel.");
  }

  redis_connection& with_;
  const redis_settings& settings_;
  const bool expire_;
  findings found_;
  std::string info_{};
  answer config_{};
};

}  // namespace

reply examine_server(redis_connection& with, const redis_settings& settings, bool expire,
                     std::vector<store_finding>& found) {
  return examination(with, settings, expire, found).run();
}

}  // namespace dlock::stores::redis
