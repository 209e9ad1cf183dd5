// SPDX-License-Identifier: BSL-1.0
#include "base/mutex.hpp"
#include "dlock/stores/memory.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <optional>

namespace dlock::stores {

namespace {

/// A reader, or the holder of permits.
struct member_row {
  id128 session{};
  std::uint64_t nonce = 0;
  std::uint32_t units = 0;
  instant since{};
};

struct lock_row {
  id128 session{};  // zero if the key is free, or shared
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  instant acquired{};
  std::optional<instant> expires{};  // empty if its session keeps the lock
  membership shared = membership::none;
  std::vector<member_row> members{};
  std::uint64_t closings = 0;            // how often it was closed to new members
  instant closed{};                      // when somebody said last that it has to be
  std::vector<std::uint64_t> closers{};  // the nonces of those who said so and have not given up
};

/// What a poll shows as the holder of a key that is closed to the caller.
constexpr id128 closing_caller{{'c', 'l', 'o', 's', 'e', 'd'}};

struct mark_row {
  instant done{};
  std::optional<instant> until{};  // empty if it counts for ever
  std::uint64_t fence = 0;
  std::string by{};

  bool counts(instant now) const { return !until || *until > now; }
};

struct session_row {
  instant opened{};
  instant expires{};
  microseconds ttl{0};
  bool revoked = false;
  std::string host{};
  std::int64_t pid = 0;
  std::string label{};
};

/// Nothing has changed when it is returned, because statements allocate before they change anything.
reply out_of_memory() noexcept {
  reply out_of_memory{.result = outcome::failed};
  out_of_memory.why.transient = true;
  out_of_memory.why.text = "out of memory";  // fits into the string's own buffer
  return out_of_memory;
}

std::string who(const session_row& row) {
  return row.host + "/" + std::to_string(row.pid) + (row.label.empty() ? "" : " ") + row.label;
}

/// Its statements never wait, so there is nothing to interrupt.
class memory_connection final : public connection {
 public:
  explicit memory_connection(const std::string& server) : identity_{server, "1", 0} {}
  void interrupt() noexcept override {}
  bool usable() const noexcept override { return true; }
  const connection_identity& identity() const noexcept override { return identity_; }

 private:
  connection_identity identity_;
};

microseconds until(instant end, instant now) { return std::max(microseconds{0}, end - now); }

}  // namespace

struct memory_store::state {
  explicit state(const time_source& clock) : time(clock) {
    static std::atomic<unsigned> count{0};
    name = "memory:" + std::to_string(++count);
  }

  const time_source& time;
  std::string name;
  base::mutex mutex;
  std::map<std::string, lock_row, std::less<>> locks DLOCK_GUARDED_BY(mutex);
  std::map<id128, session_row> sessions DLOCK_GUARDED_BY(mutex);
  std::map<std::string, mark_row, std::less<>> marks DLOCK_GUARDED_BY(mutex);
  std::uint64_t floor DLOCK_GUARDED_BY(mutex) = 0;
  std::int64_t grants DLOCK_GUARDED_BY(mutex) = 0;

  bool ours(const lock_row& row, const request& q) const { return row.session == q.session && row.session; }

  reply grant(lock_row& row, const request& q, instant now) DLOCK_REQUIRES(mutex) {
    ++grants;
    row.session = q.session;
    row.nonce = q.nonce;
    ++row.fence;
    row.acquired = now;
    // Rule 1: a grant that its session keeps clears an expiry left by the previous holder, which would free it.
    row.expires.reset();
    if (q.kind != lease_kind::session) row.expires = now + q.ttl;
    return {.result = outcome::yes, .fence = row.fence};
  }

  void free(lock_row& row) {
    row.session = id128{};
    row.expires.reset();
  }

  reply poll(const lock_row& row, instant now) const DLOCK_REQUIRES(mutex) {
    reply r{.result = outcome::yes};
    r.holder.holder = row.session;
    r.holder.fence = row.fence;
    r.holder.nonce = row.session ? row.nonce : 0;
    r.holder.kind = row.expires ? lease_kind::expiring : lease_kind::session;
    const auto holder = sessions.find(row.session);
    r.holder.gone = !row.expires && holder == sessions.end();
    if (holder != sessions.end()) r.holder.who = who(holder->second);
    const auto end = row.expires ? *row.expires : r.holder.gone ? now : holder->second.expires;
    r.holder.expired = end <= now;
    r.holder.remaining = until(end, now);
    return r;
  }

