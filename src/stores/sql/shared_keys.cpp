// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/shared_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "dlock/store_interface/closing_bell.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/schema.hpp"

namespace dlock::stores::sql {

namespace {

// No session has one of these ids. A row with one of them never expires, so that a statement that knows nothing of
// members finds the key held.
constexpr id128 open_id{{'d', 'l', 'o', 'c', 'k', ':', 'o', 'p', 'e', 'n', ':', 's', 'h', 'a', 'r', 'e'}};
constexpr id128 closed_id{{'d', 'l', 'o', 'c', 'k', ':', 'c', 'l', 'o', 's', 'e', 'd', ':', 'n', 'o', 'w'}};
constexpr std::string_view never = "250000000000000000";  // of microseconds: in the year 9892

constexpr named_part member_texts[] = {
    {"columns",
     "{member.lock_key}, {member.session_id}, {member.nonce}, {member.units}, {member.fence}, {member.joined_at_us}, "
     "{member.verified_by}, {member.verifies}"},
    {"shared",
     "{lock.session_id} = {open_id}, {lock.nonce} = 0, {lock.acquired_at_us} = {now}, "
     "{lock.expires_at_us} = {never}{unverified}"},
    {"gone", "NOT EXISTS (SELECT 1 FROM {session} s WHERE s.{session.id} = :holder)"},
    {"empty", "NOT EXISTS (SELECT 1 FROM {member} m WHERE m.{member.lock_key} = :key)"},
    {"own", "{member.lock_key} = :key AND {member.session_id} = :session AND {member.nonce} = :nonce"},
    {"mine", "{own} AND {member.fence} = :fence"},
    {"as_closed", "{lock.session_id} = {closed_id} AND {lock.fence} = :seen_fence AND {lock.verifies} = :closing"},
};

// The row of the lock is locked first, and until the member is committed, so a caller that closes the key comes before
// both or after both.
constexpr const char* join_reader = R"(
INSERT INTO {member} ({columns})
SELECT l.{lock.lock_key}, :session, :nonce, :units, {same_fence}, {now}, 0, 0
FROM {lock} l
WHERE l.{lock.lock_key} = :key
  AND l.{lock.session_id} = {open_id}
  {only_primary}
{share_row}
{returning}
)";

// Locks the row of the lock, and then reads the members by a locking read, which sees all that were committed before. A
// plain read could be older than the row lock. The sub-query needs a value of that row, so it comes after its lock. It
// locks the members shared, because transactions of the application that have verified one keep it locked so.
constexpr const char* join_permits = R"(
INSERT INTO {member} ({columns})
SELECT l.{lock.lock_key}, :session, :nonce, :units, {same_fence}, {now}, 0, 0
FROM {lock} l
WHERE l.{lock.lock_key} = :key
  AND l.{lock.session_id} = {open_id}
  {only_primary}
  AND (SELECT COALESCE(SUM(m.{member.units}), 0)
       FROM {member} m
       WHERE m.{member.lock_key} = l.{lock.lock_key}
       {share_row}) + :units <= :permits
{lock_row}
{returning}
)";

// The row of the key stays held, and so keeps all others out, until the statement after this one opens it.
constexpr const char* join_own = R"(
INSERT INTO {member} ({columns})
SELECT l.{lock.lock_key}, :session, :nonce, :units, {same_fence}, {now}, 0, 0
FROM {lock} l
WHERE l.{lock.lock_key} = :key
  AND l.{lock.session_id} = :session
  AND l.{lock.fence} = :fence
  {only_primary}
{lock_row}
{returning}
)";

constexpr const char* open_own = R"(
UPDATE {lock}
SET {shared}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
  {only_primary}
)";

constexpr const char* leave = R"(
DELETE FROM {member}
WHERE {own}
)";

constexpr const char* leave_alone = R"(
DELETE FROM {member}
WHERE {own}
  AND {nobody_waits}
)";

