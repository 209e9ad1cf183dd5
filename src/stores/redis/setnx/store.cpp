// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/setnx/store.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/client/protocol.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::redis::setnx {

// ---- what operators see, on one server or on several ----------------------------------------------------------------

namespace {

void add_holder(const request& key, const reply& polled, bool ours_only, std::vector<holder_info>& to) {
  if (polled.result != outcome::yes) return;
  const auto& holder = polled.holder;
  const bool ours = holder.holder != foreign_holder();
  if (!ours && ours_only) return;
  to.push_back({.key = std::string(key.resource), .session = ours ? holder.holder : id128{}, .label = holder.who});
  to.back().remaining = holder.remaining;
}

bool answered(const reply& polled) noexcept {
  return polled.result == outcome::yes || polled.result == outcome::absent;
}

}  // namespace

reply shared_key_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    const request asked{.action = verb::poll, .resource = key.resource};
    reply polled;
    poll(on, {&asked, 1}, {&polled, 1});
    if (!answered(polled)) return polled;
    add_holder(asked, polled, false, found);
    return {.result = outcome::yes};
  });
}

/// Others may use the database for more than locks, so this reads only the first bytes of each value.
reply shared_key_store::scan_server(const asker& ask, std::string_view after, std::set<std::string>& keys) const {
  std::string cursor = "0";
  do {  // reads all, because a scan has no order
    command_text scan;
    scan.add({"SCAN", cursor, "MATCH", prefix_ + "*", "COUNT", "1000", "TYPE", "string"});
    const auto window = std::move(ask(scan).front());
    if (!window.is_result()) return failure(window, "list");
    cursor = window[0].text();
    const auto names = window[1];
    if (names.size() == 0) continue;
    command_text heads;
    for (std::size_t i = 0; i < names.size(); ++i) heads.add({"GETRANGE", names[i].text(), "0", value_head_end});
    const auto values = ask(heads);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!values[i]) return failure(values[i], "list");
      const auto key = names[i].text().substr(prefix_.size());
      if (!values[i].is_error() && is_ours(values[i].text()) && key > after) keys.emplace(key);
    }
  } while (cursor != "0");
  return {.result = outcome::yes};
}

reply shared_key_store::list(connection& on, std::string_view after, std::size_t limit,
                             std::vector<holder_info>& found) noexcept {
  constexpr std::size_t polled_at_once = 250;
  return reply_or_in_doubt(on, [&] {
    std::set<std::string> keys;
    auto result = scan(on, after, keys);
    const auto most = found.size() + limit;
    for (auto at = keys.begin(); result.result == outcome::yes && at != keys.end() && found.size() < most;) {
      std::vector<request> asked;
      while (at != keys.end() && asked.size() < std::min(most - found.size(), polled_at_once)) {
        asked.push_back({.action = verb::poll, .resource = *at++});
      }
      std::vector<reply> polled(asked.size());
      poll(on, asked, polled);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        if (!answered(polled[i])) return polled[i];
        add_holder(asked[i], polled[i], true, found);
      }
    }
    return result;
  });
}

// ---- one server -----------------------------------------------------------------------------------------------------

reply setnx_store::judge(const request& asked, const answer& response) {
  constexpr const char* doing = "lock";
  if (!response.is_result()) return failure(response, doing);
  switch (asked.action) {
    case verb::take:
    case verb::insert:
      if (response.is_nothing()) return {.result = outcome::no};
      return {.result = outcome::yes, .fence = asked.nonce};
    case verb::poll: {
      if (response.is_nothing()) return {.result = outcome::absent};
      reply found{.result = outcome::yes, .holder = holder_in(response[0].text())};
      found.holder.remaining = remaining_in(response[1]);
      return found;
    }
    case verb::take_over:  // a dead holder's key no longer exists
    case verb::close:
    case verb::open:
    case verb::pass_on:
    case verb::reserve: return {.result = outcome::no};
    case verb::release:
    case verb::cancel:
      if (response.number() > 0) return {.result = outcome::yes, .waiters = waiters_in(response)};
      return {.result = outcome::no};
    case verb::extend: break;
  }
  return yes_or_no(response, doing);
}

void setnx_store::prepare() {
  const auto connection = first_connection();
  // A user without the right to write is refused here rather than at the first acquire. Which keys the user may write
  // is not known yet.
  const auto response = connection->ask({"DEL", prefix() + "dlock-" + id128::random().hex()});
  if (response.is_error() && response.text().find("permissions to run") != std::string_view::npos) {
    fail(name(), fault_of_error(response.text(), "rights"));
  }
}

/// Data of another start of the server proves nothing, unless that has kept everything, and neither does a promoted
/// replica's.
bool setnx_store::introduce(script_connection& to, fault&) const {
  to.name_server(to.server.promotion);
  return true;
}

reply setnx_store::examine(connection& on, std::vector<store_finding>& found) noexcept {
  return reply_or_in_doubt(on, [&] { return examine_server(static_cast<script_connection&>(on), settings(), found); });
}

reply setnx_store::scan(connection& on, std::string_view after, std::set<std::string>& keys) {
  auto& link = static_cast<script_connection&>(on);
  return scan_server([&](const command_text& commands) { return link.ask(commands); }, after, keys);
}

}  // namespace dlock::stores::redis::setnx
