// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/redis/setnx/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/redis/client/answers.hpp"
#include "stores/redis/setnx/values.hpp"

namespace dlock::stores::redis::setnx {

namespace {

reply look(const answer& told) {
  if (told.is_nothing()) return {.result = outcome::absent};
  reply found{.result = outcome::yes, .holder = holder_in(told[0].text())};
  found.holder.left = left_in(told[1]);
  return found;
}

reply judged(const request& asked, const answer& told) {
  constexpr const char* doing = "lock";
  if (!told) return unanswered(doing);
  if (told.is_error()) return refused(told, doing);
  switch (asked.action) {
    case verb::take:
    case verb::insert:
      if (told.is_nothing()) return {.result = outcome::no};
      return {.result = outcome::yes, .fence = asked.nonce};
    case verb::look: return look(told);
    case verb::take_over: return {.result = outcome::no};  // a holder that is gone has no key any more
    default: return yes_or_no(told, doing);
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
}

std::unique_ptr<connection> setnx_store::connect(microseconds limit, fault& why,
                                                 const std::stop_token& cancel) noexcept {
  auto made = client_.open<script_connection>(limit, cancel, why);
  try {
    if (made == nullptr || !may_hold_locks(made->server, client_.settings(), true, why)) return nullptr;
    // Another start of the server proves nothing, unless it has kept everything, and nor does an heir.
    made->name_server(made->server.promotion);
    return made;
  } catch (const std::exception&) {
    why.transient = why.connection = true;
    return nullptr;
  }
}

void setnx_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  guarded(on, replies, [&] {
    script_calls calls(static_cast<script_connection&>(on));
    for (const auto& each : requests) add_request(calls, prefix_, each);
    const auto told = calls.run();
    for (std::size_t i = 0; i < told.size(); ++i) {
      replies[i] = judged(requests[i], told[i]);
      replies[i].statements = i == 0 ? 1 : 0;
    }
  });
}

// ---- operators ------------------------------------------------------------------------------------------------------

namespace {

/// Nobody, if the key was free by then.
void add_holder(std::string_view key, const answer& told, bool ours_only, std::vector<holder_info>& to) {
  if (told.is_nothing()) return;
  const auto holder = holder_in(told[0].text());
  const bool ours = holder.holder != stranger();
  if (!ours && ours_only) return;
  to.push_back({.key = std::string(key), .session = ours ? holder.holder : id128{}, .label = holder.who});
  to.back().left = left_in(told[1]);
}

}  // namespace

reply setnx_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  reply result{.result = outcome::yes};
  guarded(on, {&result, 1}, [&] {
    script_calls calls(static_cast<script_connection&>(on));
    calls.add(script::look, 1, {prefix_ + std::string(key.resource)});
    const auto told = std::move(calls.run().front());
    if (!told || told.is_error()) {
      result = yes_or_no(told, "inspect");
    } else {
      add_holder(key.resource, told, false, found);
    }
  });
  return result;
}

reply setnx_store::list(connection& on, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  reply result{.result = outcome::yes};
  guarded(on, {&result, 1}, [&] {
    auto& link = static_cast<script_connection&>(on);
    std::vector<std::string> keys;
    std::string cursor = "0";
    do {  // all of them: a scan has no order
      const auto told = link.ask({"SCAN", cursor, "MATCH", prefix_ + "*", "COUNT", "1000", "TYPE", "string"});
      if (!told || told.is_error()) {
        result = yes_or_no(told, "list");
        return;
      }
      cursor = told[0].text();
      for (std::size_t i = 0; i < told[1].size(); ++i) {
        const auto key = told[1][i].text().substr(prefix_.size());
        if (key > after) keys.emplace_back(key);
      }
    } while (cursor != "0");
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const auto most = found.size() + limit;
    for (auto at = keys.begin(); at != keys.end() && found.size() < most; ++at) {
      script_calls calls(link);
      calls.add(script::look, 1, {prefix_ + *at});
      const auto told = std::move(calls.run().front());
      if (!told || told.is_error()) {
        result = yes_or_no(told, "list");
        return;
      }
      add_holder(*at, told, true, found);
    }
  });
  return result;
}

}  // namespace dlock::stores::redis::setnx
