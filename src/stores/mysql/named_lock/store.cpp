// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/named_lock/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "stores/mysql/bound/lock_holding_connection.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/io_bound.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::named_lock {

namespace {

constexpr std::size_t longest_prefix = 64;
/// Whether a connection can hold two locks that one statement took.
bool holds_several(mysql_connection& connection, const std::string& store) {
  const auto one = mysql_text_literal("#probe " + id128::random().hex()),
             two = mysql_text_literal("#probe " + id128::random().hex());
  const auto ask = [&](const char* sql) {
    return read_rows(connection, store, fmt::format(fmt::runtime(sql), one, two), "checking named locks").at(0).at(0);
  };
  ask("SELECT GET_LOCK({0}, 0), GET_LOCK({1}, 0)");
  const bool both = ask("SELECT IS_USED_LOCK({0})=CONNECTION_ID() AND IS_USED_LOCK({1})=CONNECTION_ID()") == "1";
  ask("SELECT RELEASE_LOCK({0}), RELEASE_LOCK({1})");
  return both;
}

reply lost_session() {
  return {.result = outcome::failed,
          .why = make_own_fault("the connection that kept this session's locks is gone, and so are they", true, true)};
}

}  // namespace

named_lock_settings::named_lock_settings(store_url url, const named_lock_options& options)
    : mysql_settings(mysql_settings::take(url)) {
  check_lone_host(*this, "named_lock");
  prefix = url.take_param("prefix", options.prefix ? *options.prefix : database + ":");
  if (prefix.size() > longest_prefix ||
      std::any_of(prefix.begin(), prefix.end(), [](char c) { return c < ' ' || c > '~'; })) {
    throw std::invalid_argument(
        fmt::format("dlock: mysql URL: prefix={} is not 0 to {} printable ASCII characters", prefix, longest_prefix));
  }
  waiters = static_cast<std::size_t>(url.take_number("waiters", static_cast<std::int64_t>(options.waiters), 0, 64));
  url.expect_no_more_params();
}

named_lock_store::named_lock_store(named_lock_settings settings)
    : settings_(std::move(settings)),
      client_(settings_),
      waiters_(client_, {.most = settings_.waiters,
                         .statement =
                             [prefix = settings_.prefix](std::string_view key) {
                               const auto name = mysql_text_literal(lock_name(prefix, key));
                               return fmt::format("SELECT GET_LOCK({0}, {1}), RELEASE_LOCK({0})", name,
                                                  blocking_waiters::longest_wait.count());
                             },
                         .queue = [prefix = settings_.prefix](std::string_view key) { return lock_name(prefix, key); },
                         .timeout = settings_.statement_timeout}) {}

void named_lock_store::prepare() {
  fault why;
  const auto with = client_.open<mysql_connection>(settings_.connect_timeout, {}, why);
  if (!with) fail(name(), why);
  auto reason = refusal(read_facts(*with, client_.server(), name()), "named locks");
  if (reason.empty() && !holds_several(*with, name())) {
    reason =
        "two named locks of one connection were not both held: the server is too old, or a proxy changes statements";
  }
  if (!reason.empty()) fail(name(), "scheme named_lock: " + reason);
}

// ---- sessions -------------------------------------------------------------------------------------------------------

std::shared_ptr<lock_connection> named_lock_store::find(const id128& session) const {
  const base::lock_guard lock(mutex_);
  const auto found = lock_connections_.find(session);
  return found == lock_connections_.end() ? nullptr : found->second;
}

std::shared_ptr<lock_connection> named_lock_store::find_connection(const connection_identity& of) const {
  const base::lock_guard lock(mutex_);
  for (const auto& [session, each] : lock_connections_) {
    const auto& here = each->identity();
    if (here.server == of.server && here.incarnation == of.incarnation && here.id == of.id) return each;
  }
  return nullptr;
}

