== the store begins, without tables of its own
PRAGMA foreign_keys=OFF
PRAGMA journal_mode = WAL
PRAGMA synchronous = FULL
BEGIN IMMEDIATE
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'dlock_schema_version' COLLATE NOCASE
CREATE TABLE IF NOT EXISTS "dlock_floor" (
  "id" INTEGER NOT NULL PRIMARY KEY,
  "fence" INTEGER NOT NULL)
CREATE TABLE IF NOT EXISTS "dlock_lock" (
  "lock_key" BLOB NOT NULL PRIMARY KEY,
  "session_id" BLOB NULL,
  "nonce" INTEGER NOT NULL,
  "fence" INTEGER NOT NULL,
  "acquired_at_us" INTEGER NOT NULL,
  "expires_at_us" INTEGER NULL,
  "verified_by" INTEGER NOT NULL DEFAULT 0,
  "verifies" INTEGER NOT NULL DEFAULT 0)
CREATE TABLE IF NOT EXISTS "dlock_session" (
  "id" BLOB NOT NULL PRIMARY KEY,
  "expires_at_us" INTEGER NOT NULL,
  "ttl_us" INTEGER NOT NULL,
  "beat" INTEGER NOT NULL,
  "revoked" INTEGER NOT NULL,
  "host" TEXT NOT NULL,
  "pid" INTEGER NOT NULL,
  "label" TEXT NOT NULL,
  "started_at_us" INTEGER NOT NULL,
  "boot" TEXT NOT NULL)
CREATE TABLE IF NOT EXISTS "dlock_schema_version" (
  "name" TEXT NOT NULL PRIMARY KEY,
  "version" INTEGER NOT NULL,
  "migration" INTEGER NOT NULL)
INSERT OR IGNORE INTO "dlock_schema_version" (
  "name", "version", "migration")
  VALUES ('dlock', 1, 0)

INSERT INTO "dlock_floor" ("id", "fence")
SELECT 1, COALESCE(MAX("fence"), 0) + 0
FROM "dlock_lock"
WHERE TRUE
ON CONFLICT DO NOTHING

COMMIT
SELECT 1 WHERE (
  EXISTS (SELECT 1 FROM "dlock_floor" WHERE "id" = 2 AND "fence" > :now)
  OR EXISTS (
    SELECT 1
    FROM "dlock_session"
    WHERE "boot" <> :boot
      AND "expires_at_us" - "ttl_us" > :now)) OR (SELECT COUNT(*) FROM "dlock_floor" WHERE "id" IN (2, 3, 4)) < 3
BEGIN IMMEDIATE
SELECT 1 WHERE (
  EXISTS (SELECT 1 FROM "dlock_floor" WHERE "id" = 2 AND "fence" > :now)
  OR EXISTS (
    SELECT 1
    FROM "dlock_session"
    WHERE "boot" <> :boot
      AND "expires_at_us" - "ttl_us" > :now))
INSERT INTO "dlock_floor" ("id", "fence") VALUES (2, :now), (3, :epoch), (4, :tables) ON CONFLICT DO NOTHING
COMMIT
SELECT "fence" FROM "dlock_floor" WHERE "id" = 3
SELECT "fence" FROM "dlock_floor" WHERE "id" = 4
CREATE TABLE IF NOT EXISTS "dlock_done" (
  "lock_key" BLOB NOT NULL PRIMARY KEY,
  "done_at_us" INTEGER NOT NULL,
  "valid_until_us" INTEGER NULL,
  "fence" INTEGER NOT NULL,
  "done_by" TEXT NOT NULL)
CREATE INDEX IF NOT EXISTS "dlock_done_until" ON "dlock_done" ("valid_until_us") WHERE "valid_until_us" IS NOT NULL
CREATE TABLE IF NOT EXISTS "dlock_member" (
  "lock_key" BLOB NOT NULL,
  "session_id" BLOB NOT NULL,
  "nonce" INTEGER NOT NULL,
  "units" INTEGER NOT NULL,
  "fence" INTEGER NOT NULL,
  "joined_at_us" INTEGER NOT NULL,
  "verified_by" INTEGER NOT NULL,
  "verifies" INTEGER NOT NULL,
  PRIMARY KEY ("lock_key", "session_id", "nonce"))
