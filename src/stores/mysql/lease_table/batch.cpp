// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

struct batch {
  lease_connection& on;
  const lease_sql& key_sql;
  const mysql_row_sql& row_sql;
  std::span<const request> requests;
  std::span<reply> replies;
  unsigned statements = 0;  ///< the number of statements that were sent

  verb action() const noexcept { return requests.front().action; }
  bool of_keys() const noexcept { return requests.front().row == nullptr; }
  bool grants() const noexcept {
    return action() == verb::take || action() == verb::insert || action() == verb::pass_on;
  }
  bool frees() const noexcept { return action() == verb::release || action() == verb::cancel; }

  outcome query(const std::string& text, const char* doing, mysql_rows* rows, std::uint64_t* changed, fault& why) {
    ++statements;
    return on.query(text, doing, rows, changed, why);
  }
};

// ---- the statements -------------------------------------------------------------------------------------------------

/// The keys of a condition: "X'61',X'62'".
std::string key_list(std::span<const request> requests) {
  std::string list;
  for (const auto& each : requests) {
    if (!list.empty()) list += ',';
    list += mysql_literal(each.resource);
  }
  return list;
}

/// Maps each key to the number of its request: "WHEN X'61' THEN 7 WHEN X'62' THEN 8".
std::string number_by_key(std::span<const request> requests, std::uint64_t request::*number) {
  std::string cases;
  for (const auto& each : requests) {
    fmt::format_to(std::back_inserter(cases), "{}WHEN {} THEN {}", cases.empty() ? "" : " ",
                   mysql_literal(each.resource), each.*number);
  }
  return cases;
}

/// The keys to insert: "SELECT X'61' AS new_key,7 AS new_nonce UNION ALL SELECT X'62',8".
std::string new_keys(std::span<const request> requests) {
  std::string rows;
  for (const auto& each : requests) {
    const bool first = rows.empty();
    fmt::format_to(std::back_inserter(rows), "{}SELECT {}{},{}{}", first ? "" : " UNION ALL ",
                   mysql_literal(each.resource), first ? " AS new_key" : "", each.nonce, first ? " AS new_nonce" : "");
  }
  return rows;
}

std::string change_keys(const lease_sql& statements, std::span<const request> requests, bool skip) {
  const auto& first = requests.front();
  const auto session = mysql_literal(first.session);
  const auto own_ttl = first.kind != lease_kind::session ? std::to_string(first.ttl.count()) : std::string("NULL");
  if (first.action == verb::insert) {
    return sql::write_values(statements.text(text_id::batch_insert),
                             {{"session", session}, {"own_ttl", own_ttl}, {"new_keys", new_keys(requests)}});
  }
  const auto keys = key_list(requests);
  if (first.action == verb::release) {
    return sql::write_values(
        statements.text(text_id::batch_release, skip),
        {{"keys", keys}, {"session", session}, {"fences", number_by_key(requests, &request::fence)}});
  }
  const auto nonces = number_by_key(requests, &request::nonce);
  if (first.action == verb::pass_on) {
    return sql::write_values(statements.text(text_id::batch_pass_on, skip),
                             {{"keys", keys},
                              {"session", session},
                              {"nonces", nonces},
                              {"fences", number_by_key(requests, &request::fence)},
                              {"own_ttl", own_ttl}});
  }
  if (first.action == verb::cancel) {
    return sql::write_values(statements.text(text_id::batch_cancel, skip),
                             {{"keys", keys}, {"session", session}, {"nonces", nonces}});
  }
  return sql::write_values(statements.text(text_id::batch_take, skip),
                           {{"keys", keys}, {"session", session}, {"nonces", nonces}, {"own_ttl", own_ttl}});
}

/// `skip`: changes only rows that no other transaction has locked.
std::string change_text(const batch& b, bool skip) {
  return b.of_keys() ? change_keys(b.key_sql, b.requests, skip) : b.row_sql.change_all(b.requests, skip);
}

std::string read_text(const batch& b) {
  if (!b.of_keys()) return b.row_sql.read_all(b.requests);
  const auto session = mysql_literal(b.requests.front().session);
  return sql::write_values(b.key_sql.text(text_id::batch_read), {{"session", session}, {"keys", key_list(b.requests)}});
}

std::string poll_text(const batch& b) {
  if (!b.of_keys()) return b.row_sql.poll_all(b.requests);
  return sql::write_values(b.key_sql.text(text_id::batch_poll), {{"keys", key_list(b.requests)}});
}

