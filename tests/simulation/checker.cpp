// SPDX-License-Identifier: BSL-1.0
#include "simulation/checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlock::simulation {

namespace {

std::string short_id(const id128& id) { return id.hex().substr(0, 6); }

const char* name_of(verb what) {
  switch (what) {
    case verb::take: return "take";
    case verb::insert: return "insert";
    case verb::poll: return "poll";
    case verb::take_over: return "take over";
    case verb::extend: return "extend";
    case verb::release: return "release";
    case verb::cancel: return "cancel";
  }
  return "?";
}

}  // namespace

void checker::fail(const std::string& rule, std::string_view key, const std::string& text) {
  world_.tell("checker", [&] { return rule + ": key " + std::string(key) + ": " + text; });
  world_.fail(fmt::format("{}: key {}: {}", rule, key, text));
}

checker::key_state& checker::state_of(std::string_view key) {
  const auto known = keys_.find(key);
  return known != keys_.end() ? known->second : keys_.try_emplace(std::string(key)).first->second;
}

// ---- operators ------------------------------------------------------------------------------------------------------

void checker::force(std::string_view key, const id128& session, std::uint64_t nonce, std::uint64_t fence) {
  const bool under_way = std::any_of(forcing_.begin(), forcing_.end(),
                                     [&](const auto& each) { return each.second == key && !each.first->dead(); });
  if (under_way && session) forced_[std::string(key)].push_back({session, nonce, fence});
}

void checker::force_begins(const process& by, const std::string& key) {
  forcing_.emplace_back(&by, key);
  const auto at = server_.data.locks().find(key);
  if (at == server_.data.locks().end() || !at->second.expires) return;
  force(key, at->second.session, at->second.nonce, state_of(key).highest);
}

void checker::force_done(const process& by, const std::string& key) {
  forcing_.erase(std::find(forcing_.begin(), forcing_.end(), std::pair(&by, key)));
}

bool checker::is_forced(std::string_view key, const id128& session, std::uint64_t nonce) const {
  const auto at = forced_.find(key);
  return at != forced_.end() && std::any_of(at->second.begin(), at->second.end(), [&](const forced_grant& each) {
           return each.session == session && each.nonce == nonce;
         });
}

bool checker::is_forced(const std::string& key, std::uint64_t fence) const {
  const auto at = forced_.find(key);
  return at != forced_.end() && std::any_of(at->second.begin(), at->second.end(),
                                            [&](const forced_grant& each) { return each.fence == fence; });
}

// ---- what the server does -------------------------------------------------------------------------------------------

process* checker::trusting(std::string_view key, key_state& at, const lock_row* of) {
  std::erase_if(at.holders, [](const held& each) { return each.of.expired() || each.by->dead(); });
  for (const auto& each : at.holders) {
    const auto one = each.of.lock();
    // A fence that is the row's version is raised by ordinary updates too; session and nonce are the grant's for ever.
    if (of != nullptr && (one->nonce != of->nonce || one->pin->id != of->session)) continue;
    if (is_forced(key, one->pin->id, one->nonce)) continue;
    if (one->remaining(each.by->now()) > microseconds{0}) return each.by;
  }
  return nullptr;
}

void checker::granted(const request& by, const lock_row* row, std::uint64_t fence) {
  ++grants;
  if (by.action == verb::take_over) ++take_overs;
  auto& at = state_of(by.resource);
  world_.tell("server", [&] {
    return fmt::format("key {}: {} grants fence {} to session {}, nonce {:x}", by.resource, name_of(by.action), fence,
                       short_id(by.session), by.nonce);
  });
  world_.mix(fence);
  passes_on(at, by.resource, row, fence);
  if (by.kind != lease_kind::session) force(by.resource, by.session, by.nonce, fence);
}

void checker::taken(const std::string& key, const lock_row& row, std::uint64_t fence) {
  world_.tell("server", [&] { return fmt::format("key {}: another program takes it, as fence {}", key, fence); });
  passes_on(state_of(key), key, &row, fence);
}

void checker::passes_on(key_state& at, std::string_view key, const lock_row* row, std::uint64_t fence) {
  if (row != nullptr && fence != row->fence + 1) fail("I2", key, fmt::format("fence {} follows {}", fence, row->fence));
  if (fence <= at.highest) fail("I2", key, fmt::format("fence {} after {}", fence, at.highest));
  at.highest = std::max(at.highest, fence);
  if (row != nullptr && !server_.data.over(*row, world_.now())) {
    fail(
        "I1", key,
        fmt::format("fence {} is taken from session {}, which lives and holds it", row->fence, short_id(row->session)));
  }
  if (const auto* const who = trusting(key, at, nullptr)) {
    fail("I5", key, fmt::format("fence {} is granted while {} still trusts its lease", fence, who->name()));
  }
  must_know(key, at);
}

void checker::must_know(std::string_view key, const key_state& at) {
  for (const auto& each : at.holders) {
    const auto one = each.of.lock();
    const auto state = one->state.load();
    if (state != engine::grant_state::held && state != engine::grant_state::lost) continue;
    if (!each.by->undisturbed(one->ttl.count()) || is_forced(key, one->pin->id, one->nonce)) continue;
    if (one->lost_token().stop_requested() && each.observed) continue;
    fail("I9", key,
         fmt::format("{} has lost fence {}, somebody else gets the key, and {} was not told", each.by->name(),
                     one->fence, each.observed ? "its holder" : "the observer"));
  }
}

