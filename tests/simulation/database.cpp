// SPDX-License-Identifier: BSL-1.0
#include "simulation/database.hpp"

#include "stores/sql/shared_keys.hpp"

#include <algorithm>
#include <utility>

namespace dlock::simulation {

namespace {

reply plain(outcome what) {
  reply made;
  made.result = what;
  return made;
}

microseconds left_of(moment end, moment clock) { return microseconds{std::max<moment>(0, end - clock)}; }

constexpr moment hour = 3'600 * second;

/// What a poll shows as the holder where another program has written one, or a request holds it: never a session.
id128 holder_of(const lock_row& row) {
  const auto& text = row.foreign.empty() ? row.request : row.foreign;
  if (text.empty()) return row.session;
  id128 made;
  made.bytes.fill(0xff);
  for (std::size_t i = 0; i < text.size(); ++i) {
    made.bytes[i % 8] = static_cast<unsigned char>(made.bytes[i % 8] * 31 + text[i]);
  }
  return made;
}

/// Whether the row's owner is that attempt: of a key, that session. What a request holds is in the row's holds.
bool same_owner(const lock_row& row, const request& q) {
  return row.request.empty() && row.session && row.session == q.session && (!row.of_table || row.nonce == q.nonce);
}
/// And whether it is the same grant. A version that is the fence is raised by ordinary updates too.
bool same_grant(const lock_row& row, const request& q) {
  return same_owner(row, q) && (row.by_column || row.fence == q.fence);
}

std::string who(const session_row& of) {
  return of.host + "/" + std::to_string(of.pid) + (of.label.empty() ? "" : " ") + of.label;
}

}  // namespace

// ---- lock rows ------------------------------------------------------------------------------------------------------

bool lock_row::passed(moment clock) const noexcept {
  if (!expires) return false;
  return by_column ? *expires / second < clock / second : *expires <= clock;
}

lock_row& database::make_row(const std::string& key, bool by_column) {
  auto& row = locks_[key];
  row.of_table = true;
  row.by_column = by_column;
  if (by_column) row.expires = 0;
  return row;
}

moment database::expiry_of(const lock_row& row, moment clock, microseconds ttl) const noexcept {
  const auto end = clock + ttl.count();
  if (!row.by_column) return end;
  return (is(mistake::expiry_too_early) ? end - second : end + second - 1) / second * second;
}

std::optional<moment> database::free_since(const lock_row& row, moment clock, moment world_now) const {
  if (!row.held()) return row.changed;
  if (!over(row, clock)) return std::nullopt;
  auto end = clock;
  if (row.expires) {
    end = *row.expires + (row.by_column ? second : 0);
  } else if (const auto holder = sessions_.find(row.session); holder != sessions_.end()) {
    end = holder->second.expires;
  } else if (const auto ended = ended_.find(row.session); ended != ended_.end()) {
    end = ended->second;
  }
  return std::max(row.changed, world_now - std::max<moment>(0, clock - end));
}

bool database::shows(const lock_row& row, const id128& session, std::uint64_t nonce, std::uint64_t fence) noexcept {
  if (!row.request.empty()) {
    return std::any_of(row.holds.begin(), row.holds.end(), [&](const request_hold& each) {
      return each.session == session && each.nonce == nonce && each.fence == fence;
    });
  }
  if (row.session != session) return false;
  return row.by_column ? row.nonce == nonce : row.fence == fence;
}

bool database::over(const lock_row& row, const id128& session, std::uint64_t nonce, moment clock) const {
  if (row.request.empty()) return over(row, clock);
  return std::none_of(row.holds.begin(), row.holds.end(), [&](const request_hold& each) {
    return each.session == session && each.nonce == nonce && each.expires > clock;
  });
}

bool database::over(const lock_row& row, moment clock) const {
  if (!row.held()) return true;
  if (row.expires) return row.passed(clock);
  const auto holder = sessions_.find(row.session);
  return holder == sessions_.end() || holder->second.expires <= clock;
}

reply database::grant(lock_row& row, const request& q, const view& by, const lock_row* before) {
  auto fence = row.fence + (is(mistake::fence_not_raised) && q.action == verb::take_over ? 0 : 1);
  if (!traits.caps.fence) {
    fence = q.nonce;  // it names the grant
  } else if (!traits.caps.consecutive_fences) {
    fence = last_fence_ = std::max(last_fence_, row.fence) + 1;  // other programs count each key by itself
  }
  if (observer != nullptr) observer->granted(q, before, fence);
  row.request = q.request_id;
  row.holds.clear();
  row.position = 0;
  mark(row);
  row.session = q.session;
  row.nonce = q.nonce;
  row.fence = fence;
  row.acquired = by.clock;
  // Rule 1: an expiry left from before would free it.
  if (!is(mistake::expiry_left_over)) row.expires.reset();
  row.foreign.clear();
  row.mark = false;
  ++row.version;
  if (q.kind != lease_kind::session) row.expires = expiry_of(row, by.clock, q.ttl);
  if (!row.request.empty()) row.holds.push_back({row.session, row.nonce, row.fence, *row.expires});
  auto made = plain(outcome::yes);
  made.fence = row.fence;
  return made;
}

// ---- what a request holds through several processes -----------------------------------------------------------------

reply database::enter(lock_row& row, const request& q, const view& by) {
  const auto before = row;
  const auto fence = row.fence + 1;
  if (observer != nullptr) observer->granted(q, &before, fence);
  row.session = q.session;
  row.nonce = q.nonce;
  row.fence = fence;
  row.holds.push_back({q.session, q.nonce, fence, by.clock + q.ttl.count()});
  row.expires = std::max(*row.expires, row.holds.back().expires);
  auto made = plain(outcome::yes);
  made.fence = fence;
  return made;
}

request_hold* database::hold_of(lock_row& row, const request& q) noexcept {
  if (q.request_id.empty() || row.request != q.request_id) return nullptr;
  const auto found = std::find_if(row.holds.begin(), row.holds.end(), [&](const request_hold& each) {
    return each.session == q.session && each.nonce == q.nonce;
  });
  return found == row.holds.end() ? nullptr : &*found;
}

reply database::leave(lock_row& row, const request& q, request_hold& hold, moment clock) {
  if (hold.expires <= clock) return plain(outcome::no);
  if (observer != nullptr) {
    auto of = row;
    of.session = hold.session;
    of.nonce = hold.nonce;
    of.fence = hold.fence;
    observer->freed(q, of);
  }
  row.holds.erase(row.holds.begin() + (&hold - row.holds.data()));
  if (row.holds.empty() || is(mistake::request_freed_by_one)) {
    free(row, clock);
  } else {
    row.session = row.holds.back().session;
    row.nonce = row.holds.back().nonce;
  }
  return plain(outcome::yes);
}

// ---- one verb -------------------------------------------------------------------------------------------------------

void database::free(lock_row& row, moment clock) noexcept {
  row.session = id128{};
  row.foreign.clear();
  row.request.clear();
  row.holds.clear();
  row.position = 0;
  row.expires.reset();
  mark(row);
  if (row.by_column) row.expires = clock / second * second;  // it must have one
}

reply database::poll(const lock_row& row, moment clock) const {
  auto made = plain(outcome::yes);
  auto& holder = made.holder;
  holder.holder = holder_of(row);
  // The server names the connection that has a named lock, and not its grant.
  const bool by_connection = traits.caps.session_leases && !traits.caps.fence;
  holder.fence = by_connection ? std::hash<std::string>{}(row.session.hex()) : row.fence;
  holder.nonce = row.session && (row.of_table || lingers(row.nonce)) ? row.nonce : 0;
  const bool foreign = !row.foreign.empty() || !row.request.empty();
  holder.kind = row.by_column ? lease_kind::column : row.expires ? lease_kind::expiring : lease_kind::session;
  const auto found = sessions_.find(row.session);
  const bool for_ever = foreign && !row.expires;
  holder.gone = !row.expires && !for_ever && found == sessions_.end();
  holder.who = found != sessions_.end() ? who(found->second) : row.foreign + row.request;
  // Of a column the last second counts.
  const auto end = row.expires   ? *row.expires + (row.by_column ? second : 0)
                   : for_ever    ? clock + hour
                   : holder.gone ? clock
                                 : found->second.expires;
  holder.expired = end <= clock;
  holder.remaining = left_of(end, clock);
  return made;
}

reply database::take(lock_row& row, const request& q, const view& by) {
  bool is_free = !row.held() || row.passed(by.clock);
  if (is(mistake::take_from_anybody)) is_free = !row.expires || row.passed(by.clock);
  if (is(mistake::unkept_with_session)) is_free = is_free || (row.expires && !sessions_.contains(row.session));
  if (!is_free && !q.request_id.empty() && row.request == q.request_id) return enter(row, q, by);
  if (!is_free) return plain(outcome::no);
  const auto before = row;
  return grant(row, q, by, &before);
}

reply database::take_over(lock_row& row, const request& q, const view& by) {
  const auto& seen_sessions = by.sessions_then != nullptr ? *by.sessions_then : sessions_;
  const auto& expected = *q.expected;
  bool same = row.held() && holder_of(row) == expected.holder && row.fence == expected.fence;
  same = same && (!row.of_table || !row.session || row.nonce == expected.nonce);
  auto holder = expected.holder;
  if (is(mistake::stale_view)) {  // whoever holds it
    same = static_cast<bool>(row.session);
    holder = row.session;
  }
  const bool gone = row.session && (!seen_sessions.contains(holder) || is(mistake::take_over_from_living));
  const bool ended = row.expires ? row.passed(by.clock) : gone;
  if (!same || !ended) return plain(outcome::no);
  const auto before = row;
  return grant(row, q, by, &before);
}

reply database::extend(lock_row& row, const request& q, const view& by) {
  if (auto* const hold = hold_of(row, q)) {
    if (hold->expires <= by.clock) return plain(outcome::no);
    if (observer != nullptr) observer->extended(q, row);
    hold->expires = std::max(hold->expires, by.clock + q.ttl.count());
    row.expires = std::max(*row.expires, hold->expires);
    return plain(outcome::yes);
  }
  const bool ours = same_grant(row, q) || (is(mistake::extend_of_others) && row.session);
  if (!ours || !row.expires || row.passed(by.clock)) return plain(outcome::no);
  if (observer != nullptr) observer->extended(q, row);
  row.expires = std::max(*row.expires, expiry_of(row, by.clock, q.ttl));
  return plain(outcome::yes);
}

reply database::release(lock_row& row, const request& q, const view& by) {
  if (auto* const hold = hold_of(row, q)) return leave(row, q, *hold, by.clock);
  const bool session_alone = is(mistake::release_without_fence) && row.session == q.session && row.session;
  if (!same_grant(row, q) && !session_alone) return plain(outcome::no);
  const auto end = row.acquired + moment{q.min_hold.count()};
  // Without min_hold the clock does not matter, which may have been set back since the grant.
  if ((q.min_hold.count() > 0 && end > by.clock) || (q.min_hold.count() > 0 && is(mistake::min_hold_kept))) {
    if (!is(mistake::min_hold_kept)) row.expires = end;  // rule 12: holder and fence stay
    if (observer != nullptr) observer->kept(q, end - by.clock);
    return plain(outcome::yes);
  }
  if (observer != nullptr) observer->freed(q, row);
  free(row, by.clock);
  return plain(outcome::yes);
}

reply database::cancel(lock_row& row, const request& q, const view& by) {
  if (auto* const hold = hold_of(row, q)) return leave(row, q, *hold, by.clock);
  const bool ours = row.request.empty() && row.session == q.session && row.session;
  if (!ours || (row.nonce != q.nonce && !is(mistake::cancel_without_nonce))) return plain(outcome::no);
  if (observer != nullptr) observer->freed(q, row);
  free(row, by.clock);
  return plain(outcome::yes);
}

reply database::pass_on(lock_row& row, const request& q, const view& by) {
  const bool session_alone = is(mistake::passed_on_without_fence) && row.session == q.session && row.session;
  if (!session_alone && (row.session != q.session || !row.session || row.fence != q.fence)) return plain(outcome::no);
  const auto before = row;
  return grant(row, q, by, &before);
}

reply database::reserve(lock_row& row, const request& q) {
  if (row.session != q.session || !row.session || row.fence != q.fence) return plain(outcome::no);
  row.fence += q.count;
  if (observer != nullptr) observer->reserved(q, row);
  auto made = plain(outcome::yes);
  made.fence = row.fence;
  return made;
}

bool database::holds(const lock_row& row, const request& grant) noexcept { return same_grant(row, grant); }

std::uint64_t database::claim(const request& q, moment clock) {
  const auto found = locks_.find(q.resource);
  if (found == locks_.end()) return 0;
  auto& row = found->second;
  const auto before = row;
  return (is(mistake::claim_without_lock) ? grant(row, q, {clock}, &before) : take(row, q, {clock})).fence;
}

// ---- other programs -------------------------------------------------------------------------------------------------

bool database::plain_take(const std::string& key, const std::string& owner, moment seconds, moment clock) {
  auto& row = locks_.at(key);
  if (row.held() && !row.passed(clock)) return false;
  if (observer != nullptr) observer->taken(key, row, row.fence + 1);
  row.session = id128{};
  row.request.clear();
  row.holds.clear();
  row.foreign = owner;
  row.acquired = clock;
  mark(row);
  row.expires = clock / second * second + seconds * second;
  ++row.fence;
  return true;
}

bool database::plain_release(const std::string& key, const std::string& owner, moment clock) {
  auto& row = locks_.at(key);
  if (row.foreign != owner) return false;
  free(row, clock);
  return true;
}

reply database::run(const request& q, const view& by) {
  auto found = locks_.find(q.resource);
  bool there = found != locks_.end();
  if (!traits.keeps_rows && q.row == nullptr) {
    // A key has no row while it is free, and take and insert are one.
    there = there && found->second.held() && !found->second.passed(by.clock);
    if (q.action == verb::take || q.action == verb::insert) {
      if (traits.ends_sessions && !sessions_.contains(q.session)) {
        auto refused = plain(outcome::failed);
        refused.why = {.transient = true, .text = "the session is not open"};
        return refused;
      }
      if (there) return plain(outcome::no);
      if (found == locks_.end()) return grant(locks_[std::string(q.resource)], q, by, nullptr);
      const auto before = found->second;
      return grant(found->second, q, by, &before);
    }
    if (q.action == verb::take_over) return plain(outcome::no);
  }
  if (q.action == verb::insert) {
    if (there) return plain(outcome::no);
    if (q.row != nullptr) return plain(outcome::absent);
    lock_row& row = locks_[std::string(q.resource)];
    row.fence = is(mistake::floor_forgotten) ? 0 : floor_;
    return grant(row, q, by, nullptr);
  }
  if (!there) return plain(q.action == verb::poll ? outcome::absent : outcome::no);
  lock_row& row = found->second;
  if (q.action == verb::poll && !q.request_id.empty() && row.request == q.request_id) {
    auto made = poll(row, by.clock);
    made.holder.holder = {};  // the request may have it
    return made;
  }
  const bool grants = q.action == verb::take || q.action == verb::take_over;
  if (grants && row.by_column && q.ttl.count() <= 0) {
    auto refused = plain(outcome::failed);
    refused.why.text = "a row whose own expiry is renewed can't be locked without one";
    return refused;
  }
  switch (q.action) {
    case verb::take: return take(row, q, by);
    case verb::poll: return poll(row, by.clock);
    case verb::take_over: return take_over(row, q, by);
    case verb::extend: return extend(row, q, by);
    case verb::release: return release(row, q, by);
    case verb::cancel: return cancel(row, q, by);
    case verb::pass_on: return pass_on(row, q, by);
    case verb::reserve: return reserve(row, q);
    case verb::close:
    case verb::open:
    case verb::insert: break;
  }
  return plain(outcome::failed);
}

void database::run_batch(const std::vector<request>& all, const view& by, std::vector<reply>& answers) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool copied = i > 0 && is(mistake::batch_of_one);
    // One statement says once whose it is, and of which kind.
    auto q = all[i];
    if (q.action != verb::poll) q.session = all[0].session;
    q.kind = all[0].kind;
    q.ttl = all[0].ttl;
    q.min_hold = all[0].min_hold;
    answers[i] = copied ? answers[0] : run(q, by);
    answers[i].statements = i == 0 ? 1 : 0;
  }
  if (all.size() > 1 && is(mistake::batch_mixed_up)) std::swap(answers[0], answers[1]);
}