constexpr const char* leave_and_find_waiter = R"(
DELETE FROM {member}
WHERE {own}
  AND {finds_waiter}
)";

constexpr const char* remove_dead = R"(
DELETE FROM {member}
WHERE {member.lock_key} = :key
  AND {member.session_id} = :holder
  AND {gone}
)";

// Fails if a transaction of the application has a member locked.
constexpr const char* ask_for_dead = R"(
SELECT 1
FROM {member}
WHERE {member.lock_key} = :key
  AND {member.session_id} = :holder
FOR UPDATE NOWAIT
)";

constexpr const char* open_free = R"(
UPDATE {lock}
SET {shared}
WHERE {lock.lock_key} = :key
  AND ({lock.session_id} IS NULL
       OR {lock.expires_at_us} <= {now}
       OR ({lock.session_id} = {closed_id} AND {lock.acquired_at_us} <= {now} - {closed_for}))
  {only_primary}
)";

// Rule 2: as a take-over.
constexpr const char* open_dead = R"(
UPDATE {lock}
SET {shared}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :holder
  AND {lock.fence} = :seen_fence
  AND ({lock.expires_at_us} <= {now} OR ({lock.expires_at_us} IS NULL AND {gone}))
)";

// Rule 11: above the floor.
constexpr const char* insert_shared = R"(
INSERT INTO {lock} (
  {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence},
  {lock.acquired_at_us}, {lock.expires_at_us}, {lock.verified_by}, {lock.verifies})
SELECT :key, {open_id}, 0, {first_fence}, {now}, {never}, 0, 0
FROM {floor}
WHERE {floor.id} = 1
{lock_floor}
{returning}
)";

// With the fence, `verifies` numbers the closings: it only grows while the row exists. `nonce` and `verified_by` name
// the last two callers that said so and have not given up; 0: none. In MySQL the order of the assignments counts.
constexpr const char* close_key = R"(
UPDATE {lock}
SET
  {lock.verified_by} = CASE
    WHEN {lock.session_id} = {open_id} THEN 0
    WHEN :closer IN (0, {lock.nonce}) THEN {lock.verified_by}
    ELSE {lock.nonce}
  END,
  {lock.nonce} = CASE WHEN {lock.session_id} = {open_id} OR :closer <> 0 THEN :closer ELSE {lock.nonce} END,
  {lock.verifies} = {lock.verifies} + CASE {lock.session_id} WHEN {open_id} THEN 1 ELSE 0 END,
  {lock.acquired_at_us} = {now},
  {lock.session_id} = {closed_id}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} IN ({open_id}, {closed_id})
  {only_primary}
)";

// A caller gives up. The key stays closed for the others. In MySQL the second CASE sees the new nonce.
constexpr const char* open_closed = R"(
UPDATE {lock}
SET
  {lock.session_id} = CASE
    WHEN {lock.nonce} IN (0, :closer) AND {lock.verified_by} IN (0, :closer) THEN {open_id}
    ELSE {closed_id}
  END,
  {lock.nonce} = CASE {lock.nonce} WHEN :closer THEN {lock.verified_by} ELSE {lock.nonce} END,
  {lock.verified_by} = CASE
    WHEN {lock.nonce} = :closer OR {lock.verified_by} IN (:closer, {lock.nonce}) THEN 0
    ELSE {lock.verified_by}
  END
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = {closed_id}
)";

// A read of the row and of its members in one view has shown this closing, and no members. Since then none can have
// come.
constexpr const char* take_if_closed = R"(
UPDATE {lock}
SET
  {lock.session_id} = :session, {lock.nonce} = :nonce, {lock.fence} = {next_fence},
  {lock.acquired_at_us} = {now}, {lock.expires_at_us} = :own_ttl + {now}{unverified}
WHERE {lock.lock_key} = :key
  AND {as_closed}
  AND {empty}
  {only_primary}
{returning}
)";

