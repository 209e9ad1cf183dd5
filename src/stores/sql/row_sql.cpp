// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/row_sql.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <variant>

namespace dlock::stores::sql {
namespace {

constexpr const char* holder = R"(
SELECT {before}{holder}
FROM {holder_in}
WHERE {row}
)";

constexpr const char* holders = R"(
SELECT {ids}, {holder}
FROM {holder_in}
WHERE COALESCE({owner}, '') <> ''
  AND ({free_from} IS NULL OR {remaining} > 0)
ORDER BY {ids}
LIMIT {limit}
)";

// The sub-query takes no lock, because the operator means whoever holds the row at this moment. An owner that another
// program, or one with other lock tables, has written is none of our sessions.
constexpr const char* revoke_source = R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE {session_name} = (
  SELECT {owner_of_session}
  FROM {table}
  WHERE {row}
    AND {expires_at} IS NULL
    AND {of_our_tables})
)";

constexpr const char* abandoned = R"(
({expires_at} IS NULL
 AND {of_our_tables}
 AND {session_gone})
)";

constexpr const char* state = R"(
SELECT {number}, {owner}, {free}, {fence}
FROM {table} {by_id_alone}
WHERE {any}
)";

/// For a statement whose reply does not contain the fence.
constexpr named_part counted_words[] = {{"next_fence_of_row", "{raised_fence}"}};

/// Joins text(index) of all elements, with `between` in between.
template <class Range, class Text>
std::string joined(const Range& all, std::string_view between, Text text) {
  std::string made;
  for (std::size_t i = 0; i != std::size(all); ++i) made.append(i == 0 ? "" : between).append(text(i));
  return made;
}

bool by_number(const row_id& row) noexcept {
  return row.values.size() == 1 && !std::holds_alternative<std::string>(row.values[0]);
}

}  // namespace

row_text row_sql::text(const row_table& table) const {
  row_text made(table, dialect_.words, names_);
  made.set("tables", tables().text());
  return made;
}

/// The table in a statement that shows a holder, beside other tables.
row_table row_sql::as_seen(const row_table& table) const {
  return dialect_.alias.empty() ? with_name(table) : qualified(table, fmt::format("{}.", dialect_.alias));
}

// ---- conditions -----------------------------------------------------------------------------------------------------

named_value row_sql::value_of(const row_id& row, std::size_t column) const {
  named_value made;
  made.value = std::visit([](const auto& value) -> verification::parameter { return value; }, row.values.at(column));
  return made;
}

std::string row_sql::literal_of_id(const row_id& row, std::size_t column) const {
  auto value = value_of(row, column);
  return value.literal.empty() ? dialect_.literal(value.value) : std::move(value.literal);
}

std::string row_sql::is_value(const row_id& row, std::size_t column, const std::string& name) const {
  return fmt::format("{} = {}", name, literal_of_id(row, column));
}

std::string row_sql::where(const row_id& row, const std::vector<std::string>& columns) const {
  return joined(row.values, " AND ", [&](std::size_t i) { return is_value(row, i, columns.at(i)); });
}

std::string row_sql::either(const std::vector<std::string>& conditions) const {
  return fmt::format("({})", fmt::join(conditions, " OR "));
}

/// "a IN (1, 2)"
std::string row_sql::in_list(std::span<const row_id* const> rows, const std::string& column) const {
  return fmt::format("{} IN ({})", column,
                     joined(rows, ", ", [&](std::size_t i) { return literal_of_id(*rows[i], 0); }));
}

/// Not (a, b) IN ((1, 2), ...), for which databases read the whole index or table.
std::string row_sql::one_by_one(std::span<const row_id* const> rows, const std::vector<std::string>& columns) const {
  std::vector<std::string> conditions;
  for (const auto* const row : rows) conditions.push_back(fmt::format("({})", where(*row, columns)));
  return either(conditions);
}

// Each text is compared separately, because the column decides which values are the same.
std::string row_sql::any_of(std::span<const request> requests, const std::vector<std::string>& columns) const {
  std::vector<const row_id*> rows;
  for (const auto& each : requests) rows.push_back(each.row);
  const bool numbers = std::all_of(rows.begin(), rows.end(), [](const row_id* row) { return by_number(*row); });
  return numbers ? in_list(rows, columns.at(0)) : one_by_one(rows, columns);
}

std::string row_sql::rows_by_id(const row_table& table, std::span<const row_id* const> rows) const {
  const auto columns = with_name(table).id;
  return columns.size() == 1 ? in_list(rows, columns[0]) : one_by_one(rows, columns);
}

// ---- one row --------------------------------------------------------------------------------------------------------

row_text row_sql::named(row_statement which, const row_table& table) const {
  const bool aliased = which == row_statement::poll && !dialect_.alias.empty();
  return text(aliased ? as_seen(table) : table).set_names();
}

statement_text row_sql::prepared(row_statement which, const row_table& table) const {
  return named(which, table).make(which, dialect_.marks);
}

statement_text row_sql::with_id(row_statement which, const row_id& row) const {
  auto made = named(which, *row.table);
  return made.set("row", where(row, made.ids())).make(which, dialect_.marks);
}

std::string row_sql::ask(const row_id& row) const {
  return text(*row.table)
      .set("row", rows_by_id(*row.table, std::array{&row}))
      .fill(template_of(lock_statement::ask_for_row).sql);
}

std::string row_sql::fence_of(const request& request) const {
  const auto& table = *request.row->table;
  return text(table)
      .set("row", where(*request.row, table.id))
      .set_holder(owner_of(request))
      .fill(template_of(lock_statement::granted_fence).sql);
}

// ---- for operators --------------------------------------------------------------------------------------------------

