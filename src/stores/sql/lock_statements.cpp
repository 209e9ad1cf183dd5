// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/lock_statements.hpp"

#include <cstddef>

namespace dlock::stores::sql {
namespace {

// "Rule" means those of docs/protocol.md. Each changes rows by itself, in autocommit.
constexpr lock_template templates[] = {
    // Rule 1: free means that it has no holder, or that the row's own expiry has passed.
    {"take", R"(
UPDATE {rows}
SET {granted}
WHERE {row}
  AND {free}
  {only_primary}
{returning}
)"},

    // The key has no row yet. A unique index allows it once.
    {"insert", R"(
INSERT INTO {table}
{first}
{returning}
)"},

    // Rule 2: a plain read, which no lock makes wait.
    {"poll", R"(
SELECT {seen}
FROM {seen_in}
WHERE {seen_row}
)"},

    // Rule 2: about the holder and the grant that were seen, never about the present holder.
    {"take over", R"(
UPDATE {rows}
SET {taken_over}
WHERE {row}
  AND {as_seen}
  AND {dead}
{returning}
)"},

    // Rule 12, renewal::manual: never shortens, never revives.
    {"extend", R"(
UPDATE {rows}
SET {extended}
WHERE {row}
  AND {ours}
  AND {in_time}
)"},

    // Rule 6: names the grant, so it may be repeated until it is answered.
    {"release", R"(
{free_row}
WHERE {row}
  AND {ours}
)"},

    // Rule 6: names session and nonce: the attempt, whatever fence it got.
    {"cancel", R"(
{free_row}
WHERE {row}
  AND {owned}
)"},

    // Release and take in one. As the release it names the grant, so nobody else can have had the key between.
    {"pass on", R"(
UPDATE {rows}
SET {granted}
WHERE {row}
  AND {ours}
  {only_primary}
{returning}
)"},

    // The count, or what else it sets, always changes, so the row does: on a cluster only that makes the commit meet a
    // take-over elsewhere.
    {"verify", R"(
UPDATE {rows}
SET {verified}
WHERE {row}
  AND {ours}
)"},

    // Of a grant whose reply did not contain it.
    {"read a fence", R"(
SELECT {fence}
FROM {table}
WHERE {row}
  AND {owned}
)"},

    // Whether a transaction has the row locked: an error, if so.
    {"ask for a row", R"(
SELECT 1
FROM {table}
WHERE {row}
FOR UPDATE NOWAIT
)"},
};

constexpr named_part default_words[] = {
    {"rows", "{table}"},         {"free_row", "UPDATE {rows} SET {freed}"},
    {"seen_in", "{table}"},      {"seen_row", "{row}"},
    {"taken_over", "{granted}"}, {"only_primary", ""},
    {"returning", ""},
};

}  // namespace

const lock_template& template_of(lock_statement which) noexcept { return templates[static_cast<std::size_t>(which)]; }

dictionary::word_list common_words() noexcept { return default_words; }

}  // namespace dlock::stores::sql