/// Calls answer(i) for each request `i` that a row of the result is about, which the row's first column says: a key,
/// compared by its bytes as the column does it, or for rows the number of the request, because only the server knows
/// which ids it takes for the same. Of two requests about the same row the second finds none.
template <class Answer>
void for_requests(const batch& b, const mysql_rows::value_type& row, Answer&& answer) {
  if (!b.of_keys()) {
    const auto number = row.at(0) ? unsigned_of(row[0]) : b.requests.size();
    if (number < b.requests.size()) answer(number);
    return;
  }
  for (std::size_t i = 0; i != b.requests.size(); ++i) {
    if (row.at(0) == b.requests[i].resource) answer(i);
  }
}

// ---- answers --------------------------------------------------------------------------------------------------------

void fill_all(std::span<reply> replies, outcome said, const fault& why) {
  std::fill(replies.begin(), replies.end(), reply{.result = said, .why = why});
}

/// The reply for a row that was skipped because another transaction has it locked: it counts as busy.
reply locked_row() {
  constexpr unsigned not_waited = 3572;
  return {.why = make_mysql_fault(not_waited, "HY000", "a transaction has the row locked", "a batch")};
}

/// The reply of a change of which nobody knows whether it was executed. Like a batch without a reply it is settled on
/// another connection.
reply doubtful(lease_connection& on) {
  reply answer{.result = outcome::unknown,
               .why = make_own_fault("after a batch, a row no longer has the values that it wrote", true, true)};
  on.note_error(answer.why);
  return answer;
}

/// The state of a grant after a release or cancel.
enum class after_free {
  free,  ///< the key is free, and was not granted since
  held,  ///< the grant still exists
  kept,  ///< the grant still exists, and the request names it wrongly
  gone,  ///< others hold the key, or its row was deleted
};

/// The state of a row after the change, for one request about it.
struct row_now {
  bool granted = false;  ///< to the attempt of the request
  bool free = false;     ///< a take would get it
  std::uint64_t fence = 0;
  after_free grant = after_free::gone;
};

row_now key_now(const request& asked, const mysql_rows::value_type& row) {
  const bool ours = unsigned_of(row.at(1)) != 0;
  const bool free = unsigned_of(row.at(2)) != 0;
  const bool of_attempt = unsigned_of(row.at(3)) == asked.nonce;
  row_now now{.granted = ours && of_attempt, .free = free, .fence = unsigned_of(row.at(4))};
  const bool named = asked.action == verb::release ? now.fence == asked.fence : of_attempt;
  if (named && (ours || free)) {
    now.grant = ours ? after_free::held : after_free::free;
  } else if (now.granted) {
    now.grant = after_free::kept;
  }
  return now;
}

row_now application_row_now(const mysql_row_sql& sql, const request& asked, const mysql_rows::value_type& row) {
  const auto owner = row.at(1).value_or("");
  const auto asker = sql.owner_of(asked);
  row_now now{.granted = owner == asker.text() || owner == asker.verified_text(),
              .free = unsigned_of(row.at(2)) != 0,
              .fence = unsigned_of(row.at(3))};
  const bool by_fence = asked.action == verb::release && sql::has_own_fence(*asked.row->table);
  const bool named = !by_fence || now.fence == asked.fence;
  if (now.granted) {
    now.grant = named ? after_free::held : after_free::kept;
  } else if (owner.empty() && named) {
    now.grant = after_free::free;
  }
  return now;
}

/// The result of the one statement.
struct batch_change {
  outcome said = outcome::failed;
  std::uint64_t rows = 0;
  bool skipped = false;    ///< it skipped rows that other transactions have locked
  bool too_large = false;  ///< it was not sent
  fault why{};
};

void answer_grants(const batch& b, std::span<const row_now> rows, const batch_change& done) {
  std::uint64_t granted = 0;
  for (std::size_t i = 0; i != rows.size(); ++i) {
    b.replies[i] = {.result = outcome::no};
    if (rows[i].granted) {
      b.replies[i] = {.result = outcome::yes, .fence = rows[i].fence};
      ++granted;
    } else if (done.skipped && rows[i].free) {
      b.replies[i] = locked_row();  // it must look as if it had not been requested
    }
  }
  if (granted >= done.rows) return;
  // More was granted than is visible now. Like a grant without a reply, what is not visible is cancelled by session and
  // nonce.
  for (auto& each : b.replies) {
    if (each.result != outcome::yes) each = doubtful(b.on);
  }
}

