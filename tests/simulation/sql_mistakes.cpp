// SPDX-License-Identifier: BSL-1.0
#include "simulation/sql_mistakes.hpp"

#include <algorithm>
#include <string_view>

namespace dlock::simulation {

namespace {

/// In a statement that begins so and has that part, `from` is replaced everywhere.
struct edit {
  mistake what;
  std::string_view begins;
  std::string_view has;
  std::string_view from;
  std::string_view to;
};

constexpr std::string_view joins = "INSERT INTO dlock_member", removes = "DELETE FROM dlock_member",
                           changes = "UPDATE dlock_lock", reads = "SELECT l.session_id";
constexpr std::string_view no_members = " AND NOT EXISTS (SELECT 1 FROM dlock_member m WHERE m.lock_key = :key)";

constexpr edit edits[] = {
    {mistake::join_ignores_closing, joins, "", "l.session_id =", "l.expires_at_us = 250000000000000000 AND '' <>"},
    {mistake::members_ignored, changes, ":session", no_members, ""},
    {mistake::members_ignored, reads, "", "m.lock_key = l.lock_key", "m.lock_key = ''"},
    {mistake::permits_not_locked, joins, ":permits", " FOR UPDATE", ""},
    {mistake::permits_not_locked, joins, ":permits", " LOCK IN SHARE MODE", ""},
    {mistake::own_units_forgotten, joins, ":permits", "+ :units <=", "+ 0 <="},
    {mistake::living_members_removed, removes, ":holder", " AND session_id = :holder", ""},
    {mistake::left_by_key_alone, removes, ":nonce", " AND session_id = :session AND nonce = :nonce", ""},
    {mistake::left_by_session_alone, removes, ":nonce", " AND nonce = :nonce", ""},
    {mistake::closing_never_lapses, changes, "3000000", "acquired_at_us <= NOW - 3000000", "NULL IS NOT NULL"},
    {mistake::closing_lapses_at_once, changes, "3000000", "acquired_at_us <= NOW - 3000000", "NULL IS NULL"},
    {mistake::closing_lapses_at_once, reads, "", "NOW - l.acquired_at_us", "3000000 + 0"},
    {mistake::writer_without_fence, changes, ":session", "fence = RETURNED(fence + 1)", "fence = RETURNED(fence)"},
    {mistake::member_without_token, joins, "", "RETURNED(l.fence)", "RETURNED(l.fence - 1)"},
    {mistake::shared_floor_forgotten, "INSERT INTO dlock_lock", "", "RETURNED(fence + 1)", "RETURNED(1)"},
    {mistake::expiry_of_members_left, changes, "RETURNED", "expires_at_us = :own_ttl + NOW, ", ""},
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::string with_mistake(std::string text, mistake wrong) {
  std::erase(text, '"');
  for (const auto& each : edits) {
    if (each.what != wrong || !text.starts_with(each.begins) || text.find(each.has) == std::string::npos) continue;
    replace_all(text, each.from, each.to);
  }
  return text;
}

}  // namespace dlock::simulation