  /// Rule 2: names the holder and fence that were seen.
  bool is_dead(const lock_row& row, const request& q) const DLOCK_REQUIRES(mutex) {
    const bool same = row.session == q.expected->holder && row.fence == q.expected->fence && row.session;
    return same && (row.expires ? *row.expires <= time.now() : !sessions.contains(q.expected->holder));
  }

  reply take_over(lock_row& row, const request& q, instant now) DLOCK_REQUIRES(mutex) {
    if (!is_dead(row, q)) return {.result = outcome::no};
    return grant(row, q, now);
  }

  // ---- members ------------------------------------------------------------------------------------------------------

  reply join(lock_row& row, const request& q, instant now) {
    if (row.shared == membership::closed && now - row.closed >= closed_for) row.shared = membership::open;
    if (row.shared != membership::open || !has_room(row, q)) return {.result = outcome::no};
    row.members.push_back({q.session, q.nonce, q.units, now});
    return {.result = outcome::yes, .fence = row.fence};
  }

  static bool has_room(const lock_row& row, const request& q) {
    std::uint64_t taken = q.units;
    for (const auto& each : row.members) taken += each.units;
    return q.permits == 0 || taken <= q.permits;
  }

  reply leave(lock_row& row, const request& q) {
    const auto gone = std::erase_if(
        row.members, [&](const member_row& each) { return each.session == q.session && each.nonce == q.nonce; });
    return {.result = gone > 0 ? outcome::yes : outcome::no};
  }

  void share(lock_row& row, instant now) {
    free(row);
    row.shared = membership::open;
    row.acquired = now;
  }

  reply poll_members(const lock_row& row, const request& q, instant now) const DLOCK_REQUIRES(mutex) {
    reply r{.result = outcome::yes};
    auto& seen = r.holder;
    seen.fence = row.fence;
    seen.shared = row.shared;
    seen.closing = row.closings;
    const auto since = row.shared == membership::closed ? now - row.closed : microseconds{0};
    seen.stale = since >= closed_for / 3;
    if (q.units != 0) {
      if (row.shared == membership::closed && since < closed_for) {
        seen.holder = closing_caller;
        seen.remaining = closed_for - since;
        seen.who = "a caller that waits for the exclusive lock";
        return r;
      }
      if (has_room(row, q)) return r;
    }
    const auto end_of = [&](const member_row& each) {
      mutex.assert_held();
      const auto at = sessions.find(each.session);
      return at == sessions.end() ? instant::min() : at->second.expires;
    };
    const auto first = std::min_element(row.members.begin(), row.members.end(),
                                        [&](const auto& a, const auto& b) { return end_of(a) < end_of(b); });
    if (first == row.members.end()) return r;
    seen.holder = first->session;
    seen.kind = lease_kind::session;
    const auto end = end_of(*first);
    seen.gone = end == instant::min();
    seen.expired = end <= now;
    seen.remaining = until(std::max(end, now), now);
    if (!seen.gone) seen.who = who(sessions.find(first->session)->second);
    return r;
  }

  reply run_shared(lock_row& row, const request& q, instant now) DLOCK_REQUIRES(mutex) {
    switch (q.action) {
      case verb::take:
        if (q.units != 0) return join(row, q, now);
        if (row.shared != membership::closed || q.expected == nullptr || !row.members.empty() ||
            row.fence != q.expected->fence || row.closings != q.expected->closing) {
          return {.result = outcome::no};
        }
        row.shared = membership::none;
        return grant(row, q, now);
      case verb::poll: return poll_members(row, q, now);
      case verb::take_over:
        if (!sessions.contains(q.expected->holder))
          std::erase_if(row.members, [&](const auto& each) { return each.session == q.expected->holder; });
        return {.result = outcome::no};
      case verb::release:
      case verb::cancel: return leave(row, q);
      case verb::close:
        if (row.shared == membership::open) {
          ++row.closings;
          row.closers.clear();
        }
        std::erase(row.closers, q.nonce);
        if (q.nonce != 0) row.closers.push_back(q.nonce);
        row.shared = membership::closed;
        row.closed = now;
        return {.result = outcome::yes};
      case verb::open:
        if (row.shared != membership::closed) return {.result = outcome::no};
        std::erase(row.closers, q.nonce);
        if (row.closers.empty()) row.shared = membership::open;
        return {.result = outcome::yes};
      default: return {.result = outcome::no};
    }
  }