/// Only the number of freed rows is known. Each of them is free now, or was taken by others or deleted since. A row
/// that was free before looks the same.
void answer_frees(const batch& b, std::span<const row_now> rows, const batch_change& done) {
  const auto count = [&](after_free what) {
    return static_cast<std::uint64_t>(
        std::count_if(rows.begin(), rows.end(), [&](const row_now& each) { return each.grant == what; }));
  };
  const auto freed_and_gone = done.rows - std::min(done.rows, count(after_free::free));
  const bool all_gone_were_freed = freed_and_gone == count(after_free::gone);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    b.replies[i] = {.result = outcome::no};
    switch (rows[i].grant) {
      case after_free::free:
        if (done.rows != 0) b.replies[i].result = outcome::yes;
        break;
      case after_free::held:
        if (done.skipped) b.replies[i] = locked_row();
        break;
      case after_free::kept: break;
      case after_free::gone:
        if (all_gone_were_freed) {
          b.replies[i].result = outcome::yes;
        } else if (freed_and_gone != 0 && b.action() == verb::release) {
          b.replies[i] = doubtful(b.on);  // either it was freed, or others had taken it before
        }
        break;
    }
  }
}

// ---- what is sent ---------------------------------------------------------------------------------------------------

/// Answers each request from the state of its row after the change.
void read_back(batch& b, batch_change& done) {
  mysql_rows found;
  if (b.query(read_text(b), "read a batch", &found, nullptr, done.why) != outcome::yes) {
    // The change was executed, but nobody knows for which requests: as doubtful().
    done.why.transient = done.why.connection = true;
    b.on.interrupt();
    return fill_all(b.replies, outcome::unknown, done.why);
  }
  std::vector<row_now> rows(b.requests.size());
  for (const auto& row : found) {
    for_requests(b, row, [&](std::size_t i) {
      rows[i] = b.of_keys() ? key_now(b.requests[i], row) : application_row_now(b.row_sql, b.requests[i], row);
    });
  }
  b.grants() ? answer_grants(b, rows, done) : answer_frees(b, rows, done);
}

/// A locked row must neither make the others wait nor fail them. MariaDB is told not to wait, and repeats the change
/// without the locked rows if there are any; MySQL, which can't be told, skips them at once. A server without SKIP
/// LOCKED fails the batch. An extension is not repeated here, because its caller repeats it for each row. If a node of
/// a cluster frees fewer rows than it should, it is asked again after it has seen what others committed.
batch_change run_change(batch& b, bool can_skip) {
  batch_change done;
  const bool extends = b.action() == verb::extend;
  const auto prefix = b.on.quick_prefix();
  const auto run = [&](bool skip) {
    done.skipped = skip;
    const auto text = std::string(prefix) + change_text(b, skip);
    if (!b.on.fits(text)) {
      done.too_large = true;
      return;
    }
    done.said = b.query(text, "a batch", nullptr, &done.rows, done.why);
  };
  run(can_skip && prefix.empty());
  const bool locked = done.said == outcome::failed && done.why.contended;
  if (locked && can_skip && !done.skipped && !extends) {
    done.why = {};
    run(true);
  }
  // A node that has not seen our grants yet frees only those that it knows.
  if (done.said == outcome::yes && b.frees() && done.rows < b.requests.size() && !b.on.sync_prefix().empty()) {
    const auto freed = done.rows;
    done.said = b.query(b.on.synced(std::string(prefix) + change_text(b, done.skipped)), "a batch", nullptr, &done.rows,
                        done.why);
    if (done.said == outcome::yes) done.rows += freed;
    if (done.said == outcome::failed && freed != 0) {  // only some were freed
      done.said = outcome::unknown;
      done.why.transient = done.why.connection = true;
      b.on.interrupt();
    }
  }
  b.on.explain(done.why);
  return done;
}

/// Whether each request must be executed separately.
bool refused(const batch& b, const batch_change& done) {
  if (done.too_large) return true;
  if (b.of_keys() || !b.on.usable()) return false;
  // The application's triggers may refuse only one of the rows.
  if (done.said == outcome::failed && !done.why.contended && !done.why.connection) return true;
  // An extension may be repeated, so each row is extended separately to find the locked ones.
  return b.action() == verb::extend &&
         (done.why.contended || (done.said == outcome::yes && done.rows < b.requests.size()));
}

bool change_all(batch& b, bool can_skip) {
  auto done = run_change(b, can_skip);
  if (refused(b, done)) return false;
  const bool none = done.rows == 0 && (b.grants() || !done.skipped);
  if (done.said != outcome::yes || none || (!b.grants() && done.rows == b.requests.size())) {
    fill_all(b.replies, done.said != outcome::yes ? done.said : none ? outcome::no : outcome::yes, done.why);
    return true;
  }
  read_back(b, done);
  return true;
}