void checker::lost_for_a_margin(std::string_view key, const held& each) {
  const auto one = each.of.lock();
  if (one == nullptr || each.by->dead() || one->state.load() != engine::grant_state::lost) return;
  if (is_forced(key, one->pin->id, one->nonce)) return;
  const auto since = each.by->now() - one->lost_at.load();
  if (since < engine::margin_for(one->ttl, std::chrono::microseconds{0})) {
    fail("I3", key,
         fmt::format("fence {} is freed {} us after {} has lost it", one->fence, since.count(), each.by->name()));
  }
}

void checker::loss_notified(const process& to, std::string_view key, std::uint64_t fence) {
  for (auto& each : state_of(key).holders) {
    const auto one = each.of.lock();
    if (one != nullptr && each.by == &to && one->fence == fence) each.observed = true;
  }
}

void checker::closed(const id128& session) {
  for (const auto& [key, at] : keys_) {
    for (const auto& each : at.holders) {
      const auto one = each.of.lock();
      if (one != nullptr && one->kind == lease_kind::session && one->pin->id == session) lost_for_a_margin(key, each);
    }
  }
}

void checker::freed(const request& by, const lock_row& row) {
  world_.tell("server", [&] {
    return fmt::format("key {}: {} frees fence {} of session {}", by.resource, name_of(by.action), row.fence,
                       short_id(row.session));
  });
  if (by.session != row.session || (by.nonce != 0 && by.nonce != row.nonce)) {
    fail("I6", by.resource,
         fmt::format("a {} of nonce {:x} frees the grant of nonce {:x}", name_of(by.action), by.nonce, row.nonce));
  }
  const auto at = keys_.find(by.resource);
  if (at == keys_.end()) return;
  if (const auto* const who = trusting(by.resource, at->second, &row)) {
    fail("I5", by.resource, fmt::format("fence {} is freed while {} still trusts its lease", row.fence, who->name()));
  }
  for (const auto& each : at->second.holders) {
    const auto one = each.of.lock();
    if (one->nonce == row.nonce && one->pin->id == row.session) lost_for_a_margin(by.resource, each);
  }
}

void checker::extended(const request& by, const lock_row& row) {
  if (by.session != row.session || (by.nonce != 0 && by.nonce != row.nonce)) {
    fail("I6", by.resource, "an extension of another program's grant");
  }
}

void checker::opened(const id128& session) {
  world_.tell("server", [&] { return "session " + short_id(session) + " is opened"; });
  if (!opened_.insert(session).second) fail("I6", "-", "session " + short_id(session) + " is opened a second time");
}

void checker::handed_out(process& to, const std::shared_ptr<engine::grant>& one) {
  auto& at = state_of(one->key.view());
  std::erase_if(at.holders, [](const held& each) { return each.of.expired(); });
  at.holders.push_back({one, &to});
  sessions_of_[one->pin->id] = &to;
}

bool checker::check(process& of, const lease& lease) {
  auto& one = *detail::access::grant_of(lease);
  const auto key = one.key.view();
  const bool trusted = lease.remaining() > microseconds{0};
  bool ensured = true;
  try {
    lease.ensure_held();
  } catch (const lock_lost&) {
    ensured = false;
  }
  const bool notified = lease.lost_token().stop_requested();
  if (ensured != trusted || (lease.loss() == loss_reason::none) != trusted || (notified && trusted)) {
    fail("I9", key,
         fmt::format("fence {} is {}, ensure_held() {}, loss() is {}, and lost_token() {}", one.fence,
                     trusted ? "trusted" : "lost", ensured ? "returns" : "throws", to_string(lease.loss()),
                     notified ? "was stopped" : "was not"));
  }
  if (one.remaining(of.now()) == microseconds{0}) return false;
  if (const auto revoked = revoked_.find(key); revoked != revoked_.end()) {
    const auto& [fence, when] = revoked->second;
    const auto end = when + 2 * one.ttl.count() + 1'000'000;
    if (fence == one.fence && one.kind == lease_kind::session && world_.now() > end) {
      fail("I4", key, fmt::format("fence {} was taken away by an operator, and is held on", fence));
    }
  }
  if (is_forced(key, one.pin->id, one.nonce)) return false;
  const auto at = server_.data.locks().find(key);
  const auto shows_it = [&](const lock_row& row) {
    if (row.session != one.pin->id) return false;
    return row.by_column ? row.nonce == one.nonce : row.fence == one.fence;
  };
  if (at == server_.data.locks().end() || !shows_it(at->second)) {
    fail("I1", key,
         fmt::format("{} trusts fence {}, and the row has {}", of.name(), one.fence,
                     at == server_.data.locks().end() ? 0 : at->second.fence));
  } else if (server_.data.over(at->second, world_.now())) {
    fail("I5", key, fmt::format("{} trusts fence {}, and the server may give it away", of.name(), one.fence));
  }
  return true;
}

void checker::write(const std::string& key, std::uint64_t fence) {
  auto& at = state_of(key);
  if (fence < at.written) fail("I1", key, fmt::format("a write of fence {} after one of fence {}", fence, at.written));
  at.written = std::max(at.written, fence);
}

void checker::check_free(const std::map<id128, process*>& sessions_of) {
  for (const auto& [key, row] : server_.data.locks()) {
    if (server_.data.over(row, world_.now())) continue;
    const auto of = sessions_of.find(row.session);
    if (of != sessions_of.end() && of->second->dead()) continue;
    fail("I4", key, fmt::format("fence {} is held for nobody, by session {}", row.fence, short_id(row.session)));
  }
}

}  // namespace dlock::simulation