  /// For a caller that wants to be a member of a key that has none.
  reply run_member(lock_row& row, const request& q, instant now) DLOCK_REQUIRES(mutex) {
    if (q.action == verb::pass_on) {
      if (!ours(row, q) || row.fence != q.fence) return {.result = outcome::no};
      share(row, now);
      return join(row, q, now);
    }
    const bool dead = q.action == verb::take_over && is_dead(row, q);
    if (!dead && (q.action != verb::take || (row.session && !(row.expires && *row.expires <= now))))
      return {.result = outcome::no};
    share(row, now);
    return join(row, q, now);
  }

  // ---- the verbs ----------------------------------------------------------------------------------------------------

  reply release(lock_row& row, const request& q, instant now) {
    if (!ours(row, q) || row.fence != q.fence) return {.result = outcome::no};
    const auto end = row.acquired + q.min_hold;
    if (end > now) {
      row.expires = end;  // rule 12: holder and fence stay
    } else {
      free(row);
    }
    return {.result = outcome::yes};
  }

  reply run(const request& q, instant now) DLOCK_REQUIRES(mutex) {
    auto found = locks.find(q.resource);
    if (q.action == verb::insert) {
      if (found != locks.end()) return {.result = outcome::no};
      lock_row& row = locks[std::string(q.resource)];
      row.fence = floor;
      if (q.units == 0) return grant(row, q, now);
      ++row.fence;
      share(row, now);
      return join(row, q, now);
    }
    if (found == locks.end()) return {.result = q.action == verb::poll ? outcome::absent : outcome::no};
    lock_row& row = found->second;
    if (row.shared != membership::none) return run_shared(row, q, now);
    if (q.units != 0 && q.action != verb::poll) return run_member(row, q, now);
    switch (q.action) {
      case verb::take:
        if (row.session && !(row.expires && *row.expires <= now)) return {.result = outcome::no};
        return grant(row, q, now);
      case verb::poll: return poll(row, now);
      case verb::take_over: return take_over(row, q, now);
      case verb::extend:
        if (!ours(row, q) || row.fence != q.fence || !row.expires || *row.expires <= now) {
          return {.result = outcome::no};
        }
        row.expires = std::max(*row.expires, now + q.ttl);
        return {.result = outcome::yes};
      case verb::release: return release(row, q, now);
      case verb::cancel:
        if (!ours(row, q) || row.nonce != q.nonce) return {.result = outcome::no};
        free(row);
        return {.result = outcome::yes};
      case verb::pass_on:
        if (!ours(row, q) || row.fence != q.fence) return {.result = outcome::no};
        return grant(row, q, now);
      case verb::reserve:
        if (!ours(row, q) || row.fence != q.fence) return {.result = outcome::no};
        row.fence += q.count;
        return {.result = outcome::yes, .fence = row.fence};
      case verb::close:
      case verb::open: return {.result = outcome::no};
      case verb::insert: break;
    }
    return {.result = outcome::failed};
  }

  reply run(session_verb action, const session_record& record, instant now) DLOCK_REQUIRES(mutex) {
    const auto found = sessions.find(record.id);
    const bool there = found != sessions.end();
    switch (action) {
      case session_verb::open:
        if (there) return {.result = outcome::no};
        sessions.emplace(record.id, session_row{now, now + record.ttl, record.ttl, false, std::string(record.host),
                                                record.pid, std::string(record.label)});
        return {.result = outcome::yes};
      case session_verb::renew:
        if (!there || found->second.expires <= now || found->second.revoked) return {.result = outcome::no};
        found->second.expires = std::max(found->second.expires, now + record.ttl);
        return {.result = outcome::yes};
      case session_verb::remove_expired:
        if (!there || found->second.expires > now) return {.result = outcome::no};
        break;
      case session_verb::close:
        if (!there) return {.result = outcome::no};
        break;
    }
    sessions.erase(found);
    return {.result = outcome::yes};
  }

  /// Whether the key is free, or its holder has been dead for another ttl.
  bool abandoned(const lock_row& row, instant now) const DLOCK_REQUIRES(mutex) {
    if (!row.session) return row.members.empty();
    if (row.expires) return *row.expires <= now;
    const auto holder = sessions.find(row.session);
    return holder == sessions.end() || holder->second.expires + holder->second.ttl <= now;
  }