constexpr const char* free_closed = R"(
UPDATE {lock}
SET {lock.session_id} = NULL, {lock.expires_at_us} = NULL
WHERE {lock.lock_key} = :key
  AND {as_closed}
  AND {empty}
)";

// One view of the row and of its members; of these the one whose session ends first, where one without a session comes
// before all others.
constexpr const char* key_and_first = R"(
SELECT
  l.{lock.session_id}, l.{lock.fence}, l.{lock.verifies}, {now} - l.{lock.acquired_at_us},
  COALESCE((SELECT SUM(c.{member.units}) FROM {member} c WHERE c.{member.lock_key} = l.{lock.lock_key}), 0),
  m.{member.session_id}, s.{session.id} IS NULL, COALESCE(s.{session.expires_at_us}, 0) - {now},
  COALESCE(s.{session.host}, ''), COALESCE(s.{session.pid}, 0), COALESCE(s.{session.label}, '')
FROM {lock} l
LEFT JOIN {member} m ON m.{member.lock_key} = l.{lock.lock_key}
LEFT JOIN {session} s ON s.{session.id} = m.{member.session_id}
WHERE l.{lock.lock_key} = :key
ORDER BY s.{session.expires_at_us}
LIMIT 1
)";

constexpr const char* members_of = R"(
SELECT
  m.{member.session_id}, m.{member.fence}, {now} - m.{member.joined_at_us}, COALESCE(s.{session.expires_at_us}, {now}) - {now},
  COALESCE(s.{session.revoked}, 0), COALESCE(s.{session.host}, ''), COALESCE(s.{session.pid}, 0),
  COALESCE(s.{session.label}, '')
FROM {member} m
LEFT JOIN {session} s ON s.{session.id} = m.{member.session_id}
WHERE m.{member.lock_key} = :key
ORDER BY m.{member.joined_at_us}
)";

constexpr const char* no_member = "SELECT 1 FROM {member} WHERE 1 = 0";

constexpr const char* revoke_session = R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE {session.id} = :member
)";

constexpr const char* dead_members = R"(
SELECT m.{member.lock_key}, m.{member.session_id}
FROM {member} m
LEFT JOIN {session} s ON s.{session.id} = m.{member.session_id}
WHERE s.{session.id} IS NULL
LIMIT :most
)";

constexpr const char* any_shared = R"(
SELECT 1
FROM {lock}
WHERE {lock.session_id} IN ({open_id}, {closed_id})
LIMIT 1
)";

constexpr const char* without_members = R"(
SELECT COUNT(*)
FROM {lock} l
WHERE l.{lock.session_id} IN ({open_id}, {closed_id})
  AND NOT EXISTS (SELECT 1 FROM {member} m WHERE m.{member.lock_key} = l.{lock.lock_key})
)";

constexpr const char* next_keys = R"(
SELECT
  l.{lock.lock_key}, l.{lock.session_id}, {now} - l.{lock.acquired_at_us},
  EXISTS (SELECT 1 FROM {member} m WHERE m.{member.lock_key} = l.{lock.lock_key})
FROM {lock} l
WHERE l.{lock.lock_key} > :after
ORDER BY l.{lock.lock_key}
LIMIT :most
)";

constexpr const char* member_seen = "SELECT 1 FROM {member} WHERE {mine}";

/// How many rows of the lock table one step of clean-up reads.
constexpr std::uint64_t keys_in_step = 1000;

std::string literal(const id128& id) { return fmt::format("X'{}'", id.hex()); }

bool is_there(const fault& why) noexcept {
  constexpr int duplicate_key = 1062;
  return why.native == duplicate_key || why.text.find("UNIQUE constraint") != std::string::npos;
}

bool answered(const reply& answer) noexcept { return answer.result == outcome::yes || answer.result == outcome::no; }

/// The answer to several statements of one verb.
reply after(unsigned before, reply answer) {
  answer.statements += before;
  return answer;
}

}  // namespace

