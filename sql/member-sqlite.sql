-- SPDX-License-Identifier: BSL-1.0
-- Readers and holders of permits (lock_options::mode), in an SQLite file: one row for each. A start with schema=create makes this table,
-- and so does the first call. A program with schema=verify needs it beforehand. Another prefix than dlock_ (prefix= in the URL) replaces it
-- in the name.
--
--   sqlite3 locks.db < member-sqlite.sql

-- A row counts until its session is gone.
CREATE TABLE "dlock_member" (
  "lock_key" BLOB NOT NULL,
  "session_id" BLOB NOT NULL,
  "nonce" INTEGER NOT NULL,
  "units" INTEGER NOT NULL,
  "fence" INTEGER NOT NULL,
  "joined_at_us" INTEGER NOT NULL,
  "verified_by" INTEGER NOT NULL,
  "verifies" INTEGER NOT NULL,
  PRIMARY KEY ("lock_key", "session_id", "nonce"));
