// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/redis/setnx/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/printable_text.hpp"
#include "stores/redis/client/answers.hpp"

namespace dlock::stores::redis::setnx {

namespace {

enum class script : std::size_t { look, extend, release };

/// The same script for a release, and for an attempt that is cancelled: the value names both.
const std::array<std::string, 3> scripts{
    R"(
local value = redis.call('GET', KEYS[1])
if not value then return false end
return {value, redis.call('PTTL', KEYS[1])}
)",
    R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
)",
    R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
)"};

constexpr std::string_view mark = "dlock:";

/// "dlock:<session>:<attempt>"
std::string value_of(const id128& session, std::uint64_t attempt) {
  return fmt::format("{}{}:{}", mark, session.hex(), attempt);
}

/// Of somebody else's value: a holder without a session.
id128 stranger() noexcept {
  id128 id;
  id.bytes.fill(0xff);
  return id;
}

std::optional<id128> session_in(std::string_view hex) {
  id128 id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const auto* const at = hex.data() + 2 * i;
    const auto [end, failed] = std::from_chars(at, at + 2, id.bytes[i], 16);
    if (failed != std::errc{} || end != at + 2) return std::nullopt;
  }
  return id;
}

/// The holder that a value names.
seen holder_in(std::string_view value) {
  constexpr std::size_t digits = 32;
  if (value.starts_with(mark) && value.size() > mark.size() + digits + 1) {
    const auto attempt = static_cast<std::uint64_t>(answer::number_in(value.substr(mark.size() + digits + 1)));
    if (const auto session = session_in(value.substr(mark.size(), digits))) {
      return {.holder = *session, .fence = attempt, .nonce = attempt};
    }
  }
  return {.holder = stranger(), .who = detail::printable_text(value.substr(0, 64))};
}

constexpr microseconds for_ever = std::chrono::hours{24 * 365};

microseconds left_in(const answer& pttl) noexcept {
  return pttl.number() < 0 ? for_ever : microseconds{pttl.number() * 1000};
}

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

/// An expiry has whole milliseconds; never less than was asked for.
std::string in_ms(microseconds ttl) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(ttl).count());
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
  // Another start of the server proves nothing, unless it has kept everything.
  if (made != nullptr) made->name_server({});
  return made;
}

void setnx_store::add(script_calls& to, const request& asked) const {
  const auto key = prefix_ + std::string(asked.resource);
  // The number that names a grant is its attempt's: release and extend have it as the fence.
  const bool held = asked.action == verb::release || asked.action == verb::extend;
  const auto value = value_of(asked.session, held ? asked.fence : asked.nonce);
  switch (asked.action) {
    case verb::take:
    case verb::insert: return to.add({"SET", key, value, "NX", "PX", in_ms(asked.ttl)});
    case verb::look:
    case verb::take_over: return to.add(script::look, 1, {key});
    case verb::extend: return to.add(script::extend, 1, {key, value, in_ms(asked.ttl)});
    case verb::release:
    case verb::cancel: return to.add(script::release, 1, {key, value});
  }
}

void setnx_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  guarded(replies, [&] {
    script_calls calls(static_cast<script_connection&>(on));
    for (const auto& each : requests) add(calls, each);
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
  guarded({&result, 1}, [&] {
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
  guarded({&result, 1}, [&] {
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