// ---- session rows ---------------------------------------------------------------------------------------------------

reply database::run(session_verb action, const session_record& of, moment clock) {
  const auto found = sessions_.find(of.id);
  const bool there = found != sessions_.end();
  const auto ttl = moment{of.ttl.count()};
  if (!traits.caps.session_leases) {  // no lease depends on one
    if (action == session_verb::open && observer != nullptr) observer->opened(of.id);
    return plain(outcome::yes);
  }
  switch (action) {
    case session_verb::open:
      if (there) return plain(outcome::no);
      if (observer != nullptr) observer->opened(of.id);
      sessions_[of.id] = {clock + ttl, ttl, false, std::string(of.host), of.pid, std::string(of.label)};
      return plain(outcome::yes);
    case session_verb::renew: {
      if (!there) return plain(outcome::no);
      auto& row = found->second;
      if (row.expires <= clock || (row.revoked && !is(mistake::revoked_renewed))) return plain(outcome::no);
      row.expires = is(mistake::renewal_goes_back) ? clock + ttl : std::max(row.expires, clock + ttl);
      return plain(outcome::yes);
    }
    case session_verb::remove_expired:
      if (is(mistake::take_over_from_living)) return plain(outcome::yes);
      if (!there || found->second.expires > clock) return plain(outcome::no);
      break;
    case session_verb::close:
      if (is(mistake::session_forgotten)) return plain(outcome::yes);
      if (!there) return plain(outcome::no);
      if (observer != nullptr) observer->closed(of.id);
      break;
  }
  ended_[of.id] = std::min(found->second.expires, clock);
  sessions_.erase(found);
  return plain(outcome::yes);
}

