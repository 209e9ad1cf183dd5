// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "stores/findings.hpp"
#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis {

namespace {

constexpr int oldest_major = 6;  // scripts are replicated by what they do, users have rights

constexpr std::size_t config = 3;  // the index, after the login, of the greeting's command that may be refused

const char* name_of(persistence keeps) {
  switch (keeps) {
    case persistence::always: return "always";
    case persistence::everysec: return "everysec";
    case persistence::none: break;
  }
  return "none";
}

}  // namespace

std::string_view info_field(std::string_view info, std::string_view name) {
  for (std::size_t at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1)) {
    const bool begins_line = at == 0 || info[at - 1] == '\n';
    const auto rest = info.substr(at + name.size());
    if (begins_line && rest.starts_with(':')) return rest.substr(1, rest.find_first_of("\r\n") - 1);
  }
  return {};
}

std::string_view config_value(const answer& response, std::string_view name) {
  for (std::size_t i = 0; i + 1 < response.size(); i += 2) {
    if (response[i].text() == name) return response[i + 1].text();
  }
  return {};
}

server_facts server_facts::read(std::string_view info, const answer& fsync) {
  const auto field = [info](std::string_view name) { return info_field(info, name); };
  server_facts facts;
  facts.run = field("run_id");
  facts.version = field("redis_version");
  facts.up = std::chrono::seconds{answer::number_in(field("uptime_in_seconds"))};
  facts.loading = field("loading") == "1" || field("async_loading") == "1";
  facts.primary = field("role") == "master";
  // The end of the data that it got as a replica; -1 if it never was one.
  const auto former = field("second_repl_offset");
  if (!former.empty() && former != "-1") facts.promotion = field("master_replid");
  facts.cluster = field("cluster_enabled") == "1";
  // An operator who has set allkeys-* wants to limit memory. Policies for other keys count only if memory is limited.
  const auto policy = field("maxmemory_policy");
  if (field("maxmemory") != "0" || policy.starts_with("allkeys")) facts.policy = policy;
  if (field("aof_enabled") == "1") {
    const bool always =
        config_value(fsync, "appendfsync") == "always" && config_value(fsync, "no-appendfsync-on-rewrite") == "no";
    facts.keeps = always ? persistence::always : persistence::everysec;
  }
  return facts;
}

std::string server_facts::refusal(const redis_settings& settings) const {
  const auto because = [&](const std::string& why) { return fmt::format("dlock: {}: {}", settings.name, why); };
  if (answer::number_in(std::string_view(version).substr(0, version.find('.'))) < oldest_major) {
    return because(fmt::format("the server's version is {}, and dlock needs {}.0 or later", version, oldest_major));
  }
  if (cluster) return because("the server is a node of a cluster (cluster-enabled yes), which this store can't use");
  if (policy.starts_with("allkeys") || (settings.expire && policy.starts_with("volatile"))) {
    return because(
        fmt::format("the server deletes locks when its memory is full: maxmemory-policy is {}; set it to noeviction{}",
                    policy, settings.expire ? "" : ", or to one of volatile-*"));
  }
  if (keeps < settings.least) {
    return because(fmt::format(
        "persistence={} is required, and the server promises {}: a crash may lose grants, whose keys are then granted "
        "twice. Set appendonly yes{}, or allow that by persistence={}",
        name_of(settings.least), name_of(keeps),
        settings.least == persistence::always ? ", appendfsync always and no-appendfsync-on-rewrite no" : "",
        name_of(keeps)));
  }
  return {};
}

greeting::greeting(const redis_settings& settings, std::span<const std::string> scripts) {
  const auto login = settings.login();
  add_login(text_, login.user, login.password);
  logs_in_ = text_.commands();
  text_.add({"SELECT", settings.database});
  text_.add({"CLIENT", "ID"});
  text_.add({"INFO"});
  text_.add({"CONFIG", "GET", "*appendfsync*"});
  for (const auto& script : scripts) text_.add({"SCRIPT", "LOAD", script});
}

void add_login(command_text& to, const std::string& user, const std::string& password) {
  if (password.empty()) return;
  if (user.empty()) return to.add({"AUTH", password});
  to.add({"AUTH", user, password});
}

bool greeting::judge(std::span<const answer> response, const std::string& where, result& found, fault& why) const {
  const auto at = [&](std::size_t which) -> const answer& { return response[logs_in_ + which]; };
  for (std::size_t i = 0; i < response.size(); ++i) {
    if (!response[i]) {
      why = lost_connection(fmt::format("{}: no answer in time", where));
      return false;
    }
    if (response[i].is_error() && i != logs_in_ + config) {
      why = fault_of_error(response[i].text(), where.c_str());
      why.connection = true;
      return false;
    }
  }
  found.server = server_facts::read(at(2).text(), at(config));
  if (found.server.loading) {
    why = fault_of_error("LOADING the server reads its data after a start", where.c_str());
    return false;
  }
  if (!found.server.primary) {
    why = lost_connection(fmt::format("{}: is a replica, which takes no writes", where));
    return false;
  }
  found.client = static_cast<std::uint64_t>(at(1).number());
  for (std::size_t i = config + 1; logs_in_ + i < response.size(); ++i) found.hashes.emplace_back(at(i).text());
  return true;
}

// ---- what operators learn of a server ------------------------------------------------------------------------------

namespace {

class examination {
 public:
  examination(redis_connection& with, const redis_settings& settings, std::vector<store_finding>& found)
      : with_(with), settings_(settings), found_(found) {}

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
  /// The setting's value, empty if it is unknown.
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
    if (policy.starts_with("allkeys") || (settings_.expire && limit > 0 && policy.starts_with("volatile"))) {
      return found_.problem("memory", value, "A server whose memory is full deletes locks that are held.",
                            settings_.expire ? "Set maxmemory-policy noeviction."
                                             : "Set maxmemory-policy to noeviction, or to one of volatile-*.");
    }
    if (limit > 0 && policy.starts_with("volatile")) {
      return found_.warning("memory", value,
                            "A server whose memory is full deletes marks of once() that have a valid, so the work is "
                            "done again.",
                            "Set maxmemory-policy noeviction, or use no valid.");
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
    if (!settings_.password.empty() || !settings_.credentials.empty()) {
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
  findings found_;
  std::string info_{};
  answer config_{};
};

}  // namespace

reply examine_server(redis_connection& with, const redis_settings& settings, std::vector<store_finding>& found) {
  return examination(with, settings, found).run();
}

}  // namespace dlock::stores::redis