  holder_info describe(const std::string& key, const lock_row& row, const id128& session, instant since,
                       instant now) const DLOCK_REQUIRES(mutex) {
    holder_info info{.key = key, .session = session, .fence = row.fence};
    if (!row.expires) info.kind = lease_kind::session;
    info.since = now - since;
    if (row.expires) info.remaining = until(*row.expires, now);
    if (const auto holder = sessions.find(session); holder != sessions.end()) {
      const auto& s = holder->second;
      info.host = s.host;
      info.pid = s.pid;
      info.label = s.label;
      info.revoked = s.revoked;
      if (!row.expires) info.remaining = until(s.expires, now);
    }
    info.dead = !row.expires && info.remaining.count() == 0;
    return info;
  }

  /// Adds the holders of a key: none if it is free, several if it is shared.
  void describe(const std::string& key, const lock_row& row, instant now, std::vector<holder_info>& out) const
      DLOCK_REQUIRES(mutex) {
    for (const auto& each : row.members) out.push_back(describe(key, row, each.session, each.since, now));
    const bool expired = row.expires && *row.expires <= now;
    if (row.session && !expired) out.push_back(describe(key, row, row.session, row.acquired, now));
  }
};

memory_store::memory_store(const time_source& time) : state_(std::make_unique<state>(time)) {}
memory_store::~memory_store() = default;

const std::string& memory_store::name() const noexcept { return state_->name; }
capabilities memory_store::caps() const noexcept { return {.passes_on = true, .shares = true, .marks = true}; }
void memory_store::prepare() {}

std::unique_ptr<connection> memory_store::connect(microseconds, fault& why) noexcept try {
  return std::make_unique<memory_connection>(state_->name);
} catch (const std::bad_alloc&) {
  why.transient = why.connection = true;
  why.text = "out of memory";
  return nullptr;
}

void memory_store::execute(connection&, std::span<const request> requests, std::span<reply> replies) noexcept {
  const base::lock_guard lock(state_->mutex);
  const auto now = state_->time.now();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    try {
      replies[i] = state_->run(requests[i], now);
    } catch (const std::bad_alloc&) {
      replies[i] = out_of_memory();
    }
    if (i != 0 && requests[i].action == verb::poll)
      replies[i].statements = 0;  // one statement for all, as in a database
  }
}

