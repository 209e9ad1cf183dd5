// SPDX-License-Identifier: BSL-1.0

/// Operators' queries.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "stores/findings.hpp"
#include "stores/reply_or_in_doubt.hpp"
#include "stores/zookeeper/client/connection.hpp"
#include "stores/zookeeper/recipe/store.hpp"

namespace dlock::stores::zookeeper {

namespace {

/// Describes the holders of keys.
reply describe(const lock_nodes& nodes, const execution& with, const std::vector<std::string>& keys,
               std::vector<holder_info>& found) {
  const auto shown = nodes.find_nodes(with, keys, [](std::size_t, const lock_queue& queue) { return queue.holders(); });
  const auto waiting = with.on.ask(nodes.counts() ? keys.size() : 0, [&](request_round& round) {
    for (std::size_t i = 0; i != keys.size(); ++i) with.handle.list(nodes.lock_of(keys[i]), round.slot(i));
  });
  std::vector<holder_info> held;
  for (std::size_t i = 0; i != keys.size(); ++i) {
    const auto& of = shown[i];
    if (of.code != ZOK) return not_done({.code = of.code}, "poll");
    for (const auto& each : of.nodes) {
      held.push_back({.key = keys[i], .fence = each.fence, .kind = lease_kind::session});
      auto& info = held.back();
      info.waiters =
          nodes.counts() ? waiting[i].names.size() : std::max(of.contenders, of.nodes.size()) - of.nodes.size();
      if (const auto data = node_data::parse(each.data)) {
        info.session = data->session;
        info.host = data->host;
        info.pid = data->pid;
        info.label = data->label;
        info.remaining = std::chrono::milliseconds{data->timeout_ms};
      } else {
        info.label = detail::printable_text(each.data.substr(0, 64));
      }
    }
  }
  const auto sessions = with.on.ask(held.size(), [&](request_round& round) {
    for (std::size_t i = 0; i != held.size(); ++i) with.handle.read(nodes.session_path(held[i].session), round.slot(i));
  });
  for (std::size_t i = 0; i != held.size(); ++i) {
    if (sessions[i].code != ZOK && sessions[i].code != ZNONODE) return not_done(sessions[i], "poll");
    held[i].revoked = held[i].session && sessions[i].code == ZNONODE;
    found.push_back(std::move(held[i]));
  }
  return {.result = outcome::yes};
}

}  // namespace

reply zookeeper_store::ask_servers(connection& on, const std::function<reply(const execution& with)>& ask) noexcept {
  return reply_or_in_doubt(on, [&] {
    const auto handle = any_handle();
    const execution with{static_cast<zookeeper_connection&>(on), *handle, nullptr};
    if (const auto connected = with.on.wait_connected(*handle); connected.code != ZOK) {
      return reply{.result = outcome::failed, .why = fault_of(connected.code, "connect")};
    }
    return ask(with);
  });
}

reply zookeeper_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  return ask_servers(on,
                     [&](const execution& with) { return describe(nodes_, with, {std::string(key.resource)}, found); });
}

reply zookeeper_store::list(connection& on, std::string_view after, std::size_t limit,
                            std::vector<holder_info>& found) noexcept {
  return ask_servers(on, [&](const execution& with) {
    std::vector<std::string> keys;
    if (auto known = nodes_.keys_after(with, after, keys); known.result != outcome::yes) return known;
    constexpr std::size_t together = 100;
    const auto most = found.size() + limit;
    for (std::size_t i = 0; i < keys.size() && found.size() < most; i += together) {
      const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(i);
      const auto count = static_cast<std::ptrdiff_t>(std::min(together, keys.size() - i));
      const auto described = describe(nodes_, with, std::vector<std::string>(begin, begin + count), found);
      if (described.result != outcome::yes) return described;
    }
    if (found.size() > most) found.resize(most);
    return reply{.result = outcome::yes};
  });
}

reply zookeeper_store::waiters(connection& on, std::string_view key, std::size_t limit,
                               waiter_overview& found) noexcept {
  return ask_servers(on, [&](const execution& with) {
    std::vector<std::string> nodes;
    waiter_overview made{.known = true};
    auto listed = nodes_.find_waiters(with, key, limit, made.count, nodes);
    if (listed.result != outcome::yes) return listed;
    for (const auto& each : nodes) {
      const auto data = node_data::parse(each);
      made.first.push_back(data ? waiter_info{.host = data->host, .pid = data->pid, .label = data->label}
                                : waiter_info{.label = detail::printable_text(each.substr(0, 64))});
    }
    found = std::move(made);
    return listed;
  });
}

reply zookeeper_store::revoke(connection& on, const request& key) noexcept {
  return ask_servers(on, [&](const execution& with) -> reply {
    std::vector<holder_info> found;
    auto known = describe(nodes_, with, {std::string(key.resource)}, found);
    if (known.result != outcome::yes) return known;
    std::erase_if(found, [](const holder_info& each) { return !each.session; });  // other programs
    const auto removed = with.on.ask(found.size(), [&](request_round& round) {
      for (std::size_t i = 0; i != found.size(); ++i)
        with.handle.remove(nodes_.session_path(found[i].session), round.slot(i));
    });
    for (const auto& each : removed) {
      if (each.code != ZOK && each.code != ZNONODE) return not_done(each, "revoke");
    }
    return {.result = found.empty() ? outcome::no : outcome::yes};
  });
}

// ---- the ensemble, as dlock doctor shows it ------------------------------------------------------------------------

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
    const auto read = with.on.ask([&](on_answer done) { with.handle.read(ensemble_node, std::move(done)); });
    look_at_ensemble(found, read, settings_.servers.size());

    const auto begun = std::chrono::steady_clock::now();
    const auto synced = with.on.ask([&](on_answer done) { with.handle.sync("/", std::move(done)); });
    if (synced.code != ZOK) return not_done(synced, "examine");
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
