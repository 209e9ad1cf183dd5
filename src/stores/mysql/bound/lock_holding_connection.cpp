// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/bound/lock_holding_connection.hpp"

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>

#include "base/text.hpp"
#include "dlock/detail/sha256.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds shortest_rest{10};

}  // namespace

lock_holding_connection::lock_holding_connection(std::unique_ptr<mysql_connection> link,
                                                 std::chrono::milliseconds timeout)
    : link_(std::move(link)), process_(::getpid()), timeout_(timeout) {}

lock_holding_connection::~lock_holding_connection() {
  if (process_ == ::getpid()) return;
  for (const auto& each : statements_) each->statement_.leave();
  static_cast<void>(link_.release());  // the parent speaks on the same socket
}

key_statement* lock_holding_connection::add(std::string sql, const char* doing, bool bytes, fault& why) {
  auto& added = statements_.emplace_back(std::make_unique<key_statement>(std::move(sql), doing, bytes));
  const bool good = !mysql_statement::in_two_steps || link_->prepare(added->statement_, why);
  return good ? added.get() : nullptr;
}

std::optional<lock_holding_connection::exclusive_use> lock_holding_connection::wait_exclusive_use(
    const cancel_signal& by, fault& why) {
  {
    base::unique_lock lock(mutex_);
    const bool got = !taken_ || freed_.wait(lock, by.token(), [this] {
      mutex_.assert_held();
      return !taken_;
    });
    if (!got) {
      why = make_own_fault("the connection that keeps the locks was busy for too long", true);
      return std::nullopt;
    }
    taken_ = true;
  }
  exclusive_use mine(*this, by);
  const auto now = clock::now();
  if (open_ && finish(by, now, why) == outcome::unknown && open_) {
    why = make_own_fault("the connection that keeps the locks has not answered yet", true);
    return std::nullopt;
  }
  why = {};
  // The server may have closed an idle connection. This check makes sure that nothing is sent that might have been
  // executed.
  const bool rested = now - used_ > shortest_rest;
  if (rested ? link_->alive() : link_->usable()) return mine;
  // Even if the connection works, but its server allows no locks any more: from here on usable() must return false, or
  // its locks would stay in the registry for ever.
  end();
  why = make_own_fault("the connection that kept the locks is gone, and so are they", true, true);
  return std::nullopt;
}

lock_holding_connection::exclusive_use::~exclusive_use() {
  if (link_ == nullptr) return;
  {
    const base::lock_guard lock(link_->mutex_);
    link_->taken_ = false;
  }
  link_->freed_.notify_one();
}

template <class Send>
outcome lock_holding_connection::exclusive_use::run(key_statement* statement, const char* doing, handler done,
                                                    fault& why, const Send& send) {
  why = {};
  bool good = false;
  try {
    good = send();
    if (!good) link_->link_->note_error(why);
  } catch (...) {
    link_->lose(done, {});
    throw;
  }
  if (!good) {
    link_->lose(done, why);  // a part of the statement may have been sent
    return outcome::unknown;
  }
  const auto now = clock::now();
  link_->open_.emplace(unread_reply{doing, statement, std::move(done), now + link_->timeout_});
  return link_->finish(*by_, now, why);
}

outcome lock_holding_connection::exclusive_use::run(const std::string& sql, const char* doing, handler done,
                                                    fault& why) {
  return run(nullptr, doing, std::move(done), why, [&] { return send_mysql(link_->link_->handle(), sql, doing, why); });
}

outcome lock_holding_connection::exclusive_use::run(key_statement& statement, std::string_view key, handler done,
                                                    fault& why) {
  auto& native = statement.statement_;
  statement.key_.assign(key);
  return run(&statement, native.name(), std::move(done), why, [&] {
    return native.prepared() ? native.send(why)
                             : send_mysql(link_->link_->handle(), native.written_out(), native.name(), why);
  });
}

outcome lock_holding_connection::exclusive_use::query(const std::string& sql, const char* doing, mysql_rows* rows,
                                                      fault& why) {
  if (rows == nullptr) return run(sql, doing, {}, why);
  const auto read = std::make_shared<mysql_rows>();  // the reply may come when this object is gone
  const auto result = run(
      sql, doing, [read](bound_answer& answer) { *read = std::move(answer.rows); }, why);
  if (result == outcome::yes) *rows = std::move(*read);
  return result;
}

bool lock_holding_connection::exclusive_use::set_silence(microseconds ttl, fault& why) {
  const auto wanted = silence_for(ttl);
  if (wanted == link_->silence_) return true;
  const auto sql = fmt::format("SET SESSION wait_timeout={}", wanted);
  if (query(sql, "set the end of a silent connection", nullptr, why) != outcome::yes) return false;
  link_->silence_ = wanted;
  return true;
}

outcome lock_holding_connection::exclusive_use::renew(microseconds ttl, const char* doing, fault& why) {
  if (silence_for(ttl) > link_->silence_ && !set_silence(ttl, why)) return outcome::unknown;
  mysql_rows rows;
  const auto result = query(still_primary_sql, doing, &rows, why);
  if (result == outcome::yes && is_no_primary(rows)) link_->end();
  return result;
}