std::vector<std::string> database::end_session(const id128& id, moment clock) {
  std::vector<std::string> freed;
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) {
    if (found->second.expires > clock) return freed;
    sessions_.erase(found);
  }
  for (auto& [key, row] : locks_) {
    if (row.session != id || row.expires) continue;
    if (observer != nullptr) observer->ended(key, row);
    free(row, clock);
    freed.push_back(key);
  }
  return freed;
}

void database::grant_position(const std::string& key, const id128& session, std::uint64_t position, moment clock) {
  auto& row = locks_[key];
  const auto before = row;
  grant(row, {.action = verb::take, .resource = key, .session = session}, {clock}, &before);
  row.position = position;
}

std::uint64_t database::take_position(const std::string& key, std::uint64_t position, std::uint64_t nonce) {
  const auto found = locks_.find(key);
  if (found == locks_.end() || !found->second.held() || found->second.position != position) return 0;
  found->second.nonce = nonce;
  return found->second.fence;
}

bool database::leave_position(const std::string& key, std::uint64_t position, moment clock) {
  const auto found = locks_.find(key);
  if (found == locks_.end() || !found->second.held() || found->second.position != position) return false;
  if (observer != nullptr) {
    const auto& row = found->second;
    observer->freed({.action = verb::cancel, .resource = key, .session = row.session, .nonce = row.nonce}, row);
  }
  free(found->second, clock);
  return true;
}

