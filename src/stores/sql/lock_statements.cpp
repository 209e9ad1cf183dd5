// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/lock_statements.hpp"

#include <cstddef>

namespace dlock::stores::sql {
namespace {

// The rules are those of docs/protocol.md. Each statement is committed by itself.
constexpr lock_template templates[] = {
    // Rule 1: a key is free if it has no holder, or the row's own expiry has passed.
    {"take", R"(
UPDATE {rows}
SET {granted}
WHERE {row}
  AND {free}
  {only_primary}
{returning}
)"},

    // For a key without a row. A unique index lets only one insert succeed.
    {"insert", R"(
INSERT INTO {table}
{first}
{returning}
)"},

    // Rule 2: a plain read, which waits for no lock.
    {"poll", R"(
SELECT {seen}
FROM {seen_in}
WHERE {seen_row}
)"},

    // Rule 2: names the holder and the grant that were seen, never the present holder.
    {"take over", R"(
UPDATE {rows}
SET {taken_over}
WHERE {row}
  AND {as_seen}
  AND {dead}
{returning}
)"},

    // Rule 12, renewal::manual: never shortens a lease, never revives one.
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

    // Rule 6: names session and nonce, and so the attempt, whatever fence it got.
    {"cancel", R"(
{free_row}
WHERE {row}
  AND {owned}
)"},

    // Releases and takes in one statement. It names the old grant, so nobody else can have had the key in between.
    {"pass on", R"(
UPDATE {rows}
SET {granted}
WHERE {row}
  AND {ours}
  {only_primary}
{returning}
)"},

    // Sets a value that always changes, because on a cluster only a changed row makes the commit conflict with a
    // take-over on another node.
    {"verify", R"(
UPDATE {rows}
SET {verified}
WHERE {row}
  AND {ours}
)"},

    // For a grant whose reply did not contain its fence.
    {"read a fence", R"(
SELECT {fence}
FROM {table}
WHERE {row}
  AND {owned}
)"},

    // Fails if a transaction has the row locked.
    {"check a row's lock", R"(
SELECT 1
FROM {table}
WHERE {row}
FOR UPDATE NOWAIT
)"},

    // Tokens that the holder hands out by itself. The next grant, by any process, is above them.
    {"reserve", R"(
UPDATE {rows}
SET {reserved}
WHERE {row}
  AND {ours}
  {only_primary}
{returning}
)"},

    // Rule 6, and finds the first waiter.
    {"release", R"(
{free_row}
WHERE {row}
  AND {ours}
  AND {find_waiter}
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
