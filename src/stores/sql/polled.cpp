// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/polled.hpp"

#include <algorithm>
#include <chrono>

#include "base/text.hpp"

namespace dlock::stores::sql {
namespace {

/// The remaining time reported for another program's lock without an expiry: longer than any waiter pauses.
constexpr microseconds no_end = std::chrono::hours{1};

}  // namespace

dlock::seen holder_of(const polled_key& row) {
  dlock::seen now;
  now.fence = row.fence;
  now.holder = row.holder;
  if (!now.holder) return now;
  now.nonce = row.nonce;
  now.kind = row.kept ? lease_kind::session : lease_kind::expiring;
  now.gone = row.kept && row.gone;
  now.expired = row.remaining <= 0;
  now.remaining = microseconds{std::max<std::int64_t>(0, row.remaining)};
  if (!row.gone) now.who = detail::describe_process(row.host, row.pid, row.label);
  return now;
}

dlock::seen holder_of(const polled_row& row, const row_table& table, tables_id tables) {
  dlock::seen now;
  now.fence = row.fence;
  if (row.owner.empty()) return now;
  now.kind = row.kept ? lease_kind::session : kind_of_expiry(table);
  now.expired = row.remaining <= 0;
  now.remaining = microseconds{std::max<std::int64_t>(0, row.remaining)};
  const auto owner = row_holder::parse(row.owner, tables);
  if (!owner) {
    now.holder = foreign_owner;
    now.who = row_holder::describe_foreign(row.owner);
    // Another program's lock without an expiry never ends, because nothing shows whether that program is alive.
    if (row.kept) {
      now.expired = false;
      now.remaining = no_end;
    }
    return now;
  }
  now.holder = owner->session;
  now.nonce = owner->nonce;
  now.gone = row.kept && row.gone;
  if (!row.gone) now.who = detail::describe_process(row.host, row.pid, row.label);
  return now;
}

}  // namespace dlock::stores::sql