reply memory_store::session(connection&, session_verb action, const session_record& record) noexcept try {
  const base::lock_guard lock(state_->mutex);
  return state_->run(action, record, state_->time.now());
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

bool memory_store::terminate(connection&, const connection_identity&) noexcept { return true; }

reply memory_store::inspect(connection&, const request& key, std::vector<holder_info>& out) noexcept try {
  const base::lock_guard lock(state_->mutex);
  const auto found = state_->locks.find(key.resource);
  if (found != state_->locks.end()) state_->describe(found->first, found->second, state_->time.now(), out);
  return {.result = outcome::yes};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

reply memory_store::list(connection&, std::string_view after, std::size_t limit, std::vector<holder_info>& out) noexcept
    try {
  const base::lock_guard lock(state_->mutex);
  const auto now = state_->time.now();
  for (auto at = state_->locks.upper_bound(after); at != state_->locks.end() && limit > 0; ++at) {
    const auto before = out.size();
    state_->describe(at->first, at->second, now, out);
    if (out.size() > before) --limit;
  }
  return {.result = outcome::yes};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

reply memory_store::revoke(connection&, const request& key) noexcept {
  const base::lock_guard lock(state_->mutex);
  const auto found = state_->locks.find(key.resource);
  if (found == state_->locks.end() || found->second.expires) return {.result = outcome::no};
  reply answer{.result = outcome::no};
  const auto revoke = [&](const id128& session) {
    state_->mutex.assert_held();
    const auto holder = state_->sessions.find(session);
    if (holder == state_->sessions.end()) return;
    holder->second.revoked = true;
    answer.result = outcome::yes;
  };
  revoke(found->second.session);
  for (const auto& each : found->second.members) revoke(each.session);
  return answer;
}

reply memory_store::cleanup(connection&, microseconds idle, std::size_t limit) noexcept {
  const base::lock_guard lock(state_->mutex);
  const auto now = state_->time.now();
  std::uint64_t gone = 0;
  for (auto& [key, row] : state_->locks) {
    std::erase_if(row.members, [&](const member_row& each) {
      state_->mutex.assert_held();
      return !state_->sessions.contains(each.session);
    });
  }
  for (auto at = state_->locks.begin(); idle.count() > 0 && at != state_->locks.end() && gone < limit;) {
    if (!state_->abandoned(at->second, now) || now - at->second.acquired < idle) {
      ++at;
      continue;
    }
    state_->floor = std::max(state_->floor, at->second.fence);  // rule 11: before the row is deleted
    at = state_->locks.erase(at);
    ++gone;
  }
  const auto holds = [this](const id128& id) {
    state_->mutex.assert_held();
    return std::any_of(state_->locks.begin(), state_->locks.end(),
                       [&](const auto& row) { return row.second.session == id; });
  };
  std::size_t dead = 0;
  for (auto at = state_->sessions.begin(); at != state_->sessions.end() && dead < limit;) {
    if (at->second.expires + at->second.ttl > now || holds(at->first)) {
      ++at;
      continue;
    }
    at = state_->sessions.erase(at);
    ++dead;
  }
  std::erase_if(state_->marks, [&](const auto& each) { return !each.second.counts(now); });
  return {.result = outcome::yes, .fence = gone + dead, .more = gone >= limit || dead >= limit};
}

reply memory_store::overview(connection&, std::size_t limit, store_overview& found) noexcept try {
  const base::lock_guard lock(state_->mutex);
  const auto now = state_->time.now();
  store_overview made{.keys = state_->locks.size(), .grants = state_->grants};
  std::map<id128, std::uint64_t> holds;
  for (const auto& [key, row] : state_->locks) {
    const auto before = made.longest.size();
    state_->describe(key, row, now, made.longest);
    const std::span holders(made.longest.begin() + static_cast<std::ptrdiff_t>(before), made.longest.end());
    if (holders.empty()) continue;
    ++made.held;
    made.held_dead += std::all_of(holders.begin(), holders.end(), [](const auto& each) { return each.dead; }) ? 1 : 0;
    for (const auto& each : holders) ++holds[each.session];
  }
  for (const auto& [id, row] : state_->sessions) {
    const bool dead = row.expires <= now;
    (dead ? made.sessions_dead : made.sessions_alive) += 1;
    made.sessions.push_back({.id = id,
                             .host = row.host,
                             .pid = row.pid,
                             .label = row.label,
                             .ttl = row.ttl,
                             .age = now - row.opened,
                             .remaining = until(row.expires, now),
                             .revoked = row.revoked,
                             .dead = dead,
                             .locks = holds[id]});
  }
  std::stable_sort(made.sessions.begin(), made.sessions.end(),
                   [](const auto& a, const auto& b) { return a.locks > b.locks; });
  std::stable_sort(made.longest.begin(), made.longest.end(),
                   [](const auto& a, const auto& b) { return a.since > b.since; });
  made.sessions.resize(std::min(limit, made.sessions.size()));
  made.longest.resize(std::min(limit, made.longest.size()));
  found = std::move(made);
  return {.result = outcome::yes};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

reply memory_store::find_mark(connection&, std::string_view key, done_mark& found) noexcept try {
  const base::lock_guard lock(state_->mutex);
  const auto now = state_->time.now();
  const auto at = state_->marks.find(key);
  if (at == state_->marks.end() || !at->second.counts(now)) return {.result = outcome::absent};
  const auto& row = at->second;
  found = {.since = now - row.done, .fence = row.fence, .by = row.by};
  if (row.until) found.remaining = *row.until - now;
  return {.result = outcome::yes};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

reply memory_store::set_mark(connection&, const request& grant, std::optional<microseconds> valid,
                             std::string_view by) noexcept try {
  const base::lock_guard lock(state_->mutex);
  const auto held = state_->locks.find(grant.resource);
  if (held == state_->locks.end() || !state_->ours(held->second, grant) || held->second.fence != grant.fence) {
    return {.result = outcome::no};
  }
  const auto now = state_->time.now();
  mark_row row{.done = now, .fence = grant.fence, .by = std::string(by)};
  if (valid) row.until = now + *valid;
  state_->marks.insert_or_assign(std::string(grant.resource), std::move(row));
  return {.result = outcome::yes};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

reply memory_store::delete_mark(connection&, std::string_view key) noexcept {
  const base::lock_guard lock(state_->mutex);
  const auto at = state_->marks.find(key);
  if (at == state_->marks.end()) return {.result = outcome::no};
  const bool counted = at->second.counts(state_->time.now());
  state_->marks.erase(at);
  return {.result = counted ? outcome::yes : outcome::no};
}

}  // namespace dlock::stores
