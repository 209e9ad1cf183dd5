// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/shared_table/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::shared_table {
namespace {

/// Programs that wake no waiters free keys too. A poll finds an expiry that has passed.
constexpr const char* look_sql = R"(
SELECT w.{waiter.lock_key}, {me_asleep}, {is_free}, 0, 0
FROM {me} CROSS JOIN {waiter} w
WHERE w.{waiter.lock_key} IN (:keys)
  :and_since
  AND w.{waiter.wake_id} = :wake_id
)";

parked::waiter_sql make_waiter_sql(const scheme_sql& sql, const std::string& waiter_table) {
  sql::table_names names(std::string(sql::table_names::default_prefix), '`');
  parked::add_waiter_names(names);
  names.add_text("waiter", quote_mysql_name(waiter_table));
  names.add_text("now", server_clock);
  names.add_text("and_held", "");
  names.add_text("with_lock", "");
  names.add_text("is_free",
                 fmt::format("NOT EXISTS (SELECT 1 FROM {} WHERE {} = {} AND {})", sql.table, sql.key.quoted(),
                             value_of_bytes(sql.key, names.expand("w.{waiter.lock_key}")), sql.taken));
  auto made = parked::make_waiter_sql(names, look_sql);
  made.others_release = true;
  return made;
}

}  // namespace

std::string shared_table_store::our_name(const request& request) const {
  // The attempt's number names the grant: release and extend have it as the fence.
  const bool held = request.action == verb::release || request.action == verb::extend;
  return sql::row_owner{request.session, held ? request.fence : request.nonce}.text();
}

/// Another program's holder has no session; its name is for messages only.
seen shared_table_store::holder_named(std::string_view owner, std::uint64_t) const {
  const auto ours = sql::row_owner::parse(owner);
  if (!ours) return {.holder = sql::foreign_owner, .who = std::string(owner)};
  return {.holder = ours->session, .fence = ours->nonce, .nonce = ours->nonce};
}

std::string shared_table_store::unfit_key(std::string_view key) const {
  const auto known = sql();
  return known == nullptr ? std::string{} : unfit_for(known->key, key);
}

void shared_table_store::prepare() {
  fault why;
  auto with = client_.open<mysql_connection>(scheme_.settings.connect_timeout, {}, why);
  if (!with) fail(name(), why);
  check_server(*with, name());
  auto made = std::make_shared<const scheme_sql>(scheme_.make_sql(layout::read(*with, scheme_.settings)));
  with.reset();
  const auto prepared = client_.open<native>(scheme_.settings.connect_timeout, {}, why, *made);
  if (!prepared || !prepared->prepare_all(why)) fail(name(), why);
  const base::lock_guard lock(mutex_);
  if (wakes() && waiters_ == nullptr) {
    waiters_ = std::make_unique<parked::parked_waiters>(
        client_, make_waiter_sql(*made, scheme_.settings.waiter_table),
        [this](const std::string& reason) { listeners_.waiters_poll(reason); });
  }
  if (waiters_ != nullptr) waiters_->table().check_table(*prepared);
  if (sql_ != nullptr) former_.push_back(sql_);
  sql_ = std::move(made);
}

std::unique_ptr<connection> shared_table_store::connect(microseconds limit, fault& why,
                                                        const std::stop_token& cancel) noexcept {
  const auto known = sql();
  if (known != nullptr) return client_.open<native>(limit, cancel, why, *known);
  why = make_own_fault("the store is not prepared", true);
  return nullptr;
}

void shared_table_store::execute(connection& connection, std::span<const request> requests,
                                 std::span<reply> replies) noexcept {
  auto& with = static_cast<native&>(connection);
  std::transform(requests.begin(), requests.end(), replies.begin(), [&](const request& each) {
    return reply_or_in_doubt(with, "lock", [&] {
      if (each.action == verb::poll) return poll(with, each);
      return with.asks_first(each) ? change_unlocked(with, each) : change(with, each);
    });
  });
  auto* const others = waiters();
  if (others == nullptr) return;
  // If several processes hold the key for one request, the release may not have been the last.
  others->table().wake_first(with, requests, replies, requests.front().request_id.empty());
  others->note_done(requests, replies);
}

