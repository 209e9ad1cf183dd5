-- SPDX-License-Identifier: BSL-1.0
-- What was done once (dlock::once), in an SQLite file: one row for each key. A start with schema=create makes this table, and so does the
-- first call. A program with schema=verify needs it beforehand. Another prefix than dlock_ (prefix= in the URL) replaces it in
-- the name.
--
--   sqlite3 locks.db < done-sqlite.sql

-- A row counts until valid_until_us (for ever if that is NULL), in microseconds since 1970. fence is that of the lease, or 0 if
-- the application's transaction has written it.
CREATE TABLE "dlock_done" (
  "lock_key" BLOB NOT NULL PRIMARY KEY,
  "done_at_us" INTEGER NOT NULL,
  "valid_until_us" INTEGER NULL,
  "fence" INTEGER NOT NULL,
  "done_by" TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS "dlock_done_until" ON "dlock_done" ("valid_until_us") WHERE "valid_until_us" IS NOT NULL;
