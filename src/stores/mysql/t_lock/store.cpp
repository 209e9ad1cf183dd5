// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/t_lock/store.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::t_lock {

void request_holds::expect(const request& attempt, std::int64_t now) {
  const base::lock_guard lock(mutex_);
  if (holds_.size() >= enough_) {
    // A holder that lets its lease expire need not release it.
    std::erase_if(holds_, [&](const auto& each) { return each.second.until != 0 && each.second.until < now; });
    enough_ = std::max<std::size_t>(64, 2 * holds_.size());
  }
  holds_.try_emplace(name_of(attempt));
}

request_holds::hold* request_holds::find(const request& attempt) noexcept {
  const auto at = holds_.find(name_of(attempt));
  return at != holds_.end() ? &at->second : nullptr;
}

void request_holds::keep(const request& attempt, std::int64_t until) noexcept {
  const base::lock_guard lock(mutex_);
  if (auto* const held = find(attempt); held != nullptr) held->until = std::max(held->until, until);
}

std::optional<std::int64_t> request_holds::use(const request& attempt, bool last) noexcept {
  const base::lock_guard lock(mutex_);
  auto* const held = find(attempt);
  if (held == nullptr || held->until == 0 || held->spent) return {};
  held->spent = last;
  return held->until;
}

bool request_holds::spent(const request& attempt) noexcept {
  const base::lock_guard lock(mutex_);
  const auto* const held = find(attempt);
  return held != nullptr && held->spent;
}

void request_holds::unspend(const request& attempt) noexcept {
  const base::lock_guard lock(mutex_);
  if (auto* const held = find(attempt); held != nullptr) held->spent = false;
}

void request_holds::forget(const request& attempt) noexcept {
  const base::lock_guard lock(mutex_);
  holds_.erase(name_of(attempt));
}

namespace {
constexpr std::size_t name_size = 49;  // the size of session and attempt
}  // namespace

/// In a pattern for LIKE '_' stands for any character and '%' for any text. Our own texts contain neither.
std::string t_lock_store::our_name(const request& request) const {
  switch (request.action) {
    case verb::release:
    case verb::extend: {
      auto grant = request.session.hex();
      return grant.append("/________________/").append(std::to_string(request.fence));
    }
    case verb::cancel: return sql::row_owner{request.session, request.nonce}.text() + "/%";
    default: return sql::row_owner{request.session, request.nonce}.text();
  }
}

seen t_lock_store::holder_named(std::string_view owner, std::uint64_t fence) const {
  const auto ours = sql::row_owner::parse(owner.substr(0, name_size));
  std::uint64_t granted = 0;
  if (ours && owner.size() > name_size && owner[name_size] == '/') {
    const char* const end = owner.data() + owner.size();
    if (std::from_chars(owner.data() + name_size + 1, end, granted).ptr != end) granted = 0;
  }
  if (granted == 0) return {.holder = sql::foreign_owner, .fence = fence, .who = std::string(owner)};
  return {.holder = ours->session, .fence = granted, .nonce = ours->nonce};
}

void t_lock_store::tell_fence(native& with, const request& request, reply& answer) const {
  const bool enters = !request.request_id.empty();
  switch (request.action) {
    case verb::insert:
      if (!enters) return static_cast<void>(answer.fence = 1);
      break;
    case verb::take:
    case verb::take_over: break;
    default: return;
  }
  mysql::tell_fence(
      with, [&] { return granted_fence_sql(*sql(), request, our_name(request)); }, answer);
}

// ---- in the name of a request ---------------------------------------------------------------------------------------

reply t_lock_store::change(native& with, const request& request) {
  if (request.request_id.empty()) return shared_table_store::change(with, request);
  auto& values = with.values();
  values.key.assign(request.resource);
  values.owner.assign(request.request_id);
  switch (request.action) {
    case verb::extend: return stay(with, request);
    case verb::release:
    case verb::cancel: return leave(with, request);
    case verb::insert: {
      // As other programs do, inserts a free row, and then continues as with an existing row.
      auto made = with.change(other::row, request.if_locked);
      if (made.result != outcome::yes) return made;
      auto answer = enter(with, request);
      answer.statements += made.statements;
      return answer;
    }
    default: return enter(with, request);
  }
}

std::optional<std::int64_t> t_lock_store::server_time(native& with, fault& why) {
  std::int64_t now = 0;
  const std::array row{mysql_field::number(now)};
  if (with.poll(other::clock, row, why) != outcome::yes) return {};
  return now;
}

/// Two statements, because the row has the latest end of all holds of the request, and ours must be known separately.
reply t_lock_store::enter(native& with, const request& request) {
  auto& values = with.values();
  reply answer;
  const auto now = server_time(with, answer.why);
  if (!now) return answer;  // not executed
  values.until = *now + std::chrono::ceil<std::chrono::milliseconds>(request.ttl).count();
  holds_.expect(request, *now);
  try {
    answer = with.change(other::enter, request.if_locked);
  } catch (...) {
    holds_.forget(request);
    throw;
  }
  answer.statements = 2;
  if (answer.result == outcome::yes) tell_fence(with, request, answer);
  // Without a reply it may be counted until the end of its time, and nothing in the row tells it from another's.
  if (answer.result == outcome::yes)
    holds_.keep(request, values.until);
  else
    holds_.forget(request);
  return answer;
}

reply t_lock_store::stay(native& with, const request& request) {
  auto& values = with.values();
  const auto until = holds_.use(request, false);
  if (!until) return {.result = outcome::no, .statements = 0};
  values.until = *until;
  values.ttl = request.ttl.count();
  auto answer = with.change(other::stay, request.if_locked, true);
  if (answer.result != outcome::yes) return answer;
  auto stays_until = static_cast<std::int64_t>(std::exchange(answer.fence, 0));
  if (stays_until == 0) {
    // A trigger hides the time until which it is held, so it is extended once more, after a read of the clock.
    const auto now = server_time(with, answer.why);
    if (!now) return {.result = outcome::unknown, .why = answer.why, .statements = 2};
    answer = with.change(other::stay, request.if_locked, true);
    answer.statements = 3;
    stays_until = *now + values.ttl / 1000;
    if (answer.result != outcome::yes) return answer;
  }
  holds_.keep(request, stays_until);
  return answer;
}

reply t_lock_store::leave(native& with, const request& request) {
  if (holds_.spent(request)) {
    auto answer = refuse(
        "a release in the name of a request is sent only once: the key is free now, or when the longest ttl of the "
        "request is over");
    answer.statements = 0;
    return answer;
  }
  const auto until = holds_.use(request, true);
  if (!until) return {.result = outcome::no, .statements = 0};
  with.values().until = *until;
  auto answer = with.change(other::leave, request.if_locked, true);
  if (answer.result == outcome::failed)
    holds_.unspend(request);
  else if (answer.result != outcome::unknown)
    holds_.forget(request);
  return answer;
}

}  // namespace dlock::stores::mysql::t_lock
