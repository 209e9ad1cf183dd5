// SPDX-License-Identifier: BSL-1.0

/// The ensemble, as `dlock doctor` shows it.

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>

#include "stores/findings.hpp"
#include "stores/zookeeper/client/errors.hpp"
#include "stores/zookeeper/recipe/store.hpp"

namespace dlock::stores::zookeeper {

namespace {

/// The node in which servers of version 3.5 and later keep their identity: lines
/// "server.1=host:port:port:participant;port".
constexpr const char* ensemble_node = "/zookeeper/config";

std::size_t voters_in(std::string_view config) {
  std::size_t voters = 0;
  for (std::size_t at = config.find("server."); at != std::string_view::npos; at = config.find("server.", at + 1)) {
    const auto line = config.substr(at, config.find('\n', at) - at);
    if ((at == 0 || config[at - 1] == '\n') && line.find(":observer") == std::string_view::npos) ++voters;
  }
  return voters;
}

void look_at_ensemble(findings& found, const answer& config, std::size_t named) {
  if (config.code != ZOK) {
    found.note("ensemble", fmt::format("{} servers in the URL", named),
               "This user may not read /zookeeper/config, so the number of servers is not known.",
               "Name all servers of the ensemble in the URL.");
    return;
  }
  const auto voters = voters_in(config.text);
  if (voters <= 1) {
    found.note("ensemble", "one server", "While it is down, no key is granted, and leases are lost after their ttl.",
               "Run three or five servers.");
  } else if (voters % 2 == 0) {
    found.note("ensemble", fmt::format("{} voting servers", voters),
               fmt::format("The ensemble survives the loss of {} of them, as one of {} servers does.", (voters - 1) / 2,
                           voters - 1),
               "Run an odd number of servers.");
  } else {
    found.good("ensemble", fmt::format("{} voting servers", voters));
  }
  if (voters > named) {
    found.warning("servers in the URL", fmt::format("{} of {}", named, voters),
                  "If these fail, dlock can't reach the others.", "Name all servers in the URL.");
  }
}

}  // namespace

reply zookeeper_store::examine(connection& by, std::vector<store_finding>& out) noexcept {
  return ask_servers(by, [&](const execution& with) -> reply {
    findings found(out);
    const auto read = with.on.ask(1, [&](request_round& round) { with.handle.read(ensemble_node, round.slot(0)); });
    look_at_ensemble(found, read.front(), settings_.servers.size());

    const auto begun = std::chrono::steady_clock::now();
    const auto synced = with.on.ask(1, [&](request_round& round) { with.handle.sync("/", round.slot(0)); });
    if (synced.front().code != ZOK) return not_done(synced.front(), "examine");
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
    const auto latency = fmt::format("{:.1f} ms for a sync", took.count());
    if (took.count() < 100) {
      found.good("leader", latency);
    } else {
      found.warning("leader", latency, "Each renewal takes as long.", "Check the ensemble's disks and network.");
    }

    const auto timeout = with.handle.timeout();
    found.good("session timeout", fmt::format("{} ms of 10000 ms requested", timeout.count()),
               "A ttl is at most three quarters of the servers' maxSessionTimeout.");
    std::vector<std::string> keys;
    if (auto known = nodes_.keys_after(with, {}, keys); known.result != outcome::yes) return known;
    const auto value =
        fmt::format("{} nodes of keys below {}", keys.size(), settings_.base.empty() ? "/" : settings_.base);
    if (keys.size() < 100'000) {
      found.good("size", value);
    } else {
      found.note("size", value,
                 "The servers delete at most 10,000 unused containers a minute (znode.container.maxPerMinute), and "
                 "listing them takes long.",
                 "Raise znode.container.maxPerMinute, or use fewer different keys.");
    }
    if (settings_.digest.empty()) {
      found.note("rights", "no user", "Any program that reaches the servers can change the nodes.",
                 "Name a user in the URL (zookeeper://user:password@...), and keep the network private.");
    } else {
      found.good("rights", "nodes belong to the user of the URL");
    }
    found.note("tls", "none",
               "The C client is built without TLS, so an attacker on the network path can read and change replies.",
               "Use a private network or a tunnel.");
    return {.result = outcome::yes, .statements = 3};
  });
}

}  // namespace dlock::stores::zookeeper