reply named_lock_store::open(waiting_connection& by, const session_record& record) {
  reply answer;
  if (find(record.id) != nullptr) return {.result = outcome::no, .statements = 0};
  auto link = client_.open<mysql_connection>(settings_.connect_timeout, by.caller().token(), answer.why);
  if (!link) return answer;
  if (link->identity().server != by.server().server) {
    answer.why = make_own_fault("the connection for the locks leads to another server than the one before", true, true);
    return answer;
  }
  auto made = std::make_shared<lock_connection>(std::move(link), settings_.statement_timeout, record, settings_.prefix);
  {
    const mysql_io_bound bound(std::chrono::steady_clock::now() + settings_.connect_timeout, by.caller().token());
    if (!made->prepare(answer.why)) return answer;
  }
  if (!made->live_for(record.ttl, by.caller(), answer.why)) return answer;
  made->notice_end(hangups_, [this] { listeners_.renew_now(); });
  const base::lock_guard lock(mutex_);
  answer.result = lock_connections_.emplace(record.id, std::move(made)).second ? outcome::yes : outcome::no;
  return answer;
}

reply named_lock_store::session(connection& connection, session_verb action, const session_record& record) noexcept {
  return sql::attempt<waiting_connection>(connection, "session", [&](auto& by) -> reply {
    switch (action) {
      case session_verb::open: return open(by, record);
      case session_verb::renew: {
        const auto lock_connection = find(record.id);
        if (lock_connection == nullptr) return {.result = outcome::no, .statements = 0};
        return lock_connection->renew(record.ttl, by.caller());
      }
      case session_verb::close: {
        std::shared_ptr<lock_connection> last;  // destroyed after the mutex is unlocked
        const base::lock_guard lock(mutex_);
        const auto found = lock_connections_.find(record.id);
        if (found == lock_connections_.end()) break;
        last = std::move(found->second);
        lock_connections_.erase(found);
        return {.result = outcome::yes};
      }
      case session_verb::remove_expired: break;  // the server removes it
    }
    return {.result = outcome::no, .statements = 0};
  });
}

// ---- verbs ----------------------------------------------------------------------------------------------------------

void named_lock_store::execute(connection& connection, std::span<const request> requests,
                               std::span<reply> replies) noexcept {
  auto& by = static_cast<waiting_connection&>(connection);
  const auto result = reply_or_in_doubt(by, "lock", [&]() -> reply {
    requests.front().action == verb::poll ? poll(by, requests, replies) : change(by, requests, replies);
    return {.result = outcome::yes};
  });
  if (result.result == outcome::yes) return;
  std::fill(replies.begin(), replies.end(), result);
}

void named_lock_store::change(waiting_connection& by, std::span<const request> requests, std::span<reply> replies) {
  const auto& first = requests.front();
  std::size_t same = 1;
  while (same != requests.size() && requests[same].session == first.session) ++same;
  if (same != requests.size()) {
    change(by, requests.subspan(same), replies.subspan(same));
    requests = requests.first(same);
    replies = replies.first(same);
  }
  const auto lock_connection = find(first.session);
  const bool takes = first.action == verb::take || first.action == verb::insert;
  const bool frees = first.action == verb::release || first.action == verb::cancel;
  if (lock_connection == nullptr || !(takes || frees)) {
    const auto nothing = takes ? lost_session() : reply{.result = outcome::no, .statements = 0};
    return std::fill(replies.begin(), replies.end(), nothing);
  }
  try {
    takes ? lock_connection->take(requests, replies, by.caller())
          : lock_connection->free(requests, replies, by.caller());
  } catch (...) {
    lock_connection->end();  // its locks are unknown
    throw;
  }
  for (std::size_t i = 0; frees && i != requests.size(); ++i) {
    if (replies[i].result == outcome::yes) replies[i].waiters = waiters_.had_waited(requests[i].resource) ? 1 : 0;
  }
  if (lock_connection->usable()) return;
  listeners_.renew_now();  // the renewal reports the loss, and the next call opens a new session
  if (!takes) return;
  for (auto& reply : replies) {
    if (reply.result != outcome::unknown) reply = lost_session();
  }
}

seen named_lock_store::holder(const std::string& name, const connection_identity& connection) const {
  seen found{.holder = sql::foreign_owner,
             .fence = connection.id,
             .nonce = connection.id,
             .kind = lease_kind::connection,
             .remaining = no_end,
             .who = fmt::format("connection {} of the server", connection.id)};
  const auto ours = find_connection(connection);
  const auto nonce = ours == nullptr ? std::nullopt : ours->holds(name);
  if (!nonce) return found;
  found.holder = ours->holder().session;
  found.fence = found.nonce = *nonce;
  return found;
}