/// A key and the member whose session ends first.
struct shared_keys::state {
  membership shared = membership::none;
  std::uint64_t fence = 0;
  std::uint64_t closing = 0;
  microseconds since{0};  ///< closed: when that was said last
  std::uint64_t units = 0;
  id128 member{};  ///< zero if there is none
  bool gone = false;
  std::int64_t remaining = 0;
  std::string who{};
};

shared_keys::shared_keys(const table_names& names, const member_words& words, std::string_view file, bool creates,
                         const std::string& database)
    : names_(names), table_(file, names, "make the table of members"), creates_(creates) {
  names_.add_table("member",
                   {"lock_key", "session_id", "nonce", "units", "fence", "joined_at_us", "verified_by", "verifies"});
  names_.add_text("open_id", literal(open_id));
  names_.add_text("closed_id", literal(closed_id));
  names_.add_text("never", std::string(never));
  names_.add_text("closed_for", std::to_string(closed_for.count()));
  for (const auto& [name, word] : {named_part{"same_fence", words.same_fence},
                                   {"lock_row", words.lock_row},
                                   {"share_row", words.share_row},
                                   {"nobody_waits", words.nobody_waits},
                                   {"finds_waiter", words.finds_waiter}}) {
    names_.add_text(std::string(name), names_.expand(word));
  }
  for (const auto& word : member_texts) names_.add_text(std::string(word.name), names_.expand(word.text));
  auto in_application = names_;
  in_application.add_text("member", database + names_.quoted_table("member"));
  verification_ = in_one_line(in_application.expand(words.verify));
  end_of_verification_ = in_application.expand("{share_row}");
  if (!end_of_verification_.empty()) end_of_verification_.insert(0, " ");
  sees_ = in_application.expand(member_seen);
}

bool shared_keys::is_shared(const id128& session) noexcept { return session == open_id || session == closed_id; }

/// A statement, and what it was made of: constants, which are compared by their addresses.
struct shared_keys::known_text {
  const char* source;
  const char* doing;
  row_wait if_locked;
  sql_text text;
};

shared_keys::~shared_keys() = default;

const sql_text& shared_keys::text(const char* source, const char* doing, row_wait if_locked) const {
  const base::lock_guard lock(mutex_);
  const auto found = std::find_if(texts_.begin(), texts_.end(), [&](const auto& each) {
    return each->source == source && each->doing == doing && each->if_locked == if_locked;
  });
  if (found != texts_.end()) return (*found)->text;
  // Those that each member sends, and each caller that waits for them.
  static constexpr std::array often{join_reader, join_permits, leave,          leave_alone,  leave_and_find_waiter,
                                    open_free,   close_key,    take_if_closed, key_and_first};
  const bool kept = if_locked == row_wait::accept && std::find(often.begin(), often.end(), source) != often.end();
  texts_.push_back(std::make_unique<const known_text>(
      known_text{source,
                 doing,
                 if_locked,
                 {.sql = in_one_line(names_.expand(source)), .doing = doing, .if_locked = if_locked, .kept = kept}}));
  return texts_.back()->text;
}

/// Runs `statement`; if the table is missing, makes it and runs it again.
template <class Run>
reply shared_keys::with_table(sql_connection& on, Run run) {
  auto answer = run();
  if (answer.result != outcome::failed || !optional_table::lacks(answer.why)) return answer;
  if (creates_) {
    const auto made = table_.make(on);
    if (answered(made)) return after(answer.statements + made.statements, run());
    answer.why = made.why;
  }
  answer.why.text +=
      fmt::format(": shared locks and permits need the table {}, by the statement that dlock schema prints",
                  names_.expand("{member}"));
  answer.why.transient = answer.why.missing = false;
  return answer;
}

// ---- the verbs ------------------------------------------------------------------------------------------------------