/// Inserts all or none. Returns false if one of the keys exists, or another process is inserting it.
bool insert_all(batch& b) {
  batch_change done;
  const auto text = std::string(b.on.quick_prefix()) + change_text(b, false);
  if (!b.on.fits(text)) return false;
  done.said = b.query(text, "insert a batch", nullptr, &done.rows, done.why);
  const bool there = done.why.native == static_cast<int>(mysql_duplicate_key);
  if (done.said == outcome::failed && (there || done.why.contended)) return false;
  if (done.said == outcome::yes && done.rows == 0)
    return false;  // the floor is missing, which the insert of a single key reports
  fill_all(b.replies, done.said, done.why);
  if (done.said != outcome::yes) return true;
  const auto fence = mysql_insert_id(b.on.handle());
  if (fence == 0) {  // a trigger changed it
    read_back(b, done);
  } else {
    for (auto& each : b.replies) each.fence = fence;
  }
  return true;
}

/// The holder in a row whose second and later columns are those of the statement `poll`.
seen seen_of_key(const mysql_rows::value_type& from) {
  mysql_poll_row row;
  const auto fields = row.fields();
  for (std::size_t i = 0; i != fields.size(); ++i) fields[i].put(from.at(i + 1));
  return row.shown();
}

/// The holder in a row whose columns are those of mysql_row_sql::poll().
seen seen_of_row(const mysql_row_sql& sql, const row_table& table, const mysql_rows::value_type& from) {
  mysql_polled_row row;
  const auto fields = row.fields();
  for (std::size_t i = 0; i != fields.size(); ++i) fields[i].put(from.at(i + 1));
  return row.shown(table, sql.tables());
}

/// Returns false on an error, because a row that the server can't read must not fail the others.
bool poll_all(batch& b) {
  const auto text = poll_text(b);
  if (!b.on.fits(text)) return false;
  mysql_rows found;
  fault why;
  const auto said = b.query(text, "poll several", &found, nullptr, why);
  if (said == outcome::failed && !why.transient && !b.of_keys() && b.on.usable()) return false;
  b.on.explain(why);
  fill_all(b.replies, said == outcome::yes ? outcome::absent : said, why);
  for (const auto& row : found) {
    for_requests(b, row, [&](std::size_t i) {
      b.replies[i].result = outcome::yes;
      b.replies[i].holder = b.of_keys() ? seen_of_key(row) : seen_of_row(b.row_sql, *b.requests[i].row->table, row);
    });
  }
  return true;
}

const row_table* table_of(const request& asked) noexcept {
  return asked.row == nullptr ? nullptr : asked.row->table.get();
}

/// Whether the request's key or row can be written into a statement. A key's column has 255 bytes.
bool can_be_named(const request& asked) noexcept {
  if (asked.row == nullptr) return !asked.resource.empty() && asked.resource.size() <= 255;
  return !asked.row->values.empty() && asked.row->values.size() == asked.row->table->id.size();
}

}  // namespace

bool one_statement_can(std::span<const request> requests) noexcept {
  const auto& first = requests.front();
  const auto action = first.action;
  const auto* const table = table_of(first);
  // Rows belong to the application, so locking never creates one.
  if (action == verb::take_over || action == verb::reserve) return false;
  if (action == (table == nullptr ? verb::extend : verb::insert)) return false;
  if (action == verb::take && table != nullptr && sql::by_column(*table) && first.ttl.count() <= 0) return false;
  const bool frees = action == verb::release || action == verb::cancel;
  return std::all_of(requests.begin(), requests.end(), [&](const request& each) {
    if (each.action != action || table_of(each) != table || !can_be_named(each)) return false;
    if (action == verb::poll) return true;
    return each.session == first.session && (frees || (each.kind == first.kind && each.ttl == first.ttl)) &&
           (action != verb::release || each.min_hold.count() <= 0);
  });
}

bool execute_in_one(lease_connection& on, const lease_sql& keys, const mysql_row_sql& rows,
                    std::span<const request> requests, std::span<reply> replies, bool can_skip) noexcept {
  batch all{on, keys, rows, requests, replies};
  bool done = true;
  const auto whole = reply_or_in_doubt(on, "a batch", [&] {
    switch (all.action()) {
      case verb::insert: done = insert_all(all); break;
      case verb::poll: done = poll_all(all); break;
      default: done = change_all(all, can_skip); break;
    }
    return reply{.result = outcome::yes};
  });
  for (auto& each : replies) each.statements = 0;
  replies.front().statements = all.statements;
  if (whole.result == outcome::yes) return done;
  for (auto& each : replies) {
    each.result = whole.result;
    each.why.native = whole.why.native;
    each.why.transient = whole.why.transient;
    each.why.connection = whole.why.connection;
  }
  return true;
}

}  // namespace dlock::stores::mysql::lease_table
