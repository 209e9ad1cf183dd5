// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/holder_rows.hpp"

#include <fmt/format.h>

#include <utility>

#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {

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
