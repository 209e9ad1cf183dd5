-- SPDX-License-Identifier: BSL-1.0
-- The lock tables of dlock in an SQLite file, version 1. A first start with schema=create makes them by the CREATE TABLE statements
-- of this file, in this order, which are those that ODB's compiler writes from the mapped classes in odb/. For a new file, or one
-- that has none of them. Programs may run with schema=verify after it.
--
--   sqlite3 locks.db < schema-sqlite.sql
--
-- Another prefix than dlock_ (prefix= in the URL) replaces it in the names of the tables; the value 'dlock' stays.

PRAGMA journal_mode = WAL;

BEGIN IMMEDIATE;

-- Row 1: no fencing token at or below this is given to a new key. Rows 2 and 3 are about the boots of the host, and row 4
-- is a short id of these tables; the first program that opens the file makes them.
CREATE TABLE "dlock_floor" (
  "id" INTEGER NOT NULL PRIMARY KEY,
  "fence" INTEGER NOT NULL);

-- Who holds what: one row for each key that was locked lately.
CREATE TABLE "dlock_lock" (
  "lock_key" BLOB NOT NULL PRIMARY KEY,
  "session_id" BLOB NULL,
  "nonce" INTEGER NOT NULL,
  "fence" INTEGER NOT NULL,
  "acquired_at_us" INTEGER NOT NULL,
  "expires_at_us" INTEGER NULL,
  "verified_by" INTEGER NOT NULL DEFAULT 0,
  "verifies" INTEGER NOT NULL DEFAULT 0);

-- Who is alive: one row for each process and ttl class.
CREATE TABLE "dlock_session" (
  "id" BLOB NOT NULL PRIMARY KEY,
  "expires_at_us" INTEGER NOT NULL,
  "ttl_us" INTEGER NOT NULL,
  "beat" INTEGER NOT NULL,
  "revoked" INTEGER NOT NULL,
  "host" TEXT NOT NULL,
  "pid" INTEGER NOT NULL,
  "label" TEXT NOT NULL,
  "started_at_us" INTEGER NOT NULL,
  "boot" TEXT NOT NULL);

CREATE TABLE "dlock_schema_version" (
  "name" TEXT NOT NULL PRIMARY KEY,
  "version" INTEGER NOT NULL,
  "migration" INTEGER NOT NULL);

INSERT INTO "dlock_floor" ("id", "fence") VALUES (1, 0);

INSERT INTO "dlock_schema_version" ("name", "version", "migration") VALUES ('dlock', 1, 0);

COMMIT;
