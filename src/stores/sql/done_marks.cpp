// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/done_marks.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace dlock::stores::sql {

namespace {

constexpr const char* find = R"(
SELECT {wall} - {done.done_at_us}, {done.valid_until_us} - {wall}, {done.fence}, {done.done_by}
FROM {done}
WHERE {done.lock_key} = :key
  AND {counts}
)";

// The row of the lock stays locked until the mark is committed, so a take-over comes before both or after both, and a
// later holder finds the mark.
constexpr const char* set = R"(
REPLACE INTO {done} ({columns})
SELECT l.{lock.lock_key}, {wall}, :valid + {wall}, l.{lock.fence}, :by
FROM {lock} l
WHERE l.{lock.lock_key} = :key
  AND l.{lock.session_id} = :session
  AND l.{lock.fence} = :fence
  {only_primary}
{lock_row}
)";

// On a cluster, which compares what two nodes have changed, and nothing that they have only read or locked. So the row
// of the lock is changed together with the mark, which must be there: as one that does not count.
constexpr const char* prepare_joint = R"(
{insert} {done} ({columns})
VALUES (:key, {wall}, 0, 0, :by)
)";

constexpr const char* set_joint = R"(
UPDATE {lock} l
JOIN {done} d ON d.{done.lock_key} = l.{lock.lock_key}
SET l.{lock.verifies} = l.{lock.verifies} + 1,
  d.{done.done_at_us} = {wall}, d.{done.valid_until_us} = :valid + {wall}, d.{done.fence} = l.{lock.fence},
  d.{done.done_by} = :by
WHERE l.{lock.lock_key} = :key
  AND l.{lock.session_id} = :session
  AND l.{lock.fence} = :fence
  {only_primary}
)";

constexpr const char* remove = R"(
DELETE FROM {done}
WHERE {done.lock_key} = :key
  AND {counts}
)";

constexpr const char* over = R"(
SELECT {done.lock_key}
FROM {done}
WHERE {done.valid_until_us} <= {wall}
LIMIT :most
)";

constexpr const char* remove_over = R"(
DELETE FROM {done}
WHERE {done.lock_key} = :key
  AND {done.valid_until_us} <= {wall}
)";

constexpr const char* insert_here = R"(
{insert} {done} ({columns})
SELECT :key, {wall}, :valid + {wall}, 0, :by
{nowhere}
WHERE 1 = 1)";

constexpr const char* counts_here = R"(
SELECT 1
FROM {done}
WHERE {done.lock_key} = :key
  AND {counts})";

constexpr const char* replace_here = R"(
UPDATE {done}
SET {done.done_at_us} = {wall}, {done.valid_until_us} = :valid + {wall}, {done.fence} = 0, {done.done_by} = :by
WHERE {done.lock_key} = :key
  AND {done.valid_until_us} <= {wall})";

constexpr const char* holds_here = "SELECT 1 FROM {done} WHERE {done.lock_key} = :key AND {done.fence} = 0";

sql_value time_or_null(const std::optional<microseconds>& time) {
  if (!time) return std::monostate{};
  return std::int64_t{time->count()};
}

}  // namespace

done_marks::done_marks(const table_names& names, const done_words& words, std::string_view file, bool creates,
                       const std::string& database)
    : names_(names),
      application_names_(names),
      words_(words),
      table_(file, names, "make the table of what was done"),
      creates_(creates) {
  names_.add_table("done", {"lock_key", "done_at_us", "valid_until_us", "fence", "done_by"});
  names_.add_text("columns", names_.expand("{done.lock_key}, {done.done_at_us}, {done.valid_until_us}, {done.fence}, "
                                           "{done.done_by}"));
  names_.add_text("wall", names_.expand(words_.wall));
  names_.add_text("counts", names_.expand("({done.valid_until_us} IS NULL OR {done.valid_until_us} > {wall})"));
  names_.add_text("only_primary", std::string(words_.only_primary));
  names_.add_text("lock_row", std::string(words_.lock_row));
  names_.add_text("insert", std::string(words_.insert));
  names_.add_text("nowhere", std::string(words_.nowhere));
  application_names_ = names_;
  application_names_.add_text("done", database + names_.quoted_table("done"));
}

std::string done_marks::text(const char* source) const { return in_one_line(names_.expand(source)); }

template <class Run>
reply done_marks::with_table(sql_connection& on, Run run) {
  auto answer = run();
  if (answer.result == outcome::yes || answer.result == outcome::no) used_.store(true, std::memory_order_relaxed);
  if (answer.result != outcome::failed || !optional_table::lacks(answer.why)) return answer;
  if (fault why; creates_ && !may_wait(why)) {
    if (words_.creates_inside) return {.result = outcome::absent};
    return {.why = std::move(why)};
  }
  if (creates_) {
    const auto made = table_.make(on);
    if (made.result == outcome::yes || made.result == outcome::no) {
      answer = run();
      answer.statements += made.statements + 1;
      return answer;
    }
    answer.why = made.why;
  }
  answer.why.text +=
      fmt::format(": make the table {} by the statement that dlock schema prints", names_.expand("{done}"));
  answer.why.missing = false;
  return answer;
}

