// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/verbs.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace dlock::stores::sql {
namespace {

constexpr bool grants(verb action) noexcept {
  return action == verb::take || action == verb::insert || action == verb::take_over || action == verb::pass_on ||
         action == verb::reserve;
}

[[gnu::cold]] std::string unfit_key(const request& asked) {
  return fmt::format("a key of {} bytes: 1 to 255 are possible", asked.resource.size());
}

[[gnu::cold]] std::string unfit_row(const row_id& row) {
  const auto& table = *row.table;
  if (row.values.empty() || row.values.size() != table.id.size()) {
    return fmt::format("a row of {}: {} values for the {} columns of its primary key", table.table, row.values.size(),
                       table.id.size());
  }
  return fmt::format("a row of {}: a lock that its column {} keeps needs an expiry", table.table, table.expires_at);
}

/// The reply to a request about a row that needs no statement.
std::optional<reply> not_of_rows(const verb_connection& on, verb action) {
  // Rows belong to the application, so locking never creates one.
  if (action == verb::insert) return reply{.result = outcome::absent};
  if (action == verb::pass_on || action == verb::reserve) return on.refuse("no such verb");
  return std::nullopt;
}

}  // namespace

bool is_fit(const request& asked) noexcept {
  if (asked.row == nullptr) return !asked.resource.empty() && asked.resource.size() <= 255;
  const auto& row = *asked.row;
  if (row.values.empty() || row.values.size() != row.table->id.size()) return false;
  const bool needs_ttl = asked.action == verb::take || asked.action == verb::take_over || asked.action == verb::extend;
  return !needs_ttl || !by_column(*row.table) || asked.ttl.count() > 0;
}

statement_id statement_of(const request& asked) noexcept {
  switch (asked.action) {
    case verb::take: return statement_id::take;
    case verb::insert: return statement_id::insert;
    case verb::poll: break;
    case verb::take_over: return statement_id::take_over;
    case verb::extend: return statement_id::extend;
    case verb::release: return asked.min_hold.count() > 0 ? statement_id::release_min_hold : statement_id::release;
    case verb::cancel: return statement_id::cancel;
    case verb::pass_on: return statement_id::pass_on;
    case verb::reserve: return statement_id::reserve;
    case verb::close:
    case verb::open: break;  // shared_keys
  }
  return statement_id::poll;
}

reply check_grant(verb_connection& on, const request& asked, reply answer) {
  const bool inserts = asked.action == verb::insert;
  if (answer.result == outcome::yes) {
    // The fence is valid only if the condition held.
    if (answer.fence == 0) on.read_fence(asked, answer);
  } else if (answer.result == outcome::no && inserts) {
    return on.refuse(
        fmt::format("insert: table {} has no row with id 1: open the store with schema=create to repair it",
                    on.names().table("floor")));
  } else if (answer.result == outcome::no && asked.action == verb::take && asked.polled && asked.row == nullptr) {
    on.doubt(answer);  // it should have been granted
  } else if (inserts && on.is_there(answer.why)) {
    return {.result = outcome::no};
  }
  return answer;
}

reply execute(verb_connection& on, const request& asked) {
  if (!is_fit(asked)) return on.refuse(asked.row != nullptr ? unfit_row(*asked.row) : unfit_key(asked));
  if (asked.row != nullptr) {
    if (auto answer = not_of_rows(on, asked.action)) return *answer;
  }
  const request_values values(asked, on.tables());
  if (asked.action == verb::poll) return on.poll(values);
  const sending how{.ours = !grants(asked.action), .if_locked = asked.if_locked};
  reply answer =
      asked.row != nullptr ? on.change(statement_for(asked), values, how) : on.change(statement_of(asked), values, how);
  return how.ours ? answer : check_grant(on, asked, std::move(answer));
}

reply execute(verb_connection& on, session_verb action, const session_record& of) {
  const statement_values values{
      .session = of.id, .ttl = of.ttl.count(), .host = of.host, .pid = of.pid, .label = of.label};
  constexpr statement_id statements[] = {statement_id::session_open, statement_id::session_renew,
                                         statement_id::session_remove_expired, statement_id::session_close};
  reply answer = on.change(statements[static_cast<std::size_t>(action)], values, {.ours = true});
  if (action == session_verb::open && on.is_there(answer.why)) return {.result = outcome::no};
  if (action == session_verb::renew && answer.result == outcome::no) on.doubt(answer);
  return answer;
}

}  // namespace dlock::stores::sql