/// Each waits for locked rows, for a second at most: other joins lock them, for a moment, and a caller that closes a
/// key must have its turn among them.
reply shared_keys::execute(sql_connection& on, const request& asked) {
  const sql_bytes key{asked.resource};
  used_.store(true, std::memory_order_relaxed);
  switch (asked.action) {
    case verb::take: return asked.units != 0 ? with_table(on, [&] { return join(on, asked); }) : take_closed(on, asked);
    case verb::insert: return with_table(on, [&] { return insert_open(on, asked); });
    case verb::take_over: return with_table(on, [&] { return make_open(on, asked); });
    case verb::release:
    case verb::cancel:
      return with_table(on, [&] {
        return on.change(text(leave, "leave"), {{"key", key}, {"session", asked.session}, {"nonce", asked.nonce}});
      });
    case verb::pass_on: return with_table(on, [&] { return downgrade(on, asked); });
    case verb::close: return close(on, asked);
    case verb::open: return on.change(text(open_closed, "open"), {{"key", key}, {"closer", asked.nonce}});
    default: break;
  }
  return {.why = {.text = "no such verb for shared locks"}};
}

reply shared_keys::leave_if_nobody_waits(sql_connection& on, const request& asked, const id128& own) {
  used_.store(true, std::memory_order_relaxed);
  return on.change(
      text(leave_alone, "leave"),
      {{"key", sql_bytes{asked.resource}}, {"session", asked.session}, {"nonce", asked.nonce}, {"wake_id", own}});
}

reply shared_keys::leave_and_find(sql_connection& on, const request& asked, const id128& own) {
  used_.store(true, std::memory_order_relaxed);
  return on.change(text(leave_and_find_waiter, "leave"), {{"key", sql_bytes{asked.resource}},
                                                          {"session", asked.session},
                                                          {"nonce", asked.nonce},
                                                          {"wake_id", own},
                                                          {"bell", sql_bytes{closing_bell(asked.resource).view()}}});
}

/// A key that the last poll has shown in another state than open probably has to be opened first.
reply shared_keys::join(sql_connection& on, const request& asked) {
  const sql_bytes key{asked.resource};
  const std::uint64_t units = asked.units, permits = asked.permits;
  const auto ask = [&] {
    auto answer = permits == 0
                      ? on.change(text(join_reader, "join"),
                                  {{"key", key}, {"session", asked.session}, {"nonce", asked.nonce}, {"units", units}})
                      : on.change(text(join_permits, "join"), {{"key", key},
                                                               {"session", asked.session},
                                                               {"nonce", asked.nonce},
                                                               {"units", units},
                                                               {"permits", permits}});
    // A proxy has sent it twice. Nobody else uses that nonce.
    if (is_there(answer.why)) answer.result = outcome::unknown;
    return answer;
  };
  const auto open_first = [&] {
    const auto opened = on.change(text(open_free, "share"), {{"key", key}});
    return answered(opened) ? after(opened.statements, ask()) : opened;
  };
  if (asked.action == verb::take && asked.expected != nullptr && asked.expected->shared != membership::open)
    return open_first();
  const auto answer = ask();
  // After a poll the key may only have to be opened.
  if (answer.result != outcome::no || !asked.polled || asked.action != verb::take) return answer;
  return after(answer.statements, open_first());
}

/// Makes the exclusive holder a member. Others find the key held until it is open, and then with that member.
reply shared_keys::downgrade(sql_connection& on, const request& asked) {
  const sql_bytes key{asked.resource};
  const std::uint64_t units = asked.units;
  auto joined = on.change(
      text(join_own, "downgrade"),
      {{"key", key}, {"session", asked.session}, {"nonce", asked.nonce}, {"units", units}, {"fence", asked.fence}});
  if (is_there(joined.why)) joined.result = outcome::unknown;  // as in join()
  if (joined.result != outcome::yes) return joined;
  auto opened = after(joined.statements, on.change(text(open_own, "downgrade"),
                                                   {{"key", key}, {"session", asked.session}, {"fence", asked.fence}}));
  opened.fence = joined.fence;
  if (opened.result == outcome::yes || opened.result == outcome::unknown) return opened;
  const auto left =
      on.change(text(leave, "downgrade"), {{"key", key}, {"session", asked.session}, {"nonce", asked.nonce}});
  opened.statements += left.statements;
  if (!answered(left)) opened.result = outcome::unknown;
  return opened;
}

