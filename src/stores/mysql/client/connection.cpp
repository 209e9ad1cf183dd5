// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/connection.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {
namespace {

constexpr unsigned most_tries = 50;
constexpr unsigned unprepared_for = 100;
constexpr std::chrono::seconds longest_retry{2};

int own_descriptor(MYSQL* handle) {
  const int duplicate = ::fcntl(mysql_socket(handle), F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0)
    throw std::system_error(errno, std::generic_category(), "dlock: a file descriptor for a connection");
  return duplicate;
}

#ifdef POLLRDHUP
constexpr short hang_up = POLLRDHUP;
#else
constexpr short hang_up = 0;  // poll() always reports POLLHUP and POLLERR
#endif

/// Whether one of `events` has happened on a socket. Costs less than half a microsecond.
bool has_happened(int socket, short events) noexcept {
  pollfd about{socket, events, 0};
  return ::poll(&about, 1, 0) > 0;
}

/// Whether the server has closed its side, so that a statement sent now would certainly not be executed.
bool closed_by_server(int socket) noexcept { return has_happened(socket, hang_up); }

/// The server keeps its connections, but accepts no writes on any of them.
bool refuses_all(int code) noexcept {
  constexpr std::array codes{1047, 1290, 1836, 1874, 3032, 4312, 4313};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

mysql_connection::mysql_connection(mysql_opened from, mysql_hosts& hosts)
    : native_(std::move(from.link)),
      hosts_(hosts),
      host_(from.host),
      refusals_(from.refusals),
      quick_(can_refuse_to_wait(native_.get())),
      cluster_(is_cluster(from.server)),
      encrypted_(mysql_get_ssl_cipher(native_.get()) != nullptr),
      behind_proxy_(is_behind_proxy(from.server)),
      where_(std::move(from.where)),
      identity_{from.server.id, incarnation_text(from.server), from.server.connection},
      socket_(own_descriptor(native_.get())) {}

mysql_connection::~mysql_connection() { ::close(socket_); }

void mysql_connection::interrupt() noexcept {
  broken_.store(true, std::memory_order_release);
  ::shutdown(socket_, SHUT_RDWR);
}

bool mysql_connection::alive() noexcept {
  if (!usable() || hosts_.refusals(host_) != refusals_) return false;
  // An idle server sends nothing but the reason for a hang-up. With TLS its session tickets may also be unread.
  const auto hang_up_events = static_cast<short>(encrypted_ ? hang_up : hang_up | POLLIN);
  checked_ = !has_happened(socket_, hang_up_events);
  if (!checked_) interrupt();
  return checked_;
}

void mysql_connection::note_error(fault& why) noexcept {
  if (refuses_all(why.native)) hosts_.refuses(host_, refusals_, mysql_hosts::clock::now());
  try {
    why.text = fmt::format("{}: {}", where_, why.text);
  } catch (...) {
    // Then this check is left out.
  }
  // Our descriptor keeps the socket open, but the server must notice that the client is gone.
  if (why.connection) interrupt();
}

bool mysql_connection::may_run(fault& why) {
  // A statement sent on an idle connection that the server has closed would have an unknown outcome. In an unexpected
  // open transaction only we would see the change, and the end of the connection would undo it.
  const bool strange = usable() && !in_autocommit(handle());
  const bool checked = std::exchange(checked_, false);  // alive() checked just now
  if (usable() && !strange && (checked || !closed_by_server(socket_))) return true;
  std::string text =
      strange ? "the connection was in a transaction that dlock has not begun" : "the connection was closed";
  if (strange && behind_proxy_) text = without_own_session(text);
  why = make_own_fault(std::move(text), true, true);
  note_error(why);
  return false;
}

// A deadlock undoes the statement, and the server asks to repeat it: it succeeds once the others are through. The same
// holds for a row that changed while a statement with a sub-query waited for it (innodb_snapshot_isolation): the next
// attempt sees the change.
bool mysql_connection::retry(const fault& why, tries& so_far) const {
  const auto code = static_cast<unsigned>(why.native);
  if (code != mysql_deadlock && code != mysql_record_changed) return false;
  const auto now = std::chrono::steady_clock::now();
  if (so_far.count++ == 0) so_far.first = now;
  if (so_far.count == most_tries || now - so_far.first > longest_retry || !usable()) return false;
  // The losers of one deadlock must not retry in step.
  const auto share = (identity_.id * 7 + so_far.count * 13) % 32;
  std::this_thread::sleep_for(microseconds{(so_far.count < 8 ? 20 : 200) * static_cast<int>(share)});
  return true;
}

/// Returns false if there is an error, or (without a text in `why`) the server prepares no statements now.
bool mysql_connection::ready(mysql_statement& statement, fault& why) {
  if (statement.prepared()) return true;
  if (statement.sent_as_text()) return false;
  if (as_text_ != 0) {
    --as_text_;
    return false;
  }
  if (statement.prepare(handle(), why)) return true;
  if (goes_as_text(static_cast<unsigned>(why.native))) {
    why = {};
    as_text_ = unprepared_for;
  }
  return false;
}

outcome mysql_connection::execute_as_text(const mysql_statement& statement, mysql_done& done, columns row, fault& why) {
  mysql_rows rows;
  if (!run_mysql(handle(), statement.written_out(), statement.name(), row == nullptr ? nullptr : &rows, why)) {
    return outcome_of_mysql_error(static_cast<unsigned>(why.native));
  }
  done = {mysql_affected_rows(handle()), mysql_insert_id(handle())};
  if (row == nullptr) return outcome::yes;
  if (rows.empty()) return outcome::absent;
  for (std::size_t i = 0; i != row->size(); ++i) (*row)[i].put(rows.front().at(i));
  return outcome::yes;
}

outcome mysql_connection::execute(mysql_statement& statement, mysql_done& done, columns row, fault& why) {
  if (!ready(statement, why)) {
    // It was not even prepared, so nothing of it can run.
    return why.text.empty() ? execute_as_text(statement, done, row, why) : outcome::failed;
  }
  const auto said = statement.execute(why);
  if (said != outcome::yes) return said;
  table_was_there_ = true;
  done = statement.done();
  return row == nullptr ? said : statement.fetch(*row, why);
}

template <class Send>
outcome mysql_connection::repeat(fault& why, Send send, bool table_was_there) {
  for (tries so_far;;) {
    if (!may_run(why)) return outcome::failed;
    why = {};
    const outcome said = send();
    if (said == outcome::yes || said == outcome::absent) return said;
    note_error(why);
    // Tools that alter a table by a copy remove it for a moment.
    if (table_was_there && why.native == static_cast<int>(mysql_no_such_table) &&
        so_far.without_table++ != most_tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    } else if (!retry(why, so_far)) {
      return said;
    }
  }
}

outcome mysql_connection::run(mysql_statement& statement, mysql_done& done, fault& why) {
  return repeat(
      why, [&] { return execute(statement, done, nullptr, why); }, table_was_there_ && statement.waits_for_table());
}

std::string mysql_connection::synced(std::string text) const {
  if (!cluster_) return text;
  if (!quick_ || !text.starts_with(mysql::quick_prefix)) return std::string(mysql::sync_prefix) + text;
  // One SET STATEMENT sets both variables.
  return text.replace(0, mysql::quick_prefix.size(), mysql::quick_sync_prefix);
}

reply mysql_connection::change(mysql_statement& statement, bool ours, row_wait if_locked) {
  if (if_locked == row_wait::accept) {
    auto text = statement.written_out();
    if (quick_ && text.starts_with(mysql::quick_prefix)) text.erase(0, mysql::quick_prefix.size());
    return change(ours ? synced(std::move(text)) : text, statement.name());
  }
  reply answer;
  mysql_done done;
  answer.result = run(statement, done, answer.why);
  if (ours && cluster_ && answer.result == outcome::yes && done.rows == 0) {
    ++answer.statements;
    answer.result = query(synced(statement.written_out()), statement.name(), nullptr, &done.rows, answer.why);
  }
  if (answer.result == outcome::yes && done.rows == 0) answer.result = outcome::no;
  if (answer.result == outcome::yes) answer.fence = done.insert_id;
  return answer;
}

outcome mysql_connection::fetch(mysql_statement& statement, std::span<const mysql_field> row, fault& why) {
  mysql_done done;
  return repeat(
      why, [&] { return execute(statement, done, &row, why); }, table_was_there_ && statement.waits_for_table());
}

outcome mysql_connection::query(const std::string& sql, const char* doing, mysql_rows* rows, std::uint64_t* affected,
                                fault& why) {
  return repeat(why, [&] {
    if (rows != nullptr) rows->clear();
    if (!run_mysql(handle(), sql, doing, rows, why)) return outcome_of_mysql_error(static_cast<unsigned>(why.native));
    if (affected != nullptr) *affected = mysql_affected_rows(handle());
    return outcome::yes;
  });
}

reply mysql_connection::read(const std::string& sql, const char* doing, mysql_rows* rows) {
  reply answer;
  answer.result = query(sql, doing, rows, nullptr, answer.why);
  return answer;
}

reply mysql_connection::change(const std::string& sql, const char* doing) {
  reply answer;
  std::uint64_t rows = 0;
  answer.result = query(sql, doing, nullptr, &rows, answer.why);
  if (answer.result == outcome::yes && rows == 0) answer.result = outcome::no;
  if (answer.result == outcome::yes) answer.fence = mysql_insert_id(handle());
  return answer;
}

// ---- what the code above all databases sends ------------------------------------------------------------------------

std::string literal_of(const sql::sql_value& value) {
  struct to_literal {
    std::string operator()(std::monostate) const { return "NULL"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(std::uint64_t number) const { return std::to_string(number); }
    std::string operator()(std::string_view text) const { return mysql_text_literal(text); }
    std::string operator()(sql::sql_bytes bytes) const { return mysql_literal(bytes.value); }
    std::string operator()(const id128& id) const { return mysql_literal(id); }
  };
  return std::visit(to_literal{}, value);
}

namespace {

/// The place of a value, which outlives the call.
mysql_field field_at(const sql::sql_value& value) {
  struct to_field {
    mysql_field operator()(std::monostate) const { return mysql_field::null(); }
    mysql_field operator()(const std::int64_t& number) const { return mysql_field::number_at(number); }
    mysql_field operator()(const std::uint64_t& number) const { return mysql_field::number_at(number); }
    mysql_field operator()(const std::string_view& text) const { return mysql_field::text_at(text); }
    mysql_field operator()(const sql::sql_bytes& bytes) const { return mysql_field::bytes_at(bytes.value); }
    mysql_field operator()(const id128& id) const { return mysql_field::bytes_at(bytes_of(id)); }
  };
  return std::visit(to_field{}, value);
}

}  // namespace

/// Of a sql::sql_text.
struct mysql_connection::kept_statement {
  kept_statement(const sql::sql_text& from, sql::sql_values values)
      : of(&from), text(sql::with_markers(from.sql, values, order)) {
    statement.fail_without_table();
  }

  const sql::sql_text* const of;
  std::vector<std::size_t> order{};  // which of the values each parameter is
  const std::string text;
  mysql_statement statement{text, of->doing, {}};
  std::vector<mysql_bytes<1020>> row{};
};

/// With these values, which must outlive its execution.
mysql_connection::kept_statement& mysql_connection::kept(const sql::sql_text& statement, sql::sql_values values) {
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each->of == &statement; });
  if (found == kept_.end()) found = kept_.insert(found, std::make_unique<kept_statement>(statement, values));
  auto& kept = **found;
  std::vector<mysql_field> fields;
  fields.reserve(kept.order.size());
  for (const auto which : kept.order) fields.push_back(field_at((values.begin() + which)->value));
  kept.statement.parameters(fields);
  return kept;
}

reply mysql_connection::read_kept(const sql::sql_text& statement, sql::sql_values values, sql::sql_rows& rows) {
  auto& kept = this->kept(statement, values);
  rows.clear();
  reply answer;
  if (!kept.statement.prepared() && !prepare(kept.statement, answer.why)) return answer;
  if (!kept.statement.prepared()) {  // the server prepares no more statements
    const sql::sql_text once{.sql = statement.sql, .doing = statement.doing};
    return read(once, values, rows);
  }
  kept.row.resize(kept.statement.columns());
  std::vector<mysql_field> fields;
  fields.reserve(kept.row.size());
  for (auto& each : kept.row) fields.push_back(mysql_field::text(each));
  answer.result = fetch(kept.statement, fields, answer.why);
  if (answer.result == outcome::absent)
    answer.result = outcome::yes;
  else if (answer.result == outcome::yes) {
    std::vector<sql::sql_row::cell> cells;
    cells.reserve(kept.row.size());
    for (const auto& each : kept.row) cells.emplace_back(std::string(each.view()));
    rows.emplace_back(std::move(cells));
  }
  return answer;
}

reply mysql_connection::read(const sql::sql_text& statement, sql::sql_values values, sql::sql_rows& rows) {
  if (statement.kept) return read_kept(statement, values, rows);
  const auto text = sql::write_out(statement.sql, values, literal_of);
  reply answer;
  answer.result = repeat(answer.why, [&] {
    rows.clear();
    const bool done = run_mysql(handle(), text, statement.doing, rows, answer.why);
    return done ? outcome::yes : outcome_of_mysql_error(static_cast<unsigned>(answer.why.native));
  });
  return answer;
}

reply mysql_connection::change(const sql::sql_text& statement, sql::sql_values values) {
  if (statement.kept) return change(kept(statement, values).statement, false);
  auto text = sql::write_out(statement.sql, values, literal_of);
  if (statement.if_locked != row_wait::accept) text.insert(0, quick_prefix());
  return change(text, statement.doing);
}

reply mysql_connection::attempt(const char* doing, sql::body_ref verb) noexcept {
  return reply_or_in_doubt(*this, doing, verb);
}

bool mysql_connection::prepare(mysql_statement& statement, fault& why) {
  why = {};
  if (ready(statement, why) || why.text.empty()) return true;
  note_error(why);
  return false;
}

reply reply_of_exception(mysql_connection& connection, const char* doing) noexcept {
  reply failed{.result = outcome::unknown};
  try {
    try {
      throw;
    } catch (const std::exception& e) {
      failed.why = make_own_fault(std::string(doing) + ": " + e.what());
    }
  } catch (...) {
    // Memory ran out for the text.
  }
  // The cancellation ends this connection at the server, by its identity, so it must not be used again.
  failed.why.transient = failed.why.connection = true;
  connection.interrupt();
  return failed;
}

connection_identity mysql_connection::neighbour(std::uint64_t number) const {
  auto found = identity_;
  found.id = number;
  // If the server does not say when it was started, the value is only valid for this connection.
  if (found.incarnation.starts_with('@')) found.incarnation.insert(0, fmt::format("connection {}", identity_.id));
  return found;
}

namespace {

kill_result send_kill(mysql_connection& by, const std::string& sql) {
  constexpr int not_owner = 1095, no_such_thread = mysql_no_such_thread;
  fault why;
  if (by.query(sql, "kill", nullptr, nullptr, why) == outcome::yes) return kill_result::done;
  return why.native == no_such_thread ? kill_result::gone
         : why.native == not_owner    ? kill_result::refused
                                      : kill_result::not_certain;
}

}  // namespace

kill_result kill(mysql_connection& by, const connection_identity& of, kill_what what) noexcept try {
  switch (compare_servers(of, by.neighbour(0))) {
    case lost_connection::ended: return kill_result::gone;
    case lost_connection::out_of_reach: return kill_result::out_of_reach;
    case lost_connection::reachable: break;
  }
  return send_kill(by, fmt::format("KILL {}{}", what == kill_what::query ? "QUERY " : "", of.id));
} catch (const std::exception&) {
  return kill_result::not_certain;
}

kill_result kill_last_insert_id(mysql_connection& by) noexcept try {
  return send_kill(by, "KILL QUERY LAST_INSERT_ID()");
} catch (const std::exception&) {
  return kill_result::not_certain;
}

bool end_lost_connection(mysql_connection& by, const connection_identity& lost) noexcept {
  if (lost.id == 0) return true;
  // A killed statement is not gone yet: it must notice the KILL and roll back. KILL again asks whether it is gone,
  // because the process list shows other users' connections only to some users.
  for (int tries = 0; tries != 100; ++tries) {
    const auto result = kill(by, lost, kill_what::connection);
    if (result != kill_result::done) return result == kill_result::gone;
    std::this_thread::sleep_for(std::chrono::milliseconds{tries < 10 ? 1 : 10});
  }
  return false;
}

}  // namespace dlock::stores::mysql
