// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/leases/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/redis/client/errors.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::redis::leases {

redis_store::redis_store(const lease_settings& settings)
    : client_(settings, scripts()),
      by_clock_(settings.by_clock),
      locks_(settings.prefix + "lock:"),
      sessions_(settings.prefix + "session:"),
      index_(settings.prefix + "locks"),
      ends_(settings.prefix + "sessions"),
      meta_(settings.prefix + "meta"),
      channels_(client_, locks_, [to = listeners_](const std::string& why) { to->waiters_poll(why); }) {}

void redis_store::prepare() {
  fault why;
  const auto connection = client_.open(client_.settings().connect_timeout, {}, why);
  if (connection != nullptr) connection->server.must_do(client_.settings(), false);
  if (connection == nullptr || !introduce(*connection, why)) fail(name(), why);
}

std::unique_ptr<connection> redis_store::connect(microseconds limit, fault& why,
                                                 const std::stop_token& cancel) noexcept {
  const auto until = redis_client::clock::now() + limit;
  auto made = client_.open(limit, cancel, why);
  try {
    if (made == nullptr || !may_hold_locks(made->server, client_.settings(), false, why)) return nullptr;
    made->answer_by(std::max(until, redis_client::clock::now() + std::chrono::milliseconds{1}));
    const std::stop_callback ends(cancel, [&on = *made] { on.interrupt(); });
    if (!introduce(*made, why)) return nullptr;
    made->answer_by(redis_client::clock::time_point::max());
    made->watch_hang_up(hangups_, [to = listeners_] { to->renew_now(); });
    return made;
  } catch (const std::exception&) {
    why.transient = why.connection = true;
    return nullptr;
  }
}

/// Each start of the server is made known to the data, once: grants that it has lost must not get their tokens again.
bool redis_store::introduce(script_connection& to, fault& why) const {
  const auto& server = to.server;
  const auto response = call_script(
      to, script::hello, 1, {meta_, server.run, id128::random().hex(), by_clock_ ? "1" : "0", server.promotion});
  if (!response.is_result()) {
    why = response ? fault_of_error(response.text(), "hello") : lost_connection("hello: no answer in time");
    why.connection = true;
    return false;
  }
  to.name_server(response[0].text());
  to.epoch = response[1].text();
  return true;
}

std::string redis_store::session_name(const id128& id) const { return sessions_ + std::string(name_of(id)); }

// ---- acquire, release, renew ---------------------------------------------------------------------------------------

namespace {

/// How long the hash of a free key stays where tokens go by the clock: a token comes from the clock again after that,
/// and so is greater unless the clock was set back by more.
constexpr std::string_view free_hash_stays_ms = "600000";

/// Of a session's locks, by one renewal: some 200 microseconds of the server.
constexpr std::size_t most_checked = 100;

std::string_view view(const fmt::format_int& number) noexcept { return {number.data(), number.size()}; }

constexpr const char* name_of(verb action) noexcept {
  switch (action) {
    case verb::take: return "take";
    case verb::insert: return "insert";
    case verb::poll: return "poll";
    case verb::take_over: return "take over";
    case verb::extend: return "extend";
    case verb::release: return "release";
    case verb::pass_on:
    case verb::cancel: break;
  }
  return "cancel";
}

reply polled(const answer& response) {
  reply found{.result = outcome::yes};
  auto& holder = found.holder;
  holder.holder = id_in(response[0].text());
  holder.fence = fence_in(response[1]);
  holder.kind = response[2].number() == 1 ? lease_kind::expiring : lease_kind::session;
  const bool alive = response[3].number() == 1;
  holder.gone = holder.kind == lease_kind::session && !alive;
  holder.expired = response[4].number() == 1;
  holder.remaining = microseconds{response[5].number()};
  if (alive) {
    const auto label = response[8].text();
    holder.who = fmt::format("{}/{}{}{}", response[6].text(), response[7].text(), label.empty() ? "" : " ", label);
  }
  return found;
}

reply judged(verb action, const answer& response) {
  if (!response.is_result()) return failure(response, name_of(action));
  switch (action) {
    case verb::take:
    case verb::insert:
    case verb::take_over:
      if (response.is_nothing()) return {.result = outcome::no};
      return {.result = outcome::yes, .fence = fence_in(response)};
    case verb::poll: return response.is_nothing() ? reply{.result = outcome::absent} : polled(response);
    case verb::release:
      if (response.number() > 1)
        return {.result = outcome::yes, .waiters = static_cast<unsigned>(response.number() - 1)};
      break;
    case verb::extend:
    case verb::pass_on:
    case verb::cancel: break;
  }
  return {.result = response.number() == 1 ? outcome::yes : outcome::no};
}

}  // namespace

