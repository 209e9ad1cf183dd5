// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/row_text.hpp"

#include <algorithm>
#include <stdexcept>

#include "stores/sql/lease_sql.hpp"

namespace dlock::stores::sql {
namespace {

// The rules are those of docs/protocol.md.

constexpr const char* sees = R"(
SELECT 1
FROM {table}
WHERE {row}
  AND {ours}
)";

// {row} includes the condition that the rows are free, because only its columns may be qualified by several tables.
constexpr const char* claim = R"(
UPDATE {table}
SET {granted}
WHERE {row}
)";

constexpr named_part shared_words[] = {
    // Rule 1: a kept grant writes NULL over an old expiry, which would free it.
    {"granted", "{owner} = {me}, {fence} = {next_fence_of_row}{raised_version}, {expires_at} = {expiry}"},
    {"raised_version", ""},
    {"free", "({owner} IS NULL OR {owner} = '' OR {expired})"},
    {"as_seen", "{owner} IN (:seen_owner, :seen_verified_owner) AND {fence} = :fence"},
    {"freed", "{owner} = {nobody}, {expires_at} = {freed_expiry}"},
    {"owned", "{owner} IN ({me}, {verified_me})"},
    {"ours", "{owned}"},
    {"extended", "{expires_at} = {greatest}({expires_at}, {expiry})"},
    // A cluster does not certify an update that changes nothing, so the owner's text alternates between its two forms.
    {"verified", "{owner} = {if}({owner} = {me}, {verified_me}, {me})"},
};

constexpr named_part own_fence_words[] = {
    {"raised_version", ", {version} = {version} + 1"},
    {"ours", "{owned} AND {fence} = {my_fence}"},
};

constexpr named_part by_column_words[] = {
    {"dead", "{expired}"},
};

constexpr named_part by_session_words[] = {
    {"freed_expiry", "NULL"},
    {"dead",
     "({expired} OR ({expires_at} IS NULL AND NOT EXISTS "
     "(SELECT 1 FROM {session} s WHERE s.{session.id} = :seen_session)))"},
};

// For another program's lock, which has no session, so that only its expiry ends it.
constexpr named_part foreign_words[] = {
    {"as_seen", "{owner} <> '' AND {fence} = :fence"},
    {"dead", "{expired}"},
};

}  // namespace

row_statement statement_for(const request& asked) noexcept {
  switch (asked.action) {
    case verb::take: return row_statement::take;
    case verb::insert:
    case verb::pass_on:
    case verb::close:
    case verb::open:
    case verb::reserve:
    case verb::poll: break;
    case verb::take_over:
      // Nothing shows whether another program is alive.
      return asked.expected->holder == foreign_owner ? row_statement::take_over_foreign : row_statement::take_over;
    case verb::extend: return row_statement::extend;
    case verb::release: return row_statement::release;
    case verb::cancel: return row_statement::cancel;
  }
  return row_statement::poll;
}

const char* name_of(row_statement which) noexcept {
  switch (which) {
    case row_statement::take: return "take a row";
    case row_statement::take_over:
    case row_statement::take_over_foreign: return "take over a row";
    case row_statement::extend: return "extend a row's lock";
    case row_statement::release:
    case row_statement::release_and_wake: return "release a row";
    case row_statement::cancel: return "cancel a row's lock";
    case row_statement::poll: return "poll a row";
    case row_statement::verify:
    case row_statement::sees: return "verify a row's lock";
    case row_statement::claim: break;
  }
  return "claim rows";
}

const char* source_of(row_statement which) noexcept {
  const auto of = [](lock_statement common) { return template_of(common).sql; };
  switch (which) {
    case row_statement::take: return of(lock_statement::take);
    case row_statement::take_over:
    case row_statement::take_over_foreign: return of(lock_statement::take_over);
    case row_statement::extend: return of(lock_statement::extend);
    case row_statement::release: return of(lock_statement::release);
    case row_statement::cancel: return of(lock_statement::cancel);
    case row_statement::poll: return of(lock_statement::poll);
    case row_statement::release_and_wake: return of(lock_statement::release_and_wake);
    case row_statement::verify: return of(lock_statement::verify);
    case row_statement::sees: return sees;
    case row_statement::claim: break;
  }
  return claim;
}

