// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/for_update/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "stores/mysql/bound/lock_holding_connection.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/io_bound.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::for_update {

link_pool::borrowed::~borrowed() {
  if (from_ == nullptr) return;
  const base::lock_guard lock(from_->mutex_);
  --from_->count_;
}

void link_pool::borrowed::put_back() {
  const base::lock_guard lock(from_->mutex_);
  from_->idle_.push_back(std::move(link));
  from_ = nullptr;
}

bool link_pool::borrowed::hold(std::string_view key, const id128& session, std::uint64_t nonce) {
  const base::lock_guard lock(from_->mutex_);
  if (!from_->held_.emplace(key, held{session, nonce, link}).second) return false;
  from_ = nullptr;
  return true;
}

std::optional<link_pool::borrowed> link_pool::borrow() {
  const base::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    auto found = std::move(idle_.back());
    idle_.pop_back();
    return borrowed(*this, std::move(found));
  }
  if (count_ == most_) return std::nullopt;
  ++count_;
  return borrowed(*this, nullptr);
}

std::optional<link_pool::held> link_pool::find(std::string_view key) const {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  return found == held_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<link_pool::borrowed> link_pool::remove(std::string_view key, const held& grant) {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end() || found->second.link != grant.link) return std::nullopt;
  held_.erase(found);
  return borrowed(*this, grant.link);
}

std::vector<std::pair<std::string, id128>> link_pool::list(std::string_view after, std::size_t limit) const {
  std::vector<std::pair<std::string, id128>> found;
  const base::lock_guard lock(mutex_);
  for (auto at = held_.upper_bound(after); at != held_.end() && found.size() != limit; ++at) {
    found.emplace_back(at->first, at->second.session);
  }
  return found;
}