void redis_store::add(script_calls& to, const request& asked, std::string_view epoch) const {
  const auto lock = locks_ + std::string(asked.resource);
  const auto ours = name_of(asked.session);
  const fmt::format_int nonce(asked.nonce), fence(asked.fence);
  const fmt::format_int time(asked.action == verb::release ? asked.min_hold.count() : asked.ttl.count());
  const auto ttl = asked.kind == lease_kind::session ? std::string_view{} : view(time);
  const std::string_view by_clock = by_clock_ ? "1" : "0";
  const std::string_view free_for = by_clock_ ? free_hash_stays_ms : std::string_view{};
  switch (asked.action) {
    case verb::take:
      return to.add(script::take, 2, {lock, index_, ours, view(nonce), ttl, epoch, by_clock, asked.resource});
    case verb::insert:
      return to.add(script::insert, 3, {lock, index_, meta_, ours, view(nonce), ttl, epoch, by_clock, asked.resource});
    case verb::poll: return to.add(script::poll, 1, {lock, sessions_});
    case verb::take_over: {
      const auto& seen = *asked.expected;
      return to.add(script::take_over, 3,
                    {lock, index_, session_name(seen.holder), ours, view(nonce), ttl, epoch, by_clock, asked.resource,
                     name_of(seen.holder), view(fmt::format_int(seen.fence))});
    }
    case verb::extend: return to.add(script::extend, 1, {lock, ours, view(fence), view(time)});
    case verb::release:
      return to.add(script::release, 2, {lock, index_, ours, view(fence), free_for, asked.resource, view(time)});
    case verb::cancel: return to.add(script::cancel, 2, {lock, index_, ours, view(nonce), free_for, asked.resource});
    case verb::pass_on: return;  // without capabilities::passes_on nobody asks for it
  }
}

void redis_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  const auto action = requests.front().action;
  reply_or_in_doubt(on, replies, [&] {
    auto& link = static_cast<script_connection&>(on);
    script_calls calls(link, requests.size());
    for (const auto& each : requests) add(calls, each, link.epoch);
    const auto response = calls.run();
    for (std::size_t i = 0; i < response.size(); ++i) {
      replies[i] = judged(action, response[i]);
      replies[i].statements = i == 0 ? 1 : 0;
      note(requests[i], replies[i]);
    }
  });
}

void redis_store::note(const request& asked, const reply& response) noexcept {
  switch (asked.action) {
    case verb::take:
    case verb::insert:
    case verb::take_over:
      if (response.result == outcome::yes && asked.kind == lease_kind::session)
        held_.granted(asked.session, asked.resource, response.fence);
      return;
    case verb::release:
    case verb::cancel:
      if (response.result == outcome::yes || asked.action == verb::release) held_.ended(asked.session, asked.resource);
      return;
    case verb::poll:
    case verb::pass_on:
    case verb::extend: return;
  }
}

reply redis_store::session(connection& on, session_verb action, const session_record& of) noexcept {
  return reply_or_in_doubt(on, [&] {
    auto& link = static_cast<script_connection&>(on);
    const auto name = session_name(of.id);
    const auto id = name_of(of.id);
    answer response;
    switch (action) {
      case session_verb::open:
        response =
            call_script(link, script::open_session, 2,
                        {name, ends_, id, std::to_string(of.ttl.count()), of.host, std::to_string(of.pid), of.label});
        break;
      case session_verb::renew: return renew(link, of);
      case session_verb::remove_expired:
        response = call_script(link, script::remove_session, 2, {name, ends_, id, "1"});
        break;
      case session_verb::close:
        held_.forget(of.id);
        response = call_script(link, script::remove_session, 2, {name, ends_, id, "0"});
        break;
    }
    return yes_or_no(response, "session");
  });
}

reply redis_store::renew(script_connection& on, const session_record& of) {
  const auto name = session_name(of.id);
  const auto ttl = std::to_string(of.ttl.count());
  const auto checked = held_.next(of.id, most_checked);
  std::vector<std::string> fences;
  fences.reserve(checked.size());
  std::vector<std::string_view> words{name, ends_, name_of(of.id), ttl, locks_};
  for (const auto& each : checked) {
    words.push_back(each.key);
    words.push_back(fences.emplace_back(std::to_string(each.fence)));
  }
  script_calls calls(on);
  calls.add(script::renew_session, 2, std::span<const std::string_view>(words));
  const auto response = std::move(calls.run().front());
  if (response.size() == 0) return yes_or_no(response, "session");
  for (std::size_t i = 1; i < response.size(); ++i) {
    const auto& gone = checked.at(static_cast<std::size_t>(response[i].number()));
    held_.ended(of.id, gone.key);
    // A release may have been faster, which its lease knows.
    listeners_->lock_deleted(gone.key, of.id, gone.fence);
  }
  return {.result = outcome::yes};
}

}  // namespace dlock::stores::redis::leases