std::string qualifier(const row_table& table, char quote) {
  return quoted_name(bare_name(table.table, quote), quote) + ".";
}

row_table qualified(const row_table& table, std::string_view before) {
  auto full = table;
  for (auto* const column : {&full.owner, &full.expires_at, &full.fence, &full.version}) {
    if (!column->empty()) column->insert(0, before);
  }
  for (auto& column : full.id) column.insert(0, before);
  return full;
}

row_text::row_text(const row_table& table, const row_words& database, const table_names& names)
    : dictionary({by_column(table) ? database.by_column : database.by_session, database.all,
                  by_column(table) ? word_list(by_column_words) : by_session_words, shared_words, common_words()},
                 &names),
      ids_(table.id) {
  if (has_own_fence(table)) prefer(own_fence_words);
  set("table", table.table).set("owner", table.owner).set("expires_at", table.expires_at).set("fence", table.fence);
  set("version", table.version).set("nobody", table.owner_not_null ? "''" : "NULL");
}

std::string row_text::fill(row_statement which) const {
  if (which != row_statement::take_over_foreign) return fill(source_of(which));
  auto foreign = *this;
  foreign.prefer(foreign_words);
  return foreign.fill(source_of(which));
}

row_text& row_text::set_names() {
  std::string row;
  for (std::size_t i = 0; i != ids_.size(); ++i) {
    row += fmt::format("{}{} = :id{}", i == 0 ? "" : " AND ", ids_[i], i + 1);
  }
  return set("row", std::move(row)).set("me", ":owner").set("verified_me", ":verified_owner").set("my_fence", ":fence");
}

statement_text row_text::make(row_statement which, marker marker) const {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i != ids_.size(); ++i) ids.push_back(fmt::format("id{}", i + 1));
  std::vector<std::string_view> known(parameter_names.begin(), parameter_names.end());
  known.insert(known.end(), ids.begin(), ids.end());
  return find_parameters(name_of(which), fill(which), known, marker);
}

row_text& row_text::set_holder(const row_holder& who) {
  return set("me", "'" + who.text() + "'").set("verified_me", "'" + who.verified_text() + "'");
}

namespace {

/// The column's definition after its name in an ALTER TABLE of the file, which has one column in a line.
std::string_view type_of(std::string_view file, std::string_view column) {
  const auto name = file.find(column);
  if (name == std::string_view::npos) throw std::logic_error("a file of sql/ lacks the column " + std::string(column));
  auto type = file.substr(name + column.size() + 2);  // after the quotation mark and a blank
  type = type.substr(0, type.find('\n'));
  return type.substr(0, type.find_last_not_of(",;") + 1);
}

}  // namespace

std::vector<std::string> added_columns(const lock_column_files& files, const row_table& table) {
  const bool column = by_column(table);
  const auto own = column ? files.by_column : files.by_session;
  std::vector<std::string> all;
  // A program that has mapped the owner's column itself has decided whether it may be null.
  const auto as_declared = table.owner_not_null ? files.by_column : files.by_session;
  const auto declared = type_of(as_declared, "lock_owner");
  const auto type = type_of(own, "lock_owner");
  const auto end = [](std::string_view of) { return std::min(of.find("NOT NULL"), of.find("NULL")); };
  all.push_back(table.owner + ' ' + std::string(type.substr(0, end(type))) +
                std::string(declared.substr(end(declared))));
  all.push_back(table.expires_at + ' ' + std::string(type_of(own, column ? "lock_expire_time" : "lock_expires_at_us")));
  if (has_own_fence(table) || (table.version.empty() && !column))
    all.push_back(table.fence + ' ' + std::string(type_of(files.by_session, "lock_fence")));
  return all;
}

}  // namespace dlock::stores::sql