SELECT 1 FROM "dlock_member" WHERE 1 = 0
== a connection
PRAGMA foreign_keys=OFF
PRAGMA journal_mode = WAL
PRAGMA synchronous = FULL
== session: open
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
== session: open, prepared before
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
== session: renew
UPDATE "dlock_session" SET "expires_at_us" = MAX("expires_at_us", :ttl + :now), "beat" = "beat" + 1 WHERE "id" = :session AND "expires_at_us" > :now AND NOT "revoked"
== session: remove if it has expired
DELETE FROM "dlock_session" WHERE "id" = :session AND "expires_at_us" <= :now
== keys, by session, 1: take: no such row -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: insert -> 1 yes
INSERT INTO "dlock_lock" ( "lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by", "verifies") SELECT :key, :session, :nonce, "fence" + 1, :now, :own_ttl + :now, 0, 0 FROM "dlock_floor" WHERE "id" = 1 RETURNING "fence"
== keys, by session, 1: take: held by another -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: take: held by another, after a poll -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: poll: held -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
== keys, by session, 1: poll: in order -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
== keys, by session, 1: take: in order -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: take: in order, registered -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: release: of another's -> 1 no
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, by session, 1: cancel: of another's -> 1 no
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, by session, 1: pass on -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence RETURNING "fence"
== keys, by session, 1: release -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, by session, 1: poll: free -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
== keys, by session, 1: take: free -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: cancel -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, by session, 1: take: free again -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: release: looks for a waiter -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, by session, 1: take: free once more -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: cancel: looks for a waiter -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, by session, 1: take: and again -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: release: kept for a minimum time -> 1 yes
UPDATE "dlock_lock" SET "session_id" = IIF("acquired_at_us" + :min_hold > :now, "session_id", NULL), "expires_at_us" = IIF("acquired_at_us" + :min_hold > :now, "acquired_at_us" + :min_hold, NULL) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, by session, 1: take: by a session that ends -> 1 yes
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, by session, 1: poll: its session is gone -> 1 yes
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :now) WHERE "id" = 2
DELETE FROM "dlock_session" WHERE "id" = :session
COMMIT
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
== keys, by session, 1: take over -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND "session_id" = :holder AND "fence" = :seen_fence AND ("expires_at_us" <= :now OR ("expires_at_us" IS NULL AND NOT EXISTS (SELECT 1 FROM "dlock_session" s WHERE s."id" = :holder))) RETURNING "fence"
== keys, by session, 1: release -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, by session, 1: a reader joins a free key -> 1 yes
INSERT INTO "dlock_member" ("lock_key", "session_id", "nonce", "units", "fence", "joined_at_us", "verified_by", "verifies") SELECT l."lock_key", :session, :nonce, :units, l."fence", :now, 0, 0 FROM "dlock_lock" l WHERE l."lock_key" = :key AND l."session_id" = X'646c6f636b3a6f70656e3a7368617265' RETURNING "fence"
UPDATE "dlock_lock" SET "session_id" = X'646c6f636b3a6f70656e3a7368617265', "nonce" = 0, "acquired_at_us" = :now, "expires_at_us" = <number> WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now OR ("session_id" = X'646c6f636b3a636c6f7365643a6e6f77' AND "acquired_at_us" <= :now - 3000000))
INSERT INTO "dlock_member" ("lock_key", "session_id", "nonce", "units", "fence", "joined_at_us", "verified_by", "verifies") SELECT l."lock_key", :session, :nonce, :units, l."fence", :now, 0, 0 FROM "dlock_lock" l WHERE l."lock_key" = :key AND l."session_id" = X'646c6f636b3a6f70656e3a7368617265' RETURNING "fence"
== verify a reader
UPDATE "dlock_member" SET "verified_by" = <connection>, "verifies" = "verifies" + 1 WHERE "lock_key" = x'<golden n>' AND "session_id" = x'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1' AND "nonce" = <nonce> AND "fence" = 42
== keys, by session, 1: a reader leaves -> 1 yes
DELETE FROM "dlock_member" WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, by session, 1: a reader joins -> 1 yes
INSERT INTO "dlock_member" ("lock_key", "session_id", "nonce", "units", "fence", "joined_at_us", "verified_by", "verifies") SELECT l."lock_key", :session, :nonce, :units, l."fence", :now, 0, 0 FROM "dlock_lock" l WHERE l."lock_key" = :key AND l."session_id" = X'646c6f636b3a6f70656e3a7368617265' RETURNING "fence"
== keys, by session, 1: poll: members -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
SELECT l."session_id", l."fence", l."verifies", :now - l."acquired_at_us", COALESCE((SELECT SUM(c."units") FROM "dlock_member" c WHERE c."lock_key" = l."lock_key"), 0), m."session_id", s."id" IS NULL, COALESCE(s."expires_at_us", 0) - :now,  ... key" LEFT JOIN "dlock_session" s ON s."id" = m."session_id" WHERE l."lock_key" = :key ORDER BY s."expires_at_us" LIMIT 1 (503 bytes, 9afdb4b30fdc990e)
== keys, by session, 1: a reader leaves -> 1 yes
DELETE FROM "dlock_member" WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, by session, 1: a permit -> 1 yes
INSERT INTO "dlock_member" ("lock_key", "session_id", "nonce", "units", "fence", "joined_at_us", "verified_by", "verifies") SELECT l."lock_key", :session, :nonce, :units, l."fence", :now, 0, 0 FROM "dlock_lock" l WHERE l."lock_key" = :key AND l."session_id" = X'646c6f636b3a6f70656e3a7368617265' AND (SELECT COALESCE(SUM(m."units"), 0) FROM "dlock_member" m WHERE m."lock_key" = l."lock_key" ) + :units <= :permits RETURNING "fence"
== keys, by session, 1: a permit is cancelled -> 1 yes
DELETE FROM "dlock_member" WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, by session, 1: close -> 1 yes
UPDATE "dlock_lock" SET "verified_by" = CASE WHEN "session_id" = X'646c6f636b3a6f70656e3a7368617265' THEN 0 WHEN :closer IN (0, "nonce") THEN "verified_by" ELSE "nonce" END, "nonce" = CASE WHEN "session_id" = X'646c6f636b3a6f70656e3a7368617 ... ' WHERE "lock_key" = :key AND "session_id" IN (X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') (590 bytes, bf9e04a812abf17d)
SELECT l."session_id", l."fence", l."verifies", :now - l."acquired_at_us", COALESCE((SELECT SUM(c."units") FROM "dlock_member" c WHERE c."lock_key" = l."lock_key"), 0), m."session_id", s."id" IS NULL, COALESCE(s."expires_at_us", 0) - :now,  ... key" LEFT JOIN "dlock_session" s ON s."id" = m."session_id" WHERE l."lock_key" = :key ORDER BY s."expires_at_us" LIMIT 1 (503 bytes, 9afdb4b30fdc990e)
== keys, by session, 1: open -> 1 yes
UPDATE "dlock_lock" SET "session_id" = CASE WHEN "nonce" IN (0, :closer) AND "verified_by" IN (0, :closer) THEN X'646c6f636b3a6f70656e3a7368617265' ELSE X'646c6f636b3a636c6f7365643a6e6f77' END, "nonce" = CASE "nonce" WHEN :closer THEN "verified_by" ELSE "nonce" END, "verified_by" = CASE WHEN "nonce" = :closer OR "verified_by" IN (:closer, "nonce") THEN 0 ELSE "verified_by" END WHERE "lock_key" = :key AND "session_id" = X'646c6f636b3a636c6f7365643a6e6f77'
== keys, by session, 1: close again -> 1 yes
UPDATE "dlock_lock" SET "verified_by" = CASE WHEN "session_id" = X'646c6f636b3a6f70656e3a7368617265' THEN 0 WHEN :closer IN (0, "nonce") THEN "verified_by" ELSE "nonce" END, "nonce" = CASE WHEN "session_id" = X'646c6f636b3a6f70656e3a7368617 ... ' WHERE "lock_key" = :key AND "session_id" IN (X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') (590 bytes, bf9e04a812abf17d)
SELECT l."session_id", l."fence", l."verifies", :now - l."acquired_at_us", COALESCE((SELECT SUM(c."units") FROM "dlock_member" c WHERE c."lock_key" = l."lock_key"), 0), m."session_id", s."id" IS NULL, COALESCE(s."expires_at_us", 0) - :now,  ... key" LEFT JOIN "dlock_session" s ON s."id" = m."session_id" WHERE l."lock_key" = :key ORDER BY s."expires_at_us" LIMIT 1 (503 bytes, 9afdb4b30fdc990e)
== keys, by session, 1: poll: closed, without members -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
SELECT l."session_id", l."fence", l."verifies", :now - l."acquired_at_us", COALESCE((SELECT SUM(c."units") FROM "dlock_member" c WHERE c."lock_key" = l."lock_key"), 0), m."session_id", s."id" IS NULL, COALESCE(s."expires_at_us", 0) - :now,  ... key" LEFT JOIN "dlock_session" s ON s."id" = m."session_id" WHERE l."lock_key" = :key ORDER BY s."expires_at_us" LIMIT 1 (503 bytes, 9afdb4b30fdc990e)
== keys, by session, 1: take: of a closed key -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND "session_id" = X'646c6f636b3a636c6f7365643a6e6f77' AND "fence" = :seen_fence AND "verifies" = :closing AND NOT EXISTS (SELECT 1 FROM "dlock_member" m WHERE m."lock_key" = :key) RETURNING "fence"
== keys, by session, 1: release: of a key that was shared -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, expiring, 1: take: no such row -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: insert -> 1 yes
INSERT INTO "dlock_lock" ( "lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by", "verifies") SELECT :key, :session, :nonce, "fence" + 1, :now, :own_ttl + :now, 0, 0 FROM "dlock_floor" WHERE "id" = 1 RETURNING "fence"
== keys, expiring, 1: take: held by another -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: take: held by another, after a poll -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: poll: held -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
== keys, expiring, 1: poll: in order -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
== keys, expiring, 1: take: in order -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: take: in order, registered -> 1 no
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: release: of another's -> 1 no
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, expiring, 1: cancel: of another's -> 1 no
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, expiring, 1: extend -> 1 yes
UPDATE "dlock_lock" SET "expires_at_us" = MAX("expires_at_us", :own_ttl + :now) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence AND "expires_at_us" > :now
== keys, expiring, 1: release -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, expiring, 1: poll: free -> 1 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" = :key
== keys, expiring, 1: take: free -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: cancel -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, expiring, 1: take: free again -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: release: looks for a waiter -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, expiring, 1: take: free once more -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: cancel: looks for a waiter -> 1 yes
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
== keys, expiring, 1: take: and again -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== keys, expiring, 1: release: kept for a minimum time -> 1 yes
UPDATE "dlock_lock" SET "session_id" = IIF("acquired_at_us" + :min_hold > :now, "session_id", NULL), "expires_at_us" = IIF("acquired_at_us" + :min_hold > :now, "acquired_at_us" + :min_hold, NULL) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
== keys, by session, 2: take: no such row -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: insert -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
INSERT INTO "dlock_lock" ( "lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by", "verifies") SELECT :key, :session, :nonce, "fence" + 1, :now, :own_ttl + :now, 0, 0 FROM "dlock_floor" WHERE "id" = 1 RETURNING "fence"
--
COMMIT
== keys, by session, 2: take: held by another -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: take: held by another, after a poll -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: poll: held -> 2 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 2: poll: in order -> 2 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 2: take: in order -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: take: in order, registered -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: release: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 2: cancel: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, by session, 2: pass on -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence RETURNING "fence"
--
COMMIT
== keys, by session, 2: release -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 2: poll: free -> 2 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 2: take: free -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: cancel -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, by session, 2: take: free again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: release: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 2: take: free once more -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: cancel: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, by session, 2: take: and again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: release: kept for a minimum time -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = IIF("acquired_at_us" + :min_hold > :now, "session_id", NULL), "expires_at_us" = IIF("acquired_at_us" + :min_hold > :now, "acquired_at_us" + :min_hold, NULL) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 2: take: by a session that ends -> 2 yes
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 2: poll: its session is gone -> 2 yes
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :now) WHERE "id" = 2
DELETE FROM "dlock_session" WHERE "id" = :session
COMMIT
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 2: take over -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND "session_id" = :holder AND "fence" = :seen_fence AND ("expires_at_us" <= :now OR ("expires_at_us" IS NULL AND NOT EXISTS (SELECT 1 FROM "dlock_session" s WHERE s."id" = :holder))) RETURNING "fence"
--
COMMIT
== keys, by session, 2: release -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 2: take: no such row -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: insert -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
INSERT INTO "dlock_lock" ( "lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by", "verifies") SELECT :key, :session, :nonce, "fence" + 1, :now, :own_ttl + :now, 0, 0 FROM "dlock_floor" WHERE "id" = 1 RETURNING "fence"
--
COMMIT
== keys, expiring, 2: take: held by another -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: take: held by another, after a poll -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: poll: held -> 2 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, expiring, 2: poll: in order -> 2 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, expiring, 2: take: in order -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: take: in order, registered -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: release: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 2: cancel: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, expiring, 2: extend -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "expires_at_us" = MAX("expires_at_us", :own_ttl + :now) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence AND "expires_at_us" > :now
--
COMMIT
== keys, expiring, 2: release -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 2: poll: free -> 2 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, expiring, 2: take: free -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: cancel -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, expiring, 2: take: free again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: release: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 2: take: free once more -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: cancel: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, expiring, 2: take: and again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 2: release: kept for a minimum time -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "dlock_lock" SET "session_id" = IIF("acquired_at_us" + :min_hold > :now, "session_id", NULL), "expires_at_us" = IIF("acquired_at_us" + :min_hold > :now, "acquired_at_us" + :min_hold, NULL) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 64: take: no such row -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: insert -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
INSERT INTO "dlock_lock" ( "lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by", "verifies") SELECT :key, :session, :nonce, "fence" + 1, :now, :own_ttl + :now, 0, 0 FROM "dlock_floor" WHERE "id" = 1 RETURNING "fence"
--
COMMIT
== keys, by session, 64: take: held by another -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: take: held by another, after a poll -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: poll: held -> 64 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 64: poll: in order -> 64 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 64: take: in order -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: take: in order, registered -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: release: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 64: cancel: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, by session, 64: pass on -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence RETURNING "fence"
--
COMMIT
== keys, by session, 64: release -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 64: poll: free -> 64 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 64: take: free -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: cancel -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, by session, 64: take: free again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: release: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 64: take: free once more -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: cancel: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, by session, 64: take: and again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: release: kept for a minimum time -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = IIF("acquired_at_us" + :min_hold > :now, "session_id", NULL), "expires_at_us" = IIF("acquired_at_us" + :min_hold > :now, "acquired_at_us" + :min_hold, NULL) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, by session, 64: take: by a session that ends -> 64 yes
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, by session, 64: poll: its session is gone -> 64 yes
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :now) WHERE "id" = 2
DELETE FROM "dlock_session" WHERE "id" = :session
COMMIT
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, by session, 64: take over -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND "session_id" = :holder AND "fence" = :seen_fence AND ("expires_at_us" <= :now OR ("expires_at_us" IS NULL AND NOT EXISTS (SELECT 1 FROM "dlock_session" s WHERE s."id" = :holder))) RETURNING "fence"
--
COMMIT
== keys, by session, 64: release -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 64: take: no such row -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: insert -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
INSERT INTO "dlock_lock" ( "lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by", "verifies") SELECT :key, :session, :nonce, "fence" + 1, :now, :own_ttl + :now, 0, 0 FROM "dlock_floor" WHERE "id" = 1 RETURNING "fence"
--
COMMIT
== keys, expiring, 64: take: held by another -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: take: held by another, after a poll -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: poll: held -> 64 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, expiring, 64: poll: in order -> 64 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, expiring, 64: take: in order -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: take: in order, registered -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: release: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 64: cancel: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, expiring, 64: extend -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "expires_at_us" = MAX("expires_at_us", :own_ttl + :now) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence AND "expires_at_us" > :now
--
COMMIT
== keys, expiring, 64: release -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 64: poll: free -> 64 yes
SELECT l."session_id", l."fence", l."expires_at_us", s."expires_at_us", s."host", s."pid", s."label", l."nonce", l."lock_key" FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" IN (?1, ?2, ?3, ?4,  ...  ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, ?59, ?60, ?61, ?62, ?63, ?64) (534 bytes, 613229392f8f9ea3)
== keys, expiring, 64: take: free -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: cancel -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, expiring, 64: take: free again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: release: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== keys, expiring, 64: take: free once more -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: cancel: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = :key AND "session_id" = :session AND "nonce" = :nonce
--
COMMIT
== keys, expiring, 64: take: and again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
--
COMMIT
== keys, expiring, 64: release: kept for a minimum time -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "dlock_lock" SET "session_id" = IIF("acquired_at_us" + :min_hold > :now, "session_id", NULL), "expires_at_us" = IIF("acquired_at_us" + :min_hold > :now, "acquired_at_us" + :min_hold, NULL) WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence
--
COMMIT
== operators, 1: take -> 1 yes
UPDATE "dlock_lock" SET "session_id" = :session, "nonce" = :nonce, "fence" = "fence" + 1, "acquired_at_us" = :now, "expires_at_us" = :own_ttl + :now WHERE "lock_key" = :key AND ("session_id" IS NULL OR "expires_at_us" <= :now) RETURNING "fence"
== inspect
SELECT l."lock_key", l."session_id", l."fence", :now - l."acquired_at_us", COALESCE(l."expires_at_us", s."expires_at_us", :now) - :now, l."expires_at_us" IS NULL, COALESCE(l."expires_at_us" IS NULL AND s."revoked", 0), l."expires_at_us" IS  ... id" WHERE l."session_id" IS NOT NULL AND (l."expires_at_us" IS NULL OR l."expires_at_us" > :now) AND l."lock_key" = :key (633 bytes, fa85437c89697cd2)
== list
SELECT l."lock_key", l."session_id", l."fence", :now - l."acquired_at_us", COALESCE(l."expires_at_us", s."expires_at_us", :now) - :now, l."expires_at_us" IS NULL, COALESCE(l."expires_at_us" IS NULL AND s."revoked", 0), l."expires_at_us" IS  ...  AND (l."expires_at_us" IS NULL OR l."expires_at_us" > :now) AND l."lock_key" > :after ORDER BY l."lock_key" LIMIT :most (669 bytes, 6d53347e4ea0c922)
== overview
SELECT COUNT(*), COALESCE(SUM(h.held), 0), COALESCE(SUM(h.held AND h.dead), 0), COALESCE(SUM(h.fence - f."fence"), 0), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires_at_us" > :now), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires ... d FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" ) h LEFT JOIN "dlock_floor" f ON f."id" = 1 (589 bytes, 2dc55d6c29c1deda)
SELECT COUNT(*) FROM "dlock_lock" l WHERE l."session_id" IN (X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') AND NOT EXISTS (SELECT 1 FROM "dlock_member" m WHERE m."lock_key" = l."lock_key")
SELECT s."id", s."host", s."pid", s."label", s."ttl_us", :now - s."started_at_us", s."expires_at_us" - :now, s."revoked", COALESCE(k.locks, 0) FROM "dlock_session" s LEFT JOIN ( SELECT l."session_id" AS session_id, COUNT(*) AS locks FROM "dlock_lock" l WHERE l."session_id" IS NOT NULL AND (l."expires_at_us" IS NULL OR l."expires_at_us" > :now) GROUP BY l."session_id" ) k ON k.session_id = s."id" ORDER BY COALESCE(k.locks, 0) DESC, s."started_at_us" LIMIT :most
SELECT l."lock_key", l."session_id", l."fence", :now - l."acquired_at_us", COALESCE(l."expires_at_us", s."expires_at_us", :now) - :now, l."expires_at_us" IS NULL, COALESCE(l."expires_at_us" IS NULL AND s."revoked", 0), l."expires_at_us" IS  ... sion_id" IS NOT NULL AND (l."expires_at_us" IS NULL OR l."expires_at_us" > :now) ORDER BY l."acquired_at_us" LIMIT :most (649 bytes, ff3208b07cba4948)
== waiters
== revoke
UPDATE "dlock_session" SET "revoked" = 1 WHERE "id" = ( SELECT "session_id" FROM "dlock_lock" WHERE "lock_key" = :key AND "expires_at_us" IS NULL)
== clean-up
SELECT "id" FROM "dlock_session" WHERE "expires_at_us" + "ttl_us" <= :now ORDER BY "id" LIMIT :most
SELECT "lock_key" FROM "dlock_lock" WHERE "lock_key" > :after ORDER BY "lock_key" LIMIT 1 OFFSET :window
SELECT l."lock_key", l."session_id", l."fence", l."expires_at_us" IS NULL FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" > :after AND l."acquired_at_us" + :idle <= :now AND (l."session_id" IS NULL OR IIF(l."expires_at_us" IS NULL, s."id" IS NULL OR s."expires_at_us" + s."ttl_us" <= :now, l."expires_at_us" <= :now)) ORDER BY l."lock_key" LIMIT :most
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :seen_fence) WHERE "id" = 1
-- 100 times:
DELETE FROM "dlock_lock" WHERE "lock_key" = :key AND "session_id" IS NULL AND "fence" <= :seen_fence
--
COMMIT
SELECT "lock_key" FROM "dlock_done" WHERE "valid_until_us" <= :wall LIMIT :most
SELECT m."lock_key", m."session_id" FROM "dlock_member" m LEFT JOIN "dlock_session" s ON s."id" = m."session_id" WHERE s."id" IS NULL LIMIT :most
SELECT l."lock_key", l."session_id", :now - l."acquired_at_us", EXISTS (SELECT 1 FROM "dlock_member" m WHERE m."lock_key" = l."lock_key") FROM "dlock_lock" l WHERE l."lock_key" > :after ORDER BY l."lock_key" LIMIT :most
== examine
PRAGMA journal_mode
PRAGMA synchronous
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
SELECT version, migration FROM "dlock_schema_version" WHERE name='dlock'
SELECT COUNT(*), COALESCE(SUM(h.held), 0), COALESCE(SUM(h.held AND h.dead), 0), COALESCE(SUM(h.fence - f."fence"), 0), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires_at_us" > :now), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires ... d FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" ) h LEFT JOIN "dlock_floor" f ON f."id" = 1 (589 bytes, 2dc55d6c29c1deda)
SELECT COUNT(*) FROM "dlock_lock" l WHERE l."session_id" IN (X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') AND NOT EXISTS (SELECT 1 FROM "dlock_member" m WHERE m."lock_key" = l."lock_key")
SELECT COUNT(*), IFNULL(SUM(l."acquired_at_us" + 86400000000 <= :now), 0) FROM "dlock_lock" l WHERE l."session_id" IS NULL OR l."expires_at_us" <= :now
== verify
UPDATE "dlock_lock" SET "verified_by" = <connection>, "verifies" = "verifies" + 1 WHERE "lock_key" = x'<golden n>' AND "session_id" = x'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1' AND "fence" = 42
== release in a transaction
UPDATE "dlock_lock" SET "session_id" = NULL, "expires_at_us" = NULL WHERE "lock_key" = x'<golden n>' AND "session_id" = x'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1' AND "fence" = 42
== blocker
== a key that lingers, 1: insert -> 1 yes
INSERT INTO "dlock_lock" ( "lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by", "verifies") SELECT :key, :session, :nonce, "fence" + 1, :now, :own_ttl + :now, 0, 0 FROM "dlock_floor" WHERE "id" = 1 RETURNING "fence"
== a key that lingers, 1: reserve -> 1 yes
UPDATE "dlock_lock" SET "fence" = "fence" + :count WHERE "lock_key" = :key AND "session_id" = :session AND "fence" = :fence RETURNING "fence"
== session: close
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :now) WHERE "id" = 2
DELETE FROM "dlock_session" WHERE "id" = :session
COMMIT