/// No key is shared without the table.
reply shared_keys::look_for_table(sql_connection& on) {
  sql_rows rows;
  return on.read(text(no_member, "look for the table of members"), {}, rows);
}

void shared_keys::make(sql_connection& on) {
  if (creates_) with_table(on, [&] { return look_for_table(on); });
}

reply shared_keys::insert_open(sql_connection& on, const request& asked) {
  const auto found = look_for_table(on);
  if (found.result != outcome::yes) return found;
  const auto made = on.change(text(insert_shared, "share"), {{"key", sql_bytes{asked.resource}}});
  if (is_there(made.why)) return {.result = outcome::no};
  if (made.result != outcome::yes) return made;
  return after(found.statements + made.statements, join(on, asked));
}

/// Removes the members of a session that is gone. A transaction of the application that has verified one keeps it: then
/// the reply says that the row is locked.
reply shared_keys::remove(sql_connection& on, std::string_view key, const id128& dead) {
  constexpr const char* doing = "remove dead members";
  const std::vector<sql_parameter> named{{"key", sql_bytes{key}}, {"holder", dead}};
  unsigned before = 0;
  if (on.locks() == row_locks::waited_for) {
    sql_rows rows;
    auto asked = on.read(text(ask_for_dead, doing), named, rows);
    if (asked.result != outcome::yes) return asked;
    before = asked.statements;
  }
  return after(before, on.change(text(remove_dead, doing, row_wait::avoid), named));
}

/// Removes members whose session is gone, or opens the key of a dead exclusive holder.
reply shared_keys::make_open(sql_connection& on, const request& asked) {
  const sql_bytes key{asked.resource};
  if (asked.expected->shared != membership::none) {
    auto removed = remove(on, asked.resource, asked.expected->holder);
    if (removed.result == outcome::yes) removed.result = outcome::no;  // nothing is granted
    removed.fence = 0;
    return removed;
  }
  const auto found = look_for_table(on);
  if (found.result != outcome::yes) return found;
  const auto opened =
      on.change(text(open_dead, "take over"),
                {{"key", key}, {"holder", asked.expected->holder}, {"seen_fence", asked.expected->fence}});
  if (opened.result != outcome::yes) return opened;
  return after(found.statements + opened.statements, join(on, asked));
}

/// Also shows the members, as a poll does.
reply shared_keys::close(sql_connection& on, const request& asked) {
  auto closed = on.change(text(close_key, "close"), {{"key", sql_bytes{asked.resource}}, {"closer", asked.nonce}});
  closed.fence = 0;
  if (closed.result != outcome::yes) return closed;
  reply shown{.result = outcome::yes, .statements = 0};
  look(on, asked, shown);
  closed.statements += shown.statements;
  if (shown.result == outcome::yes) closed.holder = std::move(shown.holder);
  return closed;
}

reply shared_keys::take_closed(sql_connection& on, const request& asked) {
  const auto own_ttl = asked.kind == lease_kind::session ? sql_value() : sql_value(std::int64_t{asked.ttl.count()});
  return on.change(text(take_if_closed, "take"), {{"key", sql_bytes{asked.resource}},
                                                  {"session", asked.session},
                                                  {"nonce", asked.nonce},
                                                  {"own_ttl", own_ttl},
                                                  {"seen_fence", asked.expected->fence},
                                                  {"closing", asked.expected->closing}});
}