reply done_marks::find_mark(connection& connection, std::string_view key, done_mark& found) noexcept {
  return attempt(connection, "find a mark", [&](sql_connection& on) {
    sql_rows rows;
    auto answer = with_table(on, [&] {
      return on.read({std::string(synced(on)) + text(find), "find a mark"}, {{"key", sql_bytes{key}}}, rows);
    });
    if (answer.result != outcome::yes) return answer;  // absent: nor is there a table
    if (rows.empty()) {
      answer.result = outcome::absent;
      return answer;
    }
    const auto& row = rows.front();
    found = {.since = row.time(0), .fence = row.natural(2), .by = std::string(row.text(3))};
    if (!row.null(1)) found.remaining = row.time(1);
    return answer;
  });
}

reply done_marks::set_mark(connection& connection, const request& grant, std::optional<microseconds> valid,
                           std::string_view by) noexcept {
  return attempt(connection, "set a mark", [&](sql_connection& on) -> reply {
    if (fault why; !may_wait(why)) return {.why = std::move(why)};
    const std::string first(synced(on));
    const bool joint = !first.empty();
    return with_table(on, [&] {
      if (joint) {
        auto prepared =
            on.change({text(prepare_joint), "set a mark"}, {{"by", by}, {"key", sql_bytes{grant.resource}}});
        if (prepared.result != outcome::yes && prepared.result != outcome::no) return prepared;
      }
      auto answer =
          on.change({first + text(joint ? set_joint : set), "set a mark"}, {{"valid", time_or_null(valid)},
                                                                            {"by", by},
                                                                            {"key", sql_bytes{grant.resource}},
                                                                            {"session", grant.session},
                                                                            {"fence", grant.fence}});
      answer.statements += joint ? 1 : 0;
      return answer;
    });
  });
}

reply done_marks::delete_mark(connection& connection, std::string_view key) noexcept {
  return attempt(connection, "delete a mark", [&](sql_connection& on) -> reply {
    if (fault why; !may_wait(why)) return {.why = std::move(why)};
    return with_table(on, [&] { return on.change({text(remove), "delete a mark"}, {{"key", sql_bytes{key}}}); });
  });
}

void done_marks::make(sql_connection& on) {
  if (!creates_) return;
  sql_rows rows;
  const auto found =
      on.read({text("SELECT 1 FROM {done} WHERE 1 = 0"), "look for the table of what was done"}, {}, rows);
  if (found.result == outcome::failed && optional_table::lacks(found.why)) table_.make(on);
}

reply done_marks::clean(sql_connection& on, std::size_t limit) {
  sql_rows rows;
  auto answer = on.read({text(over), "clean up"}, {{"most", std::uint64_t{limit}}}, rows);
  if (answer.result == outcome::failed && optional_table::unused(answer.why)) return {.result = outcome::yes};
  if (answer.result != outcome::yes) return answer;
  std::uint64_t gone = 0;
  auto body = [&] {
    for (const auto& row : rows) {
      auto removed = on.change({text(remove_over), "clean up"}, {{"key", sql_bytes{row.text(0)}}});
      if (removed.result != outcome::yes && removed.result != outcome::no) return removed;
      gone += removed.result == outcome::yes ? 1 : 0;
    }
    return reply{.result = outcome::yes};
  };
  if (!rows.empty()) answer = on.transact(body_ref(body));
  answer.fence = gone;
  answer.more = gone >= limit;
  return answer;
}

done_statements done_marks::for_transaction(std::string_view key, std::optional<microseconds> valid,
                                            std::string_view by, std::string_view here) const {
  const auto made = [&](const char* source, std::string_view end = {}) {
    std::string written = in_one_line(application_names_.expand(source)) + std::string(here);
    if (!end.empty()) written += fmt::format(" {}", end);
    std::vector<std::pair<std::string_view, std::string>> values{
        {"key", literal(sql_bytes{key})}, {"valid", literal(time_or_null(valid))}, {"by", literal(by)}};
    if (const auto time = wall()) values.emplace_back("wall", std::to_string(*time));
    std::vector<named_part> used;
    for (const auto& [name, value] : values) {
      if (written.find(fmt::format(":{}", name)) != std::string::npos) used.push_back({name, value});
    }
    return write_values(written, used);
  };
  const bool makes = words_.creates_inside && creates_ && !used_.load(std::memory_order_relaxed);
  return {.create = makes ? table_.statements() : std::vector<std::string>(),
          .insert = made(insert_here),
          .counts = made(counts_here, words_.share_row),
          .replace = made(replace_here),
          .holds = made(holds_here)};
}

}  // namespace dlock::stores::sql
