// SPDX-License-Identifier: BSL-1.0

/// What operators ask.

#include <algorithm>

#include "base/text.hpp"
#include "stores/reply_or_in_doubt.hpp"
#include "stores/zookeeper/client/errors.hpp"
#include "stores/zookeeper/recipe/store.hpp"

namespace dlock::stores::zookeeper {

namespace {

/// Of those that are held.
reply describe(const lock_nodes& nodes, const execution& with, const std::vector<std::string>& keys,
               std::vector<holder_info>& found) {
  const auto holders = nodes.find_holders(with, keys);
  std::vector<holder_info> held;
  for (std::size_t i = 0; i != keys.size(); ++i) {
    if (holders[i].code != ZOK) return not_done({.code = holders[i].code}, "poll");
    if (!holders[i].held) continue;
    held.push_back({.key = keys[i], .fence = holders[i].fence, .kind = lease_kind::session});
    auto& info = held.back();
    if (!holders[i].names.empty()) info.waiters = contenders_in(holders[i].names).size() - 1;
    if (const auto data = node_data::parse(holders[i].data)) {
      info.session = data->session;
      info.host = data->host;
      info.pid = data->pid;
      info.label = data->label;
      info.remaining = std::chrono::milliseconds{data->timeout_ms};
    } else {
      info.label = detail::printable_text(holders[i].data.substr(0, 64));
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
  return reply_or_in_doubt(on, [&]() -> reply {
    std::vector<holder_info> found;
    if (auto known = inspect(on, key, found); known.result != outcome::yes) return known;
    if (found.empty() || !found.front().session) return {.result = outcome::no};
    const auto handle = any_handle();
    const auto path = nodes_.session_path(found.front().session);
    const auto removed = static_cast<zookeeper_connection&>(on)
                             .ask(1, [&](request_round& round) { handle->remove(path, round.slot(0)); })
                             .front();
    if (removed.code == ZOK || removed.code == ZNONODE) return {.result = outcome::yes};
    return not_done(removed, "revoke");
  });
}

}  // namespace dlock::stores::zookeeper