reply shared_keys::read_state(sql_connection& on, std::string_view key, state& found) {
  sql_rows rows;
  auto answer = on.read(text(key_and_first, "poll members"), {{"key", sql_bytes{key}}}, rows);
  if (answer.result != outcome::yes || rows.empty()) return answer;
  const auto& row = rows.front();
  const auto session = row.id(0);
  found.shared = session == open_id ? membership::open : session == closed_id ? membership::closed : membership::none;
  found.fence = row.natural(1);
  found.closing = row.natural(2);
  found.since = row.time(3);
  found.units = row.natural(4);
  found.member = row.id(5);
  found.gone = row.truth(6);
  found.remaining = row.integer(7);
  if (!found.gone) found.who = detail::describe_process(row.text(8), row.integer(9), row.text(10));
  return answer;
}

reply shared_keys::read_sharing(sql_connection& on, std::string_view key, sharing& found) {
  state now;
  auto answer = read_state(on, key, now);
  found = {.shared = now.shared, .has_members = bool{now.member}};
  return answer;
}

void shared_keys::look(sql_connection& on, const request& asked, reply& polled) {
  used_.store(true, std::memory_order_relaxed);
  // A caller that waits for the exclusive lock closes the key, and that shows the members.
  if (asked.action == verb::poll && asked.units == 0 && asked.wake && polled.holder.holder == open_id) {
    polled.holder = {.fence = polled.holder.fence, .shared = membership::open};
    return;
  }
  state now;
  const auto read = read_state(on, asked.resource, now);
  polled.statements += read.statements;
  if (read.result != outcome::yes) {
    polled.result = read.result;
    polled.why = read.why;
    return;
  }
  auto& holder = polled.holder = {.fence = now.fence};
  if (now.shared == membership::none) return;  // it was taken or freed since; a take shows that
  holder.shared = now.shared;
  holder.closing = now.closing;
  const bool closed = now.shared == membership::closed;
  holder.stale = closed && now.since >= closed_for / 3;
  if (asked.units != 0) {
    if (closed && now.since < closed_for) {
      holder.holder = closed_id;
      holder.remaining = closed_for - now.since;
      holder.who = "a caller that waits for the exclusive lock";
      return;
    }
    if (asked.permits == 0 || now.units + asked.units <= asked.permits) return;
  }
  if (!now.member) return;
  holder.holder = now.member;
  holder.kind = lease_kind::session;
  holder.gone = now.gone;
  holder.expired = now.gone || now.remaining <= 0;
  holder.remaining = microseconds{std::max<std::int64_t>(0, holder.expired ? 0 : now.remaining)};
  holder.who = std::move(now.who);
}

// ---- operators and clean-up -----------------------------------------------------------------------------------------

reply shared_keys::name_members(sql_connection& on, std::vector<holder_info>& all) {
  reply answer{.result = outcome::yes, .statements = 0};
  std::vector<holder_info> named;
  for (auto& each : all) {
    if (!is_shared(each.session)) {
      named.push_back(std::move(each));
      continue;
    }
    sql_rows rows;
    answer = on.read(text(members_of, "list members"), {{"key", sql_bytes{each.key}}}, rows);
    if (answer.result != outcome::yes) return answer;
    for (const auto& row : rows) {
      named.push_back({.key = each.key,
                       .session = row.id(0),
                       .fence = row.natural(1),
                       .host = std::string(row.text(5)),
                       .pid = row.integer(6),
                       .label = std::string(row.text(7)),
                       .kind = lease_kind::session,
                       .revoked = row.truth(4),
                       .since = row.time(2),
                       .remaining = row.time(3),
                       .dead = row.integer(3) <= 0,
                       .waiters = each.waiters});
    }
  }
  all = std::move(named);
  return answer;
}

