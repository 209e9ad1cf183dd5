// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/server.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "stores/redis/client/errors.hpp"

namespace dlock::stores::redis {

namespace {

constexpr int oldest_major = 6;  // scripts are replicated by what they do, users have rights

constexpr std::size_t config = 3;  // of a greeting's commands behind the login: the one that may be refused

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
  // The end of what it has as a replica; -1: it was none.
  const auto former = field("second_repl_offset");
  if (!former.empty() && former != "-1") facts.promotion = field("master_replid");
  facts.cluster = field("cluster_enabled") == "1";
  // An operator that has set allkeys-* means to limit memory. What may be set for other keys counts where memory is
  // limited.
  const auto policy = field("maxmemory_policy");
  if (field("maxmemory") != "0" || policy.starts_with("allkeys")) facts.policy = policy;
  if (field("aof_enabled") == "1") {
    const bool always =
        config_value(fsync, "appendfsync") == "always" && config_value(fsync, "no-appendfsync-on-rewrite") == "no";
    facts.keeps = always ? persistence::always : persistence::everysec;
  }
  return facts;
}

void server_facts::must_do(const redis_settings& settings, bool expire) const {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("dlock: {}: {}", settings.name, why));
  };
  if (answer::number_in(std::string_view(version).substr(0, version.find('.'))) < oldest_major) {
    refuse(fmt::format("the server's version is {}, and dlock needs {}.0 or later", version, oldest_major));
  }
  if (cluster) refuse("the server is a node of a cluster (cluster-enabled yes), which this store can't use");
  if (policy.starts_with("allkeys") || (expire && policy.starts_with("volatile"))) {
    refuse(
        fmt::format("the server deletes locks when its memory is full: maxmemory-policy is {}; set it to noeviction{}",
                    policy, expire ? "" : ", or to one of volatile-*"));
  }
  if (keeps < settings.least) {
    refuse(fmt::format(
        "persistence={} is asked for, and the server promises {}: what it loses in a crash may be locked "
        "twice then. Set "
        "appendonly yes{}, or say persistence={} if that may be",
        name_of(settings.least), name_of(keeps),
        settings.least == persistence::always ? ", appendfsync always and no-appendfsync-on-rewrite no" : "",
        name_of(keeps)));
  }
}

greeting::greeting(const redis_settings& settings, std::span<const std::string> scripts)
    : logs_in_(settings.password.empty() ? 0 : 1) {
  add_login(text_, settings.user, settings.password);
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

}  // namespace dlock::stores::redis