void named_lock_store::poll(waiting_connection& by, std::span<const request> requests, std::span<reply> replies) {
  std::string sql = "SELECT ";
  std::vector<std::string> names;
  for (const auto& each : requests) {
    names.push_back(lock_name(settings_.prefix, each.resource));
    sql += fmt::format("{}IS_USED_LOCK({})", names.size() == 1 ? "" : ", ", mysql_text_literal(names.back()));
  }
  mysql_rows rows;
  auto answer = by.read(sql, "poll", &rows);
  answer.statements = 0;
  for (std::size_t i = 0; i != replies.size(); ++i) {
    replies[i] = answer;
    if (answer.result != outcome::yes) continue;
    const auto& value = rows.at(0).at(i);
    if (!value) {
      replies[i].result = outcome::absent;
    } else {
      auto holds = by.server();
      holds.id = unsigned_of(value);
      replies[i].holder = holder(names[i], holds);
    }
  }
  replies.front().statements = 1;
}

// ---- operators ------------------------------------------------------------------------------------------------------

reply named_lock_store::waiters(connection& connection, std::string_view key, std::size_t limit,
                                waiter_overview& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "waiters", [&](auto& by) {
    const auto lock = lock_name(settings_.prefix, key);
    return find_waiters(by, "GET_LOCK(", mysql_text_literal(lock), lock, limit, found);
  });
}

reply named_lock_store::examine(connection& connection, std::vector<store_finding>& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "examine",
                                          [&](auto& by) { return examine_server(by, settings_, found); });
}

reply named_lock_store::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "inspect", [&](auto& by) {
    mysql_rows rows;
    // The server shows the connections of other users only to a user with the right PROCESS.
    const auto sql = fmt::format(
        "SELECT l.id, p.USER, p.HOST FROM (SELECT IS_USED_LOCK({}) AS id) l LEFT JOIN "
        "information_schema.PROCESSLIST p ON p.ID=l.id",
        mysql_text_literal(lock_name(settings_.prefix, key.resource)));
    auto answer = by.read(sql, "inspect", &rows);
    if (answer.result != outcome::yes || rows.empty() || !rows[0].at(0)) return answer;
    const auto& row = rows[0];
    auto holds = by.server();
    holds.id = unsigned_of(row[0]);
    const auto ours = find_connection(holds);
    auto& info = found.emplace_back(ours == nullptr ? holder_info{.kind = lease_kind::connection} : ours->holder());
    info.key = key.resource;
    if (ours != nullptr) return answer;
    info.label = row.at(1) ? fmt::format("connection {} of {}@{}", *row[0], *row[1], row.at(2).value_or(""))
                           : fmt::format("connection {} of the server", *row[0]);
    return answer;
  });
}

reply named_lock_store::list(connection& connection, std::string_view after, std::size_t limit,
                             std::vector<holder_info>& found) noexcept {
  return sql::attempt<waiting_connection>(connection, "list", [&](waiting_connection&) {
    std::vector<holder_info> all;
    {
      const base::lock_guard lock(mutex_);
      for (const auto& [session, lock_connection] : lock_connections_) {
        for (auto& each : lock_connection->all_held()) {
          if (each.key > after) all.push_back(std::move(each));
        }
      }
    }
    std::sort(all.begin(), all.end(), [](const auto& left, const auto& right) { return left.key < right.key; });
    if (all.size() > limit) all.resize(limit);
    found.insert(found.end(), std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
    return reply{.result = outcome::yes, .statements = 0};
  });
}

reply named_lock_store::revoke(connection& connection, const request& key) noexcept {
  return sql::attempt<waiting_connection>(connection, "force a release", [&](auto& by) -> reply {
    request ask = key;
    ask.action = verb::poll;
    reply answer;
    poll(by, {&ask, 1}, {&answer, 1});
    if (answer.result == outcome::absent) return {.result = outcome::no};
    if (answer.result != outcome::yes || answer.holder.holder != sql::foreign_owner) {
      if (answer.result == outcome::yes) answer.result = outcome::no;  // it is ours, so it can be released
      return answer;
    }
    return refuse(
        fmt::format("only its own connection can release a named lock. KILL {0} at the server ends that "
                    "connection with all its locks; its process notices at its next renewal",
                    answer.holder.fence));
  });
}

}  // namespace dlock::stores::mysql::named_lock
