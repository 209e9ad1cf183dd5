// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/setnx/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/redis/client/answers.hpp"
#include "stores/redis/client/errors.hpp"
#include "stores/redis/client/examine.hpp"
#include "stores/redis/setnx/values.hpp"

namespace dlock::stores::redis::setnx {

namespace {

reply poll(const answer& response) {
  if (response.is_nothing()) return {.result = outcome::absent};
  reply found{.result = outcome::yes, .holder = holder_in(response[0].text())};
  found.holder.remaining = remaining_in(response[1]);
  return found;
}

reply judged(const request& asked, const answer& response) {
  constexpr const char* doing = "lock";
  if (!response) return unanswered(doing);
  if (response.is_error()) return refused(response, doing);
  switch (asked.action) {
    case verb::take:
    case verb::insert:
      if (response.is_nothing()) return {.result = outcome::no};
      return {.result = outcome::yes, .fence = asked.nonce};
    case verb::poll: return poll(response);
    case verb::take_over: return {.result = outcome::no};  // a holder that is gone has no key any more
    default: return yes_or_no(response, doing);
  }
}

}  // namespace

setnx_settings setnx_settings::parse(store_url url) {
  setnx_settings settings{redis_settings::take(url)};
  if (const auto text = url.take_param("prefix", ""); !text.empty()) settings.prefix = settings.checked_prefix(text);
  url.expect_no_more_params();
  return settings;
}

setnx_store::setnx_store(const setnx_settings& settings) : client_(settings, scripts), prefix_(settings.prefix) {}

void setnx_store::prepare() {
  fault why;
  const auto connection = client_.open<script_connection>(client_.settings().connect_timeout, {}, why);
  if (connection == nullptr) client_.fail(why);
  connection->server.must_do(client_.settings(), true);
  // A user without the right to write is refused here, and not at the first acquire. Which keys it may write is not
  // known before.
  const auto response = connection->ask({"DEL", prefix_ + "dlock-" + id128::random().hex()});
  if (response.is_error() && response.text().find("permissions to run") != std::string_view::npos) {
    client_.fail(fault_of_error(response.text(), "rights"));
  }
}

std::unique_ptr<connection> setnx_store::connect(microseconds limit, fault& why,
                                                 const std::stop_token& cancel) noexcept {
  auto made = client_.open<script_connection>(limit, cancel, why);
  try {
    if (made == nullptr || !may_hold_locks(made->server, client_.settings(), true, why)) return nullptr;
    // Another start of the server proves nothing, unless it has kept everything, and nor does an heir.
    made->name_server(made->server.promotion);
    made->watch_hang_up(hangups_, [to = listeners_] { to->renew_now(); });
    return made;
  } catch (const std::exception&) {
    why.transient = why.connection = true;
    return nullptr;
  }
}

void setnx_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  reply_or_in_doubt(on, replies, [&] {
    script_calls calls(static_cast<script_connection&>(on));
    for (const auto& each : requests) add_request(calls, prefix_, each);
    const auto response = calls.run();
    for (std::size_t i = 0; i < response.size(); ++i) {
      replies[i] = judged(requests[i], response[i]);
      replies[i].statements = i == 0 ? 1 : 0;
    }
  });
}

// ---- operators ------------------------------------------------------------------------------------------------------

namespace {

/// No holder, if the key was free by then.
void add_holder(std::string_view key, const answer& response, bool ours_only, std::vector<holder_info>& to) {
  if (response.is_nothing()) return;
  const auto holder = holder_in(response[0].text());
  const bool ours = holder.holder != foreign_holder();
  if (!ours && ours_only) return;
  to.push_back({.key = std::string(key), .session = ours ? holder.holder : id128{}, .label = holder.who});
  to.back().remaining = remaining_in(response[1]);
}

}  // namespace

reply setnx_store::examine(connection& on, std::vector<store_finding>& found) noexcept {
  return reply_or_in_doubt(
      on, [&] { return examine_server(static_cast<script_connection&>(on), client_.settings(), true, found); });
}

reply setnx_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  reply result{.result = outcome::yes};
  reply_or_in_doubt(on, {&result, 1}, [&] {
    script_calls calls(static_cast<script_connection&>(on));
    calls.add(script::poll, 1, {prefix_ + std::string(key.resource)});
    const auto response = std::move(calls.run().front());
    if (!response || response.is_error()) {
      result = yes_or_no(response, "inspect");
    } else {
      add_holder(key.resource, response, false, found);
    }
  });
  return result;
}

/// Of a database that others use for more than locks, the first bytes of each value are read, and no more.
void setnx_store::add_ours(script_connection& on, const answer& names, std::string_view after,
                           std::vector<std::string>& to) const {
  if (names.size() == 0) return;
  command_text heads;
  for (std::size_t i = 0; i < names.size(); ++i) heads.add({"GETRANGE", names[i].text(), "0", value_head_end});
  const auto response = on.ask(heads);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto key = names[i].text().substr(prefix_.size());
    if (!response[i].is_error() && is_ours(response[i].text()) && key > after) to.emplace_back(key);
  }
}

reply setnx_store::list(connection& on, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  reply result{.result = outcome::yes};
  reply_or_in_doubt(on, {&result, 1}, [&] {
    auto& link = static_cast<script_connection&>(on);
    std::vector<std::string> keys;
    std::string cursor = "0";
    do {  // all of them: a scan has no order
      const auto response = link.ask({"SCAN", cursor, "MATCH", prefix_ + "*", "COUNT", "1000", "TYPE", "string"});
      if (!response || response.is_error()) {
        result = yes_or_no(response, "list");
        return;
      }
      cursor = response[0].text();
      add_ours(link, response[1], after, keys);
    } while (cursor != "0");
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const auto most = found.size() + limit;
    for (std::size_t at = 0; at < keys.size() && found.size() < most;) {
      const auto some = std::min<std::size_t>(keys.size() - at, most - found.size());
      script_calls calls(link, some);
      for (std::size_t i = 0; i < some; ++i) calls.add(script::poll, 1, {prefix_ + keys[at + i]});
      for (const auto& response : calls.run()) {
        if (!response || response.is_error()) {
          result = yes_or_no(response, "list");
          return;
        }
        add_holder(keys[at++], response, true, found);
      }
    }
  });
  return result;
}

}  // namespace dlock::stores::redis::setnx
