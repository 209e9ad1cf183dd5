// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/holder_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {

holder_info described(const entities::held_lock_view& row) {
  using std::chrono::microseconds;
  holder_info info;
  info.key.assign(row.lock_key.begin(), row.lock_key.end());
  std::copy(row.session_id.begin(), row.session_id.end(), info.session.bytes.begin());
  info.fence = row.fence;
  info.host = row.host;
  info.pid = row.pid;
  info.label = row.label;
  info.kind = row.kept ? lease_kind::session : lease_kind::expiring;
  info.revoked = row.revoked;
  info.dead = row.dead;
  info.since = microseconds{row.since_us};
  info.remaining = microseconds{std::max<std::int64_t>(0, row.remaining_us)};
  return info;
}

void examine_dead_holders(const store_overview& all, findings& found) {
  if (all.held_dead == 0 && all.sessions_dead == 0) return found.good("dead holders", "none");
  found.note(
      "dead holders", fmt::format("keys of dead sessions: {}, dead sessions: {}", all.held_dead, all.sessions_dead),
      "A program that asks for such a key gets it at once. Clean-up deletes the rows.", "dlock gc deletes them now.");
}

row_table make_row_table(std::string table, char quote, bool own_expiry, bool version) {
  row_table made;
  made.table = std::move(table);
  made.owner = quoted_name("lock_owner", quote);
  made.expires_at = quoted_name(own_expiry ? "lock_expires_at_us" : "lock_expire_time", quote);
  made.fence = quoted_name(own_expiry ? "lock_fence" : "version", quote);
  if (version) made.version = quoted_name("version", quote);
  made.renewal = own_expiry ? row_renewal::session : row_renewal::column;
  return made;
}

std::string describe_holder(std::string_view host, std::int64_t pid, std::string_view label) {
  return fmt::format("{}/{}{}{}", host, pid, label.empty() ? "" : " ", label);
}

}  // namespace dlock::stores::sql