// ---- members --------------------------------------------------------------------------------------------------------

membership lock_row::shared() const noexcept {
  if (!stores::sql::shared_keys::is_shared(session)) return membership::none;
  constexpr std::size_t word = sizeof "dlock:" - 1;  // of the id: "open", or "closed"
  return session.bytes[word] == 'o' ? membership::open : membership::closed;
}

void database::add_lock(const std::string& key, lock_row row) {
  if (observer != nullptr) observer->shared(key, nullptr, row);
  mark(row);
  locks_[key] = std::move(row);
}

void database::change_lock(const std::string& key, lock_row& row, lock_row to, const request& by) {
  if (observer != nullptr && to.session && to.shared() == membership::none) {
    observer->granted(by, &row, to.fence);
  } else if (observer != nullptr) {
    observer->shared(key, &row, to);
  }
  row = std::move(to);
  mark(row);
}

bool database::add_member(const std::string& key, const member_row& who, std::uint32_t permits) {
  auto& all = members_[key];
  const bool there = std::any_of(all.begin(), all.end(), [&](const member_row& each) {
    return each.session == who.session && each.nonce == who.nonce;
  });
  if (there) return false;
  if (observer != nullptr) observer->member_joins(key, who, permits);
  all.push_back(who);
  return true;
}

bool database::remove_members(const std::function<bool(const std::string& key, const member_row& who)>& which) {
  bool any = false;
  for (auto& [key, all] : members_) {
    for (std::size_t i = 0; i < all.size();) {
      if (!which(key, all[i])) {
        ++i;
        continue;
      }
      if (observer != nullptr) observer->member_goes(key, all[i]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      any = true;
    }
  }
  return any;
}

std::vector<member_row> database::living_members(std::string_view key, moment clock) const {
  std::vector<member_row> found;
  const auto at = members_.find(key);
  if (at == members_.end()) return found;
  std::copy_if(at->second.begin(), at->second.end(), std::back_inserter(found), [&](const member_row& each) {
    const auto session = sessions_.find(each.session);
    return session != sessions_.end() && session->second.expires > clock;
  });
  return found;
}

// ---- operators and clean-up -----------------------------------------------------------------------------------------

std::optional<holder_info> database::describe(const std::string& key, moment clock) const {
  const auto at = locks_.find(key);
  if (at == locks_.end()) return std::nullopt;
  const auto& row = at->second;
  if (!row.held() || row.passed(clock)) return std::nullopt;
  holder_info info{.key = row.of_table ? std::string() : key, .session = row.session, .fence = row.fence};
  info.label = row.foreign;
  if (row.by_column) info.kind = lease_kind::column;
  if (!row.expires) info.kind = lease_kind::session;
  info.since = microseconds{clock - row.acquired};
  if (row.expires) info.remaining = left_of(*row.expires, clock);
  if (const auto holder = sessions_.find(row.session); holder != sessions_.end()) {
    const auto& of = holder->second;
    info.host = of.host;
    info.pid = of.pid;
    info.label = of.label;
    info.revoked = of.revoked;
    if (!row.expires) info.remaining = left_of(of.expires, clock);
  }
  info.dead = !row.expires && row.session && info.remaining.count() == 0;
  return info;
}

bool database::revoke(std::string_view key) {
  const auto found = locks_.find(key);
  if (found == locks_.end() || !found->second.session || found->second.expires) return false;
  const auto holder = sessions_.find(found->second.session);
  if (holder == sessions_.end()) return false;
  holder->second.revoked = true;
  if (is(mistake::revoke_frees)) free(found->second, 0);
  return true;
}

std::uint64_t database::cleanup(moment idle, std::size_t limit, moment clock) {
  const auto abandoned = [&](const lock_row& row) {
    if (!row.held()) return true;
    if (row.expires) return row.passed(clock);
    const auto holder = sessions_.find(row.session);
    return holder == sessions_.end() || holder->second.expires + holder->second.ttl <= clock;
  };
  std::uint64_t gone = 0;
  for (auto at = locks_.begin(); idle > 0 && at != locks_.end() && gone < limit;) {
    const auto& row = at->second;
    if (row.of_table || row.locked_by != 0 || !abandoned(row) || clock - row.acquired < idle) {
      ++at;
      continue;
    }
    floor_ = std::max(floor_, row.fence);  // rule 11: before the row goes
    at = locks_.erase(at);
    ++gone;
  }
  std::uint64_t dead = 0;
  for (auto at = sessions_.begin(); at != sessions_.end() && dead < limit;) {
    const auto holds = [&](const auto& each) { return each.second.session == at->first; };
    if (at->second.expires + at->second.ttl > clock || std::any_of(locks_.begin(), locks_.end(), holds)) {
      ++at;
      continue;
    }
    at = sessions_.erase(at);
    ++dead;
  }
  return gone + dead;
}

}  // namespace dlock::simulation