lock_holding_connection::event lock_holding_connection::wait_next(const cancel_signal& by,
                                                                  clock::time_point now) const noexcept {
  using namespace std::chrono;
  std::array<pollfd, 2> watched{{{mysql_socket(link_->handle()), POLLIN, 0}, {by.descriptor(), POLLIN, 0}}};
  for (;; now = clock::now()) {
    const auto remaining = std::max<milliseconds::rep>(0, ceil<milliseconds>(open_->until - now).count());
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(remaining));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return event::nothing;
    return watched[0].revents != 0 ? event::answer : event::raised;
  }
}

/// Ends the connection. Its last statement may have been executed or not.
void lock_holding_connection::lose(const handler& done, const fault& why) {
  end();
  bound_answer lost{.why = why};
  if (done) done(lost);
}

/// Converts the reply to a prepared statement to the form of a text's.
bool lock_holding_connection::read_rows(const unread_reply& open, bound_answer& answer) const {
  if (open.statement == nullptr || !open.statement->statement_.prepared()) {
    return read_mysql(link_->handle(), open.doing, &answer.rows, answer.why);
  }
  auto& native = open.statement->statement_;
  if (native.receive(answer.why) != outcome::yes) return false;
  std::int64_t number = 0;
  mysql_bool null = 0;
  const std::array columns{mysql_field::number_or_null(number, null)};
  const auto fetched = native.fetch(columns, answer.why);
  if (fetched == outcome::yes) answer.rows.push_back({null ? std::nullopt : std::optional(std::to_string(number))});
  return fetched == outcome::yes || fetched == outcome::absent;
}

void lock_holding_connection::read(event next, const unread_reply& open, bound_answer& answer) {
  if (next == event::nothing) {
    answer.why = make_own_fault(std::string(open.doing) + ": no answer for too long", true, true);
    link_->note_error(answer.why);
  } else if (read_rows(open, answer)) {
    answer.result = outcome::yes;
  } else {
    answer.result = outcome_of_mysql_error(static_cast<unsigned>(answer.why.native));
    link_->note_error(answer.why);
    if (answer.result == outcome::unknown) end();
  }
}

outcome lock_holding_connection::finish(const cancel_signal& by, clock::time_point now, fault& why) {
  const auto next = wait_next(by, now);
  if (next == event::raised) {
    why = make_own_fault(std::string(open_->doing) + ": no answer in time", true);
    return outcome::unknown;
  }
  const auto open = std::exchange(open_, std::nullopt);
  bound_answer answer;
  try {
    read(next, *open, answer);
  } catch (...) {
    lose(open->done, {});  // memory ran out; the next reader would read the rest of this reply as another one
    throw;
  }
  used_ = clock::now();
  why = answer.why;
  const auto result = answer.result;
  if (!open->done) return result;
  try {
    open->done(answer);
  } catch (...) {
    end();  // what it holds is unknown
    throw;
  }
  return result;
}

namespace {

bool is_on(const std::optional<std::string>& value) { return value && *value != "0" && *value != "OFF"; }

}  // namespace

std::string hashed_lock_name(std::string_view text) {
  return '#' + detail::sha256_hex(text).substr(0, longest_lock_name - 1);
}

server_facts read_facts(mysql_connection& connection, const mysql_server& server, const std::string& store) {
  server_facts facts;
  facts.cluster = is_cluster(server);
  facts.proxy = is_behind_proxy(server);
  const auto ask = [&](const std::string& sql) { return read_rows(connection, store, sql, "checking the server"); };
  const auto row = ask("SELECT CONNECTION_ID(), CONCAT(@@version, ' ', @@version_comment)").at(0);
  facts.first = row.at(0).value_or("");
  facts.version = row.at(1).value_or("");
  facts.several_primaries =
      !ask("SHOW GLOBAL VARIABLES WHERE Variable_name='group_replication_single_primary_mode' AND Value='OFF'").empty();
  facts.second = ask("SELECT CONNECTION_ID()").at(0).at(0).value_or("");
  return facts;
}

std::string refusal(const server_facts& facts, const std::string& locks) {
  const auto of_its_own = [&](const char* what) {
    return fmt::format("this server is {}: each has separate {}, and two of them would grant one key twice", what,
                       locks);
  };
  if (facts.cluster) return of_its_own("a node of a Galera cluster");
  if (facts.several_primaries) return of_its_own("one of several primaries of a replication group");
  const auto version = base::lower_case(facts.version);
  constexpr std::array<std::string_view, 2> names{"proxysql", "maxscale"};
  const bool named =
      std::any_of(names.begin(), names.end(), [&](auto name) { return version.find(name) != std::string::npos; });
  if (!facts.proxy && !named && facts.first == facts.second) return {};
  return fmt::format(
      "there is a proxy in between ({}): it may run the statements of one connection on several connections to the "
      "server, and "
      "{} belong to one of these",
      facts.version, locks);
}

void check_lone_host(const mysql_settings& settings, const std::string& scheme) {
  if (settings.hosts.size() == 1) return;
  throw std::invalid_argument(
      fmt::format("dlock: mysql URL: scheme={} goes with one host, not with {}: each server has separate locks", scheme,
                  settings.hosts.size()));
}

bool is_no_primary(const mysql_rows& answer) { return is_on(answer.at(0).at(0)) || is_on(answer.at(0).at(1)); }

std::int64_t silence_for(microseconds ttl) noexcept {
  constexpr std::int64_t longest = 31'536'000;  // the limit of wait_timeout
  return std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(ttl).count(), 1, longest);
}

}  // namespace dlock::stores::mysql