reply shared_table_store::change_unlocked(native& with, const request& request) {
  const auto known = sql();
  auto answer = with.read(fmt::format("SELECT 1 FROM {} WHERE {}={} FOR UPDATE NOWAIT", known->table,
                                      known->key.quoted(), value_literal(known->key, request.resource)),
                          "check a row's lock");
  if (answer.result == outcome::unknown) answer.result = outcome::failed;  // it only reads
  if (answer.result != outcome::yes) return answer;
  answer = change(with, request);
  ++answer.statements;
  return answer;
}

reply shared_table_store::take(native& with, const scheme_sql& sql, const request& request) {
  const auto take_row = [&] { return with.change(verb::take, request.if_locked); };
  if (!sql.inserts_first || request.polled) return take_row();  // the poll saw a row
  reply made = with.change(verb::insert, request.if_locked);
  if (made.result != outcome::no) return made;
  reply taken = take_row();
  ++taken.statements;
  return taken;
}

reply shared_table_store::change(native& with, const request& request) {
  const auto known = sql();
  auto& values = with.values();
  values.key.assign(request.resource);
  values.owner.assign(our_name(request));
  if (const auto* const seen = request.expected; seen != nullptr) {
    values.holder.assign(sql::row_owner{seen->holder, seen->nonce}.text());
    values.fence = seen->fence;
  }
  values.ttl = rounded_up(request.ttl, known->unit).count();
  // No other program writes our session and attempt, so both statements find the same row.
  auto answer = request.action == verb::take
                    ? take(with, *known, request)
                    : with.change(request.action == verb::cancel ? verb::release : request.action, request.if_locked);
  if (answer.result == outcome::yes) tell_fence(with, request, answer);
  return answer;
}

reply shared_table_store::poll(native& with, const request& request) const {
  with.values().key.assign(request.resource);
  mysql_bytes<400> owner;
  std::int64_t held = 0, remaining = 0;
  std::uint64_t fence = 0;
  const std::array row{mysql_field::number(held), mysql_field::text(owner), mysql_field::number(remaining),
                       mysql_field::number(fence)};
  reply answer;
  answer.result = with.poll(row, answer.why);
  answer.holder.fence = fence;
  if (answer.result != outcome::yes || held == 0) return answer;
  if (!request.request_id.empty() && owner.view() == request.request_id)
    return answer;  // the request may take it again
  answer.holder = holder_named(owner.view(), fence);
  answer.holder.expired = remaining <= 0;
  answer.holder.remaining = microseconds{std::max<std::int64_t>(0, remaining)};
  return answer;
}

// ---- operators ------------------------------------------------------------------------------------------------------

reply shared_table_store::holders(connection& connection, const std::string& condition,
                                  std::vector<holder_info>& found) noexcept {
  return sql::attempt<native>(connection, "list", [&](auto& with) {
    mysql_rows rows;
    auto answer = with.read(sql()->held + condition, "list", &rows);
    for (const auto& row : rows) {
      const auto holder = holder_named(row.at(1).value_or(""), std::stoull(row.at(3).value_or("0")));
      found.push_back({.key = row.at(0).value_or(""), .session = holder.holder, .label = holder.who});
      if (fenced_) found.back().fence = holder.fence;
      if (holder.holder == sql::foreign_owner) found.back().session = {};
      found.back().remaining = microseconds{std::stoll(row.at(2).value_or("0"))};
    }
    return answer;
  });
}

reply shared_table_store::inspect(connection& connection, const request& key,
                                  std::vector<holder_info>& found) noexcept {
  const auto known = sql();
  return holders(connection, fmt::format(" AND {}={}", known->key.quoted(), value_literal(known->key, key.resource)),
                 found);
}