reply shared_keys::revoke(sql_connection& on, std::string_view key) {
  sql_rows rows;
  auto answer = on.read(text(members_of, "revoke"), {{"key", sql_bytes{key}}}, rows);
  if (answer.result == outcome::failed && optional_table::lacks(answer.why)) return {.result = outcome::no};
  if (answer.result != outcome::yes) return answer;
  bool any = false;
  for (const auto& row : rows) {
    answer = on.change(text(revoke_session, "revoke"), {{"member", row.id(0)}});
    if (!answered(answer)) return answer;
    any = any || answer.result == outcome::yes;
  }
  return {.result = any ? outcome::yes : outcome::no};
}

reply shared_keys::free_idle(sql_connection& on, std::string_view key) {
  constexpr std::uint64_t no_caller = 0;
  auto answer =
      on.change(text(close_key, "clean up", row_wait::avoid), {{"key", sql_bytes{key}}, {"closer", no_caller}});
  if (answer.result != outcome::yes) return answer;
  state now;
  answer = read_state(on, key, now);
  if (answer.result != outcome::yes || now.shared != membership::closed) return answer;
  if (!now.member) {
    answer = on.change(text(free_closed, "clean up"),
                       {{"key", sql_bytes{key}}, {"seen_fence", now.fence}, {"closing", now.closing}});
    if (answer.result == outcome::yes) return answer;
  }
  return on.change(text(open_closed, "clean up"), {{"key", sql_bytes{key}}, {"closer", no_caller}});
}

/// Whether this program shares keys, or the first call has found that another one has. Such a program cleans them as
/// well, but dlock gc is none.
bool shared_keys::finds_use(sql_connection& on) {
  if (used_.load(std::memory_order_relaxed)) return true;
  if (looked_.exchange(true)) return false;
  sql_rows rows;
  if (on.read(text(any_shared, "clean up"), {}, rows).result != outcome::yes || rows.empty()) return false;
  used_.store(true, std::memory_order_relaxed);
  return true;
}

reply shared_keys::count_free(sql_connection& on, std::uint64_t& found) {
  sql_rows rows;
  auto answer = on.read(text(without_members, "count members"), {}, rows);
  if (answer.result == outcome::failed && optional_table::unused(answer.why)) return {.result = outcome::yes};
  if (answer.result == outcome::yes) found = rows.at(0).natural(0);
  return answer;
}

reply shared_keys::clean(sql_connection& on, microseconds idle, std::size_t limit) {
  sql_rows rows;
  auto answer = on.read(text(dead_members, "clean up"), {{"most", std::uint64_t{limit}}}, rows);
  // A program without the table, or without a right on it, has nothing to clean.
  if (answer.result == outcome::failed && optional_table::unused(answer.why)) return {.result = outcome::yes};
  if (answer.result != outcome::yes) return answer;
  std::uint64_t gone = 0;
  for (const auto& row : rows) {
    answer = remove(on, row.text(0), row.id(1));
    if (!answered(answer) && !answer.why.contended) return answer;
    gone += answer.result == outcome::yes ? 1 : 0;
  }
  bool more = rows.size() >= limit;
  // Reads the whole lock table again, which is not worth it where no key is shared.
  if (idle.count() > 0 && finds_use(on)) {
    std::string from;
    {
      const base::lock_guard lock(mutex_);
      from = cleaned_;
    }
    rows.clear();
    answer = on.read(text(next_keys, "clean up"), {{"after", sql_bytes{from}}, {"most", keys_in_step}}, rows);
    if (answer.result != outcome::yes) return answer;
    for (const auto& row : rows) {
      if (row.id(1) != open_id || row.truth(3) || row.time(2) < idle) continue;
      answer = free_idle(on, row.text(0));
      if (!answered(answer) && !answer.why.contended) return answer;
    }
    const base::lock_guard lock(mutex_);
    cleaned_ = rows.size() < keys_in_step ? std::string() : std::string(rows.back().text(0));
    more = more || !cleaned_.empty();
  }
  return {.result = outcome::yes, .fence = gone, .more = more};
}

}  // namespace dlock::stores::sql