std::string row_sql::holder_of(const row_id& row, std::string_view before) const {
  auto made = text(as_seen(*row.table));
  return made.set("before", std::string(before)).set("row", where(row, made.ids())).fill(holder);
}

std::string row_sql::holders_in(const row_table& table, std::size_t limit) const {
  auto made = text(as_seen(table));
  return made.set("ids", fmt::format("{}", fmt::join(made.ids(), ", ")))
      .set("limit", std::to_string(limit))
      .fill(holders);
}

std::string row_sql::revoke(const row_id& row) const {
  return text(*row.table).set("row", where(row, row.table->id)).fill(revoke_source);
}

// ---- many rows of one table -----------------------------------------------------------------------------------------

// One SELECT for each row, because the column decides which values of an id are the same.
std::string row_sql::poll_all(std::span<const request> requests) const {
  return joined(requests, " UNION ALL ",
                [&](std::size_t i) { return holder_of(*requests[i].row, fmt::format("{}, ", i)); });
}

/// "CASE WHEN id = 1 THEN … WHEN id = 2 THEN … END". If two requests name the same row, the first one counts.
template <class Value>
std::string row_sql::by_row(std::span<const request> requests, const std::vector<std::string>& columns,
                            Value value) const {
  const auto one = [&](std::size_t i) {
    return fmt::format(" WHEN {} THEN {}", where(*requests[i].row, columns), value(i));
  };
  return "CASE" + joined(requests, "", one) + " END";
}

// Selects each row by its attempt, and for a release or an extension by its grant. Each branch names the primary key,
// so that the server reads no other row.
std::string row_sql::any_of_ours(std::span<const request> requests, const row_table& as) const {
  auto made = text(as);
  const auto one = [&](std::size_t i) {
    const auto& each = requests[i];
    return made.set("row", where(*each.row, as.id))
        .set_holder(owner_of(each))
        .set("my_fence", std::to_string(each.fence))
        .fill(each.action == verb::cancel ? "({row} AND {owned})" : "({row} AND {ours})");
  };
  return "(" + joined(requests, " OR ", one) + ")";
}

// As for one row, each row is judged by its own columns when it is locked. read_all() shows who was granted what,
// because the owner's text names the attempt.
std::string row_sql::change_all(std::span<const request> requests, bool skip) const {
  const auto& first = requests.front();
  const auto as = with_name(*first.row->table);
  auto change = text(as);
  change.prefer(counted_words);
  write_times(change, as, own_ttl(first));
  change.set("rows", rows_to_change(requests, as, skip));
  if (first.action == verb::take) {
    const auto me = [&](std::size_t i) { return "'" + owner_of(requests[i]).text() + "'"; };
    change.set("me", by_row(requests, as.id, me)).set("row", any_of(requests, as.id));
    return change.fill(row_statement::take);
  }
  change.set("any", any_of_ours(requests, as));
  return change.fill(first.action == verb::extend ? "UPDATE {rows} SET {extended} WHERE {any} AND {in_time}"
                                                  : "UPDATE {rows} SET {freed} WHERE {any}");
}

std::string row_sql::read_all(std::span<const request> requests) const {
  const auto& table = *requests.front().row->table;
  return text(table)
      .set("number", by_row(requests, table.id, [](std::size_t i) { return std::to_string(i); }))
      .set("any", any_of(requests, table.id))
      .set("by_id_alone", std::string(by_id_alone()))
      .fill(state);
}

// ---- for transactions of the application's --------------------------------------------------------------------------

verification row_sql::for_transaction(std::string_view text, std::vector<named_value> values) const {
  for (auto& each : values) {
    each.value = adapted(std::move(each.value));
    if (each.literal.empty()) each.literal = dialect_.literal(each.value);
  }
  return with_values(text, values);
}

verification row_sql::about(const request& grant, row_statement which) const {
  const auto& row = *grant.row;
  const auto& table = *row.table;
  const auto who = owner_of(grant);
  std::vector<named_value> values{{"owner", who.text()}, {"verified_owner", who.verified_text()}};
  for (std::size_t i = 0; i != row.values.size(); ++i) {
    values.push_back(value_of(row, i));
    values.back().name = fmt::format("id{}", i + 1);
  }
  if (has_own_fence(table)) values.push_back({"fence", grant.fence});
  auto named = text(table);
  set_application_words(named.set_names(), table);
  return for_transaction((which == row_statement::release ? prefix(table) : "") + named.fill(which), std::move(values));
}

verification row_sql::about_key(const request& grant, std::string_view text, std::vector<named_value> more) const {
  const auto& session = grant.session.bytes;
  more.push_back({"key", verification::bytes{std::string(grant.resource)}});
  more.push_back({"session", verification::bytes{std::string(session.begin(), session.end())}});
  more.push_back({"fence", grant.fence});
  return for_transaction(text, std::move(more));
}

std::string row_sql::free_rows(const row_table& table) const {
  auto made = text(with_name(table));
  write_times(made, table, microseconds{0});
  return made.fill("{free}");
}

std::string row_sql::abandoned_rows(const row_table& table) const {
  // A row whose expiry has passed is free.
  if (by_column(table)) return "FALSE";
  auto made = text(with_name(table));
  write_times(made, table, microseconds{0});
  return made.fill(abandoned);
}

std::string row_sql::claim(const claim_request& request) const {
  const auto& table = request.table;
  auto made = text(table);
  made.prefer(counted_words);
  set_application_words(made, table);
  write_times(made, table, request.own_ttl);
  return prefix(table) + made.set_holder({request.session, request.nonce, tables()})
                             .set("row", rows_by_id(table, request.rows) + " AND " + free_rows(table))
                             .fill(row_statement::claim);
}

}  // namespace dlock::stores::sql