reply shared_table_store::list(connection& connection, std::string_view after, std::size_t limit,
                               std::vector<holder_info>& found) noexcept {
  const auto known = sql();
  std::vector<holder_info> made;
  auto answer = holders(
      connection,
      fmt::format(" AND {0}>{1} ORDER BY {0} LIMIT {2}", known->key.quoted(), value_literal(known->key, after), limit),
      made);
  if (answer.result == outcome::yes) answer = count_waiters(connection, made);
  if (answer.result == outcome::yes) found = std::move(made);
  return answer;
}

reply shared_table_store::count_waiters(connection& connection, std::vector<holder_info>& of) noexcept {
  auto* const others = waiters();
  if (others == nullptr) return {.result = outcome::yes};
  return sql::attempt<native>(connection, "count the waiters",
                              [&](auto& with) { return others->table().count(with, of); });
}

reply shared_table_store::waiters(connection& connection, std::string_view key, std::size_t,
                                  waiter_overview& found) noexcept {
  std::vector<holder_info> one(1);
  one.front().key = key;
  found = {};
  const auto answer = count_waiters(connection, one);
  if (const auto& count = one.front().waiters; count) found = {.known = true, .count = *count};
  return answer;
}

reply shared_table_store::revoke(connection& connection, const request& key) noexcept {
  return sql::attempt<native>(connection, "force a release", [&](auto& with) {
    auto answer = poll(with, key);
    if (answer.result != outcome::yes && answer.result != outcome::absent) return answer;
    const auto& holder = answer.holder;
    answer.result = outcome::no;
    if (holder.holder != sql::foreign_owner || holder.expired) return answer;
    return refuse(fmt::format(
        "the key's row in table {} names '{}', which is another program, or a request that several have: it "
        "would not notice that its lock is over, so dlock doesn't take it. Where it is known to be dead, free the "
        "row by its own statement",
        scheme_.settings.table, holder.who));
  });
}

reply shared_table_store::examine(connection& connection, std::vector<store_finding>& found) noexcept {
  return sql::attempt<native>(connection, "examine", [&](auto& with) {
    auto answer = examine_server(with, scheme_.settings, found);
    if (auto* const others = waiters(); others != nullptr && answer.result == outcome::yes)
      answer = others->table().examine_table(with, found);
    return answer;
  });
}

/// The clean-up job of the published designs. It finds rows by a read without locks, and frees each by its primary key
/// if it is still expired; a locked row is left for the next time. MariaDB is told in the statement not to wait for a
/// row, MySQL is asked before.
reply shared_table_store::cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept {
  return sql::attempt<native>(connection, "clean up", [&](auto& with) {
    reply answer{.result = outcome::yes};
    answer.statements = 0;
    const auto known = sql();
    if (idle.count() == 0 || known->expired.empty()) return answer;
    mysql_rows rows;
    ++answer.statements;
    answer.result =
        with.query(fmt::format("{} LIMIT {}", known->expired, limit), "clean up", &rows, nullptr, answer.why);
    std::vector<std::string> ids;
    for (const auto& row : rows) ids.push_back(value_literal(known->primary, row.at(0).value_or("")));
    if (!ids.empty() && with.quick_prefix().empty() && client_.can_skip_locked()) {
      ++answer.statements;
      answer.result = with.query(fmt::format("SELECT {0} FROM {1} WHERE {0} IN ({2}) FOR UPDATE SKIP LOCKED",
                                             known->primary.quoted(), known->table, fmt::join(ids, ",")),
                                 "clean up", &rows, nullptr, answer.why);
      ids.clear();
      for (const auto& row : rows) ids.push_back(value_literal(known->primary, row.at(0).value_or("")));
    }
    for (const auto& id : ids) {
      std::uint64_t changed = 0;
      fault why;
      ++answer.statements;
      const auto done = with.query(fmt::format("{}{}{}", with.quick_prefix(), known->free_expired, id), "clean up",
                                   nullptr, &changed, why);
      if (done != outcome::yes && !why.contended) return reply{.result = done, .why = why};
      if (done == outcome::yes) answer.fence += changed;
    }
    return answer;
  });
}

}  // namespace dlock::stores::mysql::shared_table