for_update_settings::for_update_settings(store_url url, const for_update_options& options)
    : table_settings(table_settings::take(url, "for_update", options.table)) {
  check_lone_host(*this, "for_update");
  key = shared_table::take_column(url, "key", options.key);
  held = static_cast<std::size_t>(url.take_number("held", static_cast<std::int64_t>(options.held), 1, 10'000));
  make_rows = url.take_number("make_rows", options.make_rows ? 1 : 0, 0, 1) == 1;
  waiters = static_cast<std::size_t>(url.take_number("waiters", static_cast<std::int64_t>(options.waiters), 0, 64));
  url.expect_no_more_params();
}

for_update_store::for_update_store(for_update_settings settings)
    : settings_(std::move(settings)),
      client_(settings_),
      pool_(settings_.held),
      waiters_(client_, {.most = settings_.waiters,
                         .statement =
                             [this](std::string_view key) {
                               const auto rows = known();
                               return fmt::format("SELECT {} {} {}", rows->selected, rows->where(key), rows->shared);
                             },
                         .queue = [this](std::string_view key) { return queue_of(key); },
                         .set_up = fmt::format("SET SESSION innodb_lock_wait_timeout={}",
                                               blocking_waiters::longest_wait.count()),
                         .timeout = settings_.statement_timeout}) {}

std::string for_update_store::row_table_sql::where(std::string_view text) const {
  const bool as_it_is = key.type == shared_table::column_type::text && needs_no_escaping(text);
  return begin + (as_it_is ? mysql_text_literal(text) : shared_table::value_literal(key, text));
}

/// Named locks are the server's, so this names the database too.
std::string for_update_store::queue_of(std::string_view key) const {
  return fmt::format("{} {} {}", settings_.database, known()->table, key);
}

std::string for_update_store::unfit_key(std::string_view key) const {
  const auto rows = known();
  return rows == nullptr ? std::string{} : shared_table::unfit_for(rows->key, key);
}

void for_update_store::prepare() {
  fault why;
  const auto with = client_.open<mysql_connection>(settings_.connect_timeout, {}, why);
  if (!with) fail(name(), why);
  const auto reason = refusal(read_facts(*with, client_.server(), name()), "row locks");
  if (!reason.empty()) fail(name(), "scheme for_update: " + reason);
  const auto table = shared_table::layout::read(*with, settings_);
  auto made = std::make_shared<row_table_sql>();
  made->table = table.table();
  made->key = table.key(settings_.key);
  made->begin = fmt::format("FROM {} WHERE {}=", made->table, made->key.quoted());
  // A shared lock on columns that the key's index contains locks only the entry of that index, while other programs may
  // have locked the row by its primary key.
  made->take = fmt::format("SELECT 1 {}{} FOR UPDATE NOWAIT", made->begin, shared_table::key_parameter(made->key, "?"));
  const auto* const outside = table.outside_index_of(made->key);
  made->selected = outside == nullptr ? "1" : "1, " + outside->quoted();
  made->shared = outside == nullptr ? "FOR UPDATE" : client_.is_mariadb() ? "LOCK IN SHARE MODE" : "FOR SHARE";
  // The server's limit for idle transactions would end our leases early.
  if (client_.is_mariadb()) {
    made->idle_limits =
        ", idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0";
  }
  for (const auto* lock : {"FOR UPDATE", made->shared}) {
    const auto sql = fmt::format("SELECT {} FROM {} WHERE FALSE {} NOWAIT", made->selected, made->table, lock);
    read_rows(*with, name(), sql, "locking rows");
  }
  const base::lock_guard lock(mutex_);
  rows_ = std::move(made);
}

// ---- connections ----------------------------------------------------------------------------------------------------

std::shared_ptr<row_lock_connection> for_update_store::open(waiting_connection& by, fault& why) {
  auto link = client_.open<mysql_connection>(settings_.connect_timeout, by.caller().token(), why);
  if (!link) return nullptr;
  const auto rows = known();
  const mysql_io_bound bound(std::chrono::steady_clock::now() + settings_.connect_timeout, by.caller().token());
  const auto sql = "SET SESSION autocommit=0" + rows->idle_limits;
  if (link->query(sql, "set up a connection for locks", nullptr, nullptr, why) != outcome::yes) return nullptr;
  auto made = std::make_shared<row_lock_connection>(std::move(link), settings_.statement_timeout);
  made->take = made->link.add(rows->take, "take", rows->key.type == shared_table::column_type::bytes, why);
  return made->take == nullptr ? nullptr : made;
}

// ---- verbs ----------------------------------------------------------------------------------------------------------

void for_update_store::execute(connection& connection, std::span<const request> requests,
                               std::span<reply> replies) noexcept {
  auto& by = static_cast<waiting_connection&>(connection);
  std::transform(requests.begin(), requests.end(), replies.begin(), [&](const request& each) {
    return reply_or_in_doubt(by, "lock", [&]() -> reply {
      switch (each.action) {
        case verb::poll: return poll(by, each);
        case verb::take:
        case verb::insert: return take(by, each);
        case verb::extend: return extend(by, each);
        case verb::release:
        case verb::cancel: return free(by, each);
        case verb::take_over:  // the server frees a dead holder's locks
        case verb::close:
        case verb::open:
        case verb::pass_on:
        case verb::reserve: break;
      }
      return {.result = outcome::no, .statements = 0};
    });
  });
}

reply for_update_store::take(waiting_connection& by, const request& request) {
  if (pool_.find(request.resource)) return {.result = outcome::no, .statements = 0};
  for (;;) {
    auto with = pool_.borrow();
    if (!with) {
      return refuse(
          fmt::format("all connections for locks are in use: held={} allows no more locks at once", settings_.held));
    }
    const bool fresh = with->link == nullptr;
    reply answer;
    if (fresh) with->link = open(by, answer.why);
    if (with->link == nullptr) return answer;
    answer = lock_row(by, request, with->link);
    if (answer.result == outcome::yes) {
      std::function<void()> closed = [this, key = std::string(request.resource), session = request.session,
                                      nonce = request.nonce] { listeners_.lock_deleted(key, session, nonce); };
      if (!with->hold(request.resource, request.session, request.nonce)) {
        return {.result = outcome::unknown};  // two rows with one key: the connection ends, and its lock with it
      }
      with->link->noticed = hangups_.add(with->link->link.socket(), std::move(closed));
      answer.fence = request.nonce;
      return answer;
    }
    // The server ends idle connections. A statement that it had not begun is sent on another one.
    const bool gone = !with->link->link.usable();
    if (!gone) with->put_back();
    if (gone && !fresh && answer.result == outcome::failed) continue;
    return answer.result == outcome::absent ? make_row(by, request) : answer;
  }
}

/// Returns absent if there is no such row. Unless it returns yes, the transaction is rolled back or the connection
/// ended.
reply for_update_store::lock_row(waiting_connection& by, const request& request,
                                 const std::shared_ptr<row_lock_connection>& on) {
  reply answer;
  auto mine = on->link.wait_exclusive_use(by.caller(), answer.why);
  if (!mine || !mine->set_silence(request.ttl, answer.why)) {
    on->link.end();
    return answer;
  }
  const auto noted = [link = on.get()](bound_answer& response) { link->found = !response.rows.empty(); };
  answer.result = mine->run(*on->take, request.resource, noted, answer.why);
  if (answer.result == outcome::yes && on->found) return answer;
  if (answer.result == outcome::yes) answer.result = outcome::absent;
  if (answer.result == outcome::failed && answer.why.contended) answer = {.result = outcome::no};
  // The open transaction would block changes of the table's definition.
  fault why;
  ++answer.statements;
  if (answer.result == outcome::unknown || mine->query("ROLLBACK", "roll back", nullptr, why) != outcome::yes)
    on->link.end();
  return answer;
}

reply for_update_store::make_row(waiting_connection& by, const request& request) const {
  const auto rows = known();
  if (!settings_.make_rows) {
    return refuse(
        fmt::format("table {} has no row with this key in column {}: rows are made beforehand, or by make_rows=1",
                    rows->table, rows->key.quoted()));
  }
  const auto sql = fmt::format("INSERT INTO {} ({}) VALUES ({})", rows->table, rows->key.quoted(),
                               shared_table::value_literal(rows->key, request.resource));
  auto answer = by.change(sql, "make a row");
  answer.statements = 3;
  const bool there = answer.why.native == static_cast<int>(mysql_duplicate_key);
  // The key looks free now; the next take shows whether it is.
  if (answer.result == outcome::yes || there) return {.result = outcome::no, .statements = 3};
  return answer;
}

/// Removes the grant from the registry, if the key still has it.
std::optional<link_pool::borrowed> for_update_store::remove(std::string_view key, const link_pool::held& grant) {
  auto removed = pool_.remove(key, grant);
  if (removed) hangups_.remove(std::exchange(grant.link->noticed, 0));
  return removed;
}

reply for_update_store::extend(waiting_connection& by, const request& request) {
  const auto grant = pool_.find(request.resource);
  reply answer{.result = outcome::no, .statements = 0};
  if (!grant || grant->session != request.session || grant->nonce != request.fence) return answer;
  answer.statements = 1;
  auto& link = grant->link->link;
  auto mine = link.wait_exclusive_use(by.caller(), answer.why);
  answer.result = mine ? mine->renew(request.ttl, "extend", answer.why) : outcome::unknown;
  if (link.usable()) return answer;
  remove(request.resource, *grant);
  return {.result = outcome::no};
}

reply for_update_store::free(waiting_connection& by, const request& request) {
  const auto nonce = request.action == verb::cancel ? request.nonce : request.fence;
  const auto grant = pool_.find(request.resource);
  if (!grant || grant->session != request.session || grant->nonce != nonce) {
    return {.result = outcome::no, .statements = 0};
  }
  reply answer;
  auto& link = grant->link->link;
  auto mine = link.wait_exclusive_use(by.caller(), answer.why);
  if (!mine && link.usable()) return answer;  // it was busy for too long
  auto with = remove(request.resource, *grant);
  if (!with) return {.result = outcome::no, .statements = 0};
  if (!mine) return {.result = outcome::no};
  answer.result = mine->query("COMMIT", "release", nullptr, answer.why);
  if (answer.result == outcome::yes) {
    answer.waiters = waiters_.had_waited(request.resource) ? 1 : 0;
    mine.reset();
    with->put_back();
    return answer;
  }
  link.end();  // not used again, so that the server frees the row
  answer.result = outcome::unknown;
  return answer;
}

/// Whether a contended poll met a locked table. MySQL has different error numbers for a locked table and a locked row.
/// In MariaDB a statement that concerns no row is contended only if the table is locked.
bool for_update_store::table_is_locked(waiting_connection& by, const row_table_sql& rows, reply& polled) const {
  if (!client_.is_mariadb()) return polled.why.native == static_cast<int>(mysql_lock_wait_timeout);
  ++polled.statements;
  return by.read(fmt::format("SELECT 1 FROM {} WHERE FALSE {} NOWAIT", rows.table, rows.shared), "check a table")
      .why.contended;
}

reply for_update_store::poll(waiting_connection& by, const request& request) const {
  if (const auto ours = pool_.find(request.resource); ours) {
    return {.result = outcome::yes,
            .holder = {.holder = ours->session,
                       .fence = ours->nonce,
                       .nonce = ours->nonce,
                       .kind = lease_kind::connection,
                       .remaining = no_end},
            .statements = 0};
  }
  mysql_rows found;
  const auto rows = known();
  const auto sql = fmt::format("SELECT {} {} {} NOWAIT", rows->selected, rows->where(request.resource), rows->shared);
  auto answer = by.read(sql, "poll", &found);
  if (answer.result == outcome::yes) {
    if (found.empty()) answer.result = outcome::absent;
  } else if (answer.why.contended && table_is_locked(by, *rows, answer)) {
    answer.why = make_own_fault(
        fmt::format("table {} is locked: an ALTER TABLE or a backup runs, or waits for a lock that is held",
                    rows->table),
        true);
  } else if (answer.why.contended) {
    answer = {.result = outcome::yes,
              .holder = {.holder = sql::foreign_owner,
                         .kind = lease_kind::connection,
                         .remaining = no_end,
                         .who = "an open transaction of the database"}};
  }
  return answer;
}

// ---- operators ------------------------------------------------------------------------------------------------------

reply for_update_store::waiters(connection& connection, std::string_view key, std::size_t limit,
                                waiter_overview& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "waiters", [&](auto& by) {
    const auto rows = known();
    if (rows == nullptr) return reply{.result = outcome::yes, .statements = 0};
    return find_waiters(by, rows->shared, rows->where(key), queue_of(key), limit, found);
  });
}

reply for_update_store::examine(connection& connection, std::vector<store_finding>& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "examine",
                                          [&](auto& by) { return examine_server(by, settings_, found); });
}

reply for_update_store::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "inspect", [&](auto& by) {
    auto answer = poll(by, key);
    if (answer.result == outcome::absent) answer.result = outcome::yes;
    if (answer.result != outcome::yes || !answer.holder.holder) return answer;
    auto& info = found.emplace_back();
    info.key = key.resource;
    info.kind = lease_kind::connection;
    info.label = answer.holder.who;
    if (answer.holder.holder != sql::foreign_owner) info.session = answer.holder.holder;
    return answer;
  });
}

reply for_update_store::list(connection& connection, std::string_view after, std::size_t limit,
                             std::vector<holder_info>& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "list", [&](waiting_connection&) {
    for (auto& [key, session] : pool_.list(after, limit)) {
      auto& info = found.emplace_back();
      info.key = std::move(key);
      info.session = session;
      info.kind = lease_kind::connection;
    }
    return reply{.result = outcome::yes, .statements = 0};
  });
}

}  // namespace dlock::stores::mysql::for_update
