// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/server.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace dlock::stores::redis {

namespace {

constexpr int oldest_major = 6;  // scripts are replicated by what they do, users have rights

/// What INFO says of that; empty: nothing.
std::string_view field(std::string_view info, std::string_view name) {
  for (std::size_t at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1)) {
    const bool begins_line = at == 0 || info[at - 1] == '\n';
    const auto rest = info.substr(at + name.size());
    if (begins_line && rest.starts_with(':')) return rest.substr(1, rest.find_first_of("\r\n") - 1);
  }
  return {};
}

/// Of names and values in turn. Empty: the answer does not have it.
std::string_view setting(const answer& response, std::string_view name) {
  for (std::size_t i = 0; i + 1 < response.size(); i += 2) {
    if (response[i].text() == name) return response[i + 1].text();
  }
  return {};
}

const char* name_of(persistence keeps) {
  switch (keeps) {
    case persistence::always: return "always";
    case persistence::everysec: return "everysec";
    case persistence::none: break;
  }
  return "none";
}

}  // namespace

server_facts server_facts::read(std::string_view info, const answer& fsync) {
  server_facts facts;
  facts.run = field(info, "run_id");
  facts.version = field(info, "redis_version");
  facts.up = std::chrono::seconds{answer::number_in(field(info, "uptime_in_seconds"))};
  facts.loading = field(info, "loading") == "1" || field(info, "async_loading") == "1";
  facts.primary = field(info, "role") == "master";
  // The end of what it has as a replica; -1: it was none.
  const auto former = field(info, "second_repl_offset");
  if (!former.empty() && former != "-1") facts.promotion = field(info, "master_replid");
  facts.cluster = field(info, "cluster_enabled") == "1";
  // An operator that has set allkeys-* means to limit memory. What may be set for other keys counts where memory is
  // limited.
  const auto policy = field(info, "maxmemory_policy");
  if (field(info, "maxmemory") != "0" || policy.starts_with("allkeys")) facts.policy = policy;
  if (field(info, "aof_enabled") == "1") {
    const bool always =
        setting(fsync, "appendfsync") == "always" && setting(fsync, "no-appendfsync-on-rewrite") == "no";
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

}  // namespace dlock::stores::redis
