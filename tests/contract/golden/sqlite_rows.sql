#### rows: id 0, session
== session: open
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
== session: open, prepared before
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
== rows, kind 0, 1: take: no such row -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: insert -> 1 absent
== rows, kind 0, 1: take: held by another -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: take: held by another, after a poll -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: poll: held -> 1 yes
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
== rows, kind 0, 1: poll: in order -> 1 yes
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
== rows, kind 0, 1: take: in order -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: take: in order, registered -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: release: of another's -> 1 no
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 0, 1: cancel: of another's -> 1 no
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
== rows, kind 0, 1: pass on -> 1 failed
== rows, kind 0, 1: release -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 0, 1: poll: free -> 1 yes
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
== rows, kind 0, 1: take: free -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: cancel -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
== rows, kind 0, 1: take: free again -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: release: looks for a waiter -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 0, 1: take: free once more -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: cancel: looks for a waiter -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
== rows, kind 0, 1: take: and again -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: release: kept for a minimum time -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 0, 1: take: by a session that ends -> 1 yes
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 0, 1: poll: its session is gone -> 1 yes
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :now) WHERE "id" = 2
DELETE FROM "dlock_session" WHERE "id" = :session
COMMIT
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
== rows, kind 0, 1: take over -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND "lock_owner" IN (:seen_owner, :seen_verified_owner) AND "lock_fence" = :fence AND (("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon) OR ("lock_expires_at_us" IS NULL AND NOT EXISTS (SELECT 1 FROM "dlock_session" s WHERE s."id" = :seen_session))) RETURNING "lock_fence"
== rows, kind 0, 1: release -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 1, 1: take: no such row -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: insert -> 1 absent
== rows, kind 1, 1: take: held by another -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: take: held by another, after a poll -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: poll: held -> 1 yes
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
== rows, kind 1, 1: poll: in order -> 1 yes
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
== rows, kind 1, 1: take: in order -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: take: in order, registered -> 1 no
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: release: of another's -> 1 no
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 1, 1: cancel: of another's -> 1 no
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
== rows, kind 1, 1: extend -> 1 yes
UPDATE "order 1" SET "lock_expires_at_us" = MAX("lock_expires_at_us", :expiry) WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence AND "lock_expires_at_us" > :now
== rows, kind 1, 1: release -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 1, 1: poll: free -> 1 yes
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
== rows, kind 1, 1: take: free -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: cancel -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
== rows, kind 1, 1: take: free again -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: release: looks for a waiter -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 1, 1: take: free once more -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: cancel: looks for a waiter -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
== rows, kind 1, 1: take: and again -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== rows, kind 1, 1: release: kept for a minimum time -> 1 yes
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
== rows, kind 0, 2: take: no such row -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: insert -> 2 absent
BEGIN IMMEDIATE
COMMIT
== rows, kind 0, 2: take: held by another -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: take: held by another, after a poll -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: poll: held -> 2 yes
-- 2 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 0, 2: poll: in order -> 2 yes
-- 2 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 0, 2: take: in order -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: take: in order, registered -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: release: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 2: cancel: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 0, 2: pass on -> 2 failed
BEGIN IMMEDIATE
ROLLBACK
== rows, kind 0, 2: release -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 2: poll: free -> 2 yes
-- 2 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
--
== rows, kind 0, 2: take: free -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: cancel -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 0, 2: take: free again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: release: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 2: take: free once more -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: cancel: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 0, 2: take: and again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: release: kept for a minimum time -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 2: take: by a session that ends -> 2 yes
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: poll: its session is gone -> 2 yes
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :now) WHERE "id" = 2
DELETE FROM "dlock_session" WHERE "id" = :session
COMMIT
-- 2 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 0, 2: take over -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND "lock_owner" IN (:seen_owner, :seen_verified_owner) AND "lock_fence" = :fence AND (("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon) OR ("lock_expires_at_us" IS NULL AND NOT EXISTS (SELECT 1 FROM "dlock_session" s WHERE s."id" = :seen_session))) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 2: release -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 2: take: no such row -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: insert -> 2 absent
BEGIN IMMEDIATE
COMMIT
== rows, kind 1, 2: take: held by another -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: take: held by another, after a poll -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: poll: held -> 2 yes
-- 2 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 1, 2: poll: in order -> 2 yes
-- 2 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 1, 2: take: in order -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: take: in order, registered -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: release: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 2: cancel: of another's -> 2 no
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 1, 2: extend -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_expires_at_us" = MAX("lock_expires_at_us", :expiry) WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence AND "lock_expires_at_us" > :now
--
COMMIT
== rows, kind 1, 2: release -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 2: poll: free -> 2 yes
-- 2 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
--
== rows, kind 1, 2: take: free -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: cancel -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 1, 2: take: free again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: release: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 2: take: free once more -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: cancel: looks for a waiter -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 1, 2: take: and again -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 2: release: kept for a minimum time -> 2 yes
BEGIN IMMEDIATE
-- 2 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 64: take: no such row -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: insert -> 64 absent
BEGIN IMMEDIATE
COMMIT
== rows, kind 0, 64: take: held by another -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: take: held by another, after a poll -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: poll: held -> 64 yes
-- 64 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 0, 64: poll: in order -> 64 yes
-- 64 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 0, 64: take: in order -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: take: in order, registered -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: release: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 64: cancel: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 0, 64: pass on -> 64 failed
BEGIN IMMEDIATE
ROLLBACK
== rows, kind 0, 64: release -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 64: poll: free -> 64 yes
-- 64 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
--
== rows, kind 0, 64: take: free -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: cancel -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 0, 64: take: free again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: release: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 64: take: free once more -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: cancel: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 0, 64: take: and again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: release: kept for a minimum time -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 0, 64: take: by a session that ends -> 64 yes
INSERT INTO "dlock_session" ( "id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot") VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: poll: its session is gone -> 64 yes
BEGIN IMMEDIATE
UPDATE "dlock_floor" SET "fence" = MAX("fence", :now) WHERE "id" = 2
DELETE FROM "dlock_session" WHERE "id" = :session
COMMIT
-- 64 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 0, 64: take over -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND "lock_owner" IN (:seen_owner, :seen_verified_owner) AND "lock_fence" = :fence AND (("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon) OR ("lock_expires_at_us" IS NULL AND NOT EXISTS (SELECT 1 FROM "dlock_session" s WHERE s."id" = :seen_session))) RETURNING "lock_fence"
--
COMMIT
== rows, kind 0, 64: release -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 64: take: no such row -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: insert -> 64 absent
BEGIN IMMEDIATE
COMMIT
== rows, kind 1, 64: take: held by another -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: take: held by another, after a poll -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: poll: held -> 64 yes
-- 64 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 1, 64: poll: in order -> 64 yes
-- 64 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
SELECT "expires_at_us", "host", "pid", "label" FROM "dlock_session" WHERE "id" = :session
--
== rows, kind 1, 64: take: in order -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: take: in order, registered -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: release: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 64: cancel: of another's -> 64 no
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 1, 64: extend -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_expires_at_us" = MAX("lock_expires_at_us", :expiry) WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence AND "lock_expires_at_us" > :now
--
COMMIT
== rows, kind 1, 64: release -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 64: poll: free -> 64 yes
-- 64 times:
SELECT "lock_owner", "lock_fence", "lock_expires_at_us" FROM "order 1" WHERE "id" = :id1
--
== rows, kind 1, 64: take: free -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: cancel -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 1, 64: take: free again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: release: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== rows, kind 1, 64: take: free once more -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: cancel: looks for a waiter -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner)
--
COMMIT
== rows, kind 1, 64: take: and again -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
--
COMMIT
== rows, kind 1, 64: release: kept for a minimum time -> 64 yes
BEGIN IMMEDIATE
-- 64 times:
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = :id1 AND "lock_owner" IN (:owner, :verified_owner) AND "lock_fence" = :fence
--
COMMIT
== operators, 1: take -> 1 yes
UPDATE "order 1" SET "lock_owner" = :owner, "lock_fence" = COALESCE("lock_fence", 0) + 1, "version" = "version" + 1, "lock_expires_at_us" = :expiry WHERE "id" = :id1 AND ("lock_owner" IS NULL OR "lock_owner" = '' OR ("lock_expires_at_us" <= :now OR "lock_expires_at_us" > :horizon)) RETURNING "lock_fence"
== inspect
SELECT "order 1"."lock_owner", "order 1"."lock_fence", "order 1"."lock_expires_at_us" IS NULL, s."id" IS NULL OR (s."boot" <> :boot AND s."expires_at_us" > :now + s."ttl_us"), CASE WHEN "order 1"."lock_expires_at_us" > :row_now + <number> T ... LEFT JOIN "dlock_session" s ON lower(hex(s."id")) = substr("order 1"."lock_owner", 1, 32) WHERE "order 1"."id" = <nonce> (511 bytes, a7cee4dcad2b2156)
== list
SELECT l."lock_key", l."session_id", l."fence", :now - l."acquired_at_us", COALESCE(l."expires_at_us", s."expires_at_us", :now) - :now, l."expires_at_us" IS NULL, COALESCE(l."expires_at_us" IS NULL AND s."revoked", 0), l."expires_at_us" IS  ...  AND (l."expires_at_us" IS NULL OR l."expires_at_us" > :now) AND l."lock_key" > :after ORDER BY l."lock_key" LIMIT :most (669 bytes, 6d53347e4ea0c922)
== overview
SELECT COUNT(*), COALESCE(SUM(h.held), 0), COALESCE(SUM(h.held AND h.dead), 0), COALESCE(SUM(h.fence - f."fence"), 0), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires_at_us" > :now), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires ... d FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" ) h LEFT JOIN "dlock_floor" f ON f."id" = 1 (589 bytes, 2dc55d6c29c1deda)
SELECT s."id", s."host", s."pid", s."label", s."ttl_us", :now - s."started_at_us", s."expires_at_us" - :now, s."revoked", COALESCE(k.locks, 0) FROM "dlock_session" s LEFT JOIN ( SELECT l."session_id" AS session_id, COUNT(*) AS locks FROM "dlock_lock" l WHERE l."session_id" IS NOT NULL AND (l."expires_at_us" IS NULL OR l."expires_at_us" > :now) GROUP BY l."session_id" ) k ON k.session_id = s."id" ORDER BY COALESCE(k.locks, 0) DESC, s."started_at_us" LIMIT :most
SELECT l."lock_key", l."session_id", l."fence", :now - l."acquired_at_us", COALESCE(l."expires_at_us", s."expires_at_us", :now) - :now, l."expires_at_us" IS NULL, COALESCE(l."expires_at_us" IS NULL AND s."revoked", 0), l."expires_at_us" IS  ... sion_id" IS NOT NULL AND (l."expires_at_us" IS NULL OR l."expires_at_us" > :now) ORDER BY l."acquired_at_us" LIMIT :most (649 bytes, ff3208b07cba4948)
== waiters
== held rows
SELECT "order 1"."id", "order 1"."lock_owner", "order 1"."lock_fence", "order 1"."lock_expires_at_us" IS NULL, s."id" IS NULL OR (s."boot" <> :boot AND s."expires_at_us" > :now + s."ttl_us"), CASE WHEN "order 1"."lock_expires_at_us" > :row_ ...  COALESCE("order 1"."lock_expires_at_us" - :row_now, s."expires_at_us" - :now) END > 0) ORDER BY "order 1"."id" LIMIT 10 (787 bytes, 981b32fecc73520d)
== revoke
UPDATE "dlock_session" SET "revoked" = 1 WHERE lower(hex("id")) = ( SELECT substr("lock_owner", 1, 32) FROM "order 1" WHERE "id" = <nonce> AND "lock_expires_at_us" IS NULL AND "lock_owner" LIKE '________________________________/<tables>____________%')
== clean-up
SELECT "id" FROM "dlock_session" WHERE "expires_at_us" + "ttl_us" <= :now ORDER BY "id" LIMIT :most
SELECT "lock_key" FROM "dlock_lock" WHERE "lock_key" > :after ORDER BY "lock_key" LIMIT 1 OFFSET :window
SELECT l."lock_key", l."session_id", l."fence", l."expires_at_us" IS NULL FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" WHERE l."lock_key" > :after AND l."acquired_at_us" + :idle <= :now AND (l."session_id" IS NULL OR IIF(l."expires_at_us" IS NULL, s."id" IS NULL OR s."expires_at_us" + s."ttl_us" <= :now, l."expires_at_us" <= :now)) ORDER BY l."lock_key" LIMIT :most
SELECT "lock_key" FROM "dlock_done" WHERE "valid_until_us" <= :wall LIMIT :most
SELECT m."lock_key", m."session_id" FROM "dlock_member" m LEFT JOIN "dlock_session" s ON s."id" = m."session_id" WHERE s."id" IS NULL LIMIT :most
SELECT 1 FROM "dlock_lock" WHERE "session_id" IN (X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') LIMIT 1
== examine
PRAGMA journal_mode
PRAGMA synchronous
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
SELECT version, migration FROM "dlock_schema_version" WHERE name='dlock'
SELECT COUNT(*), COALESCE(SUM(h.held), 0), COALESCE(SUM(h.held AND h.dead), 0), COALESCE(SUM(h.fence - f."fence"), 0), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires_at_us" > :now), (SELECT COUNT(*) FROM "dlock_session" WHERE "expires ... d FROM "dlock_lock" l LEFT JOIN "dlock_session" s ON s."id" = l."session_id" ) h LEFT JOIN "dlock_floor" f ON f."id" = 1 (589 bytes, 2dc55d6c29c1deda)
SELECT COUNT(*), IFNULL(SUM(l."acquired_at_us" + 86400000000 <= :now), 0) FROM "dlock_lock" l WHERE l."session_id" IS NULL OR l."expires_at_us" <= :now
== verify
UPDATE "order 1" SET "lock_owner" = IIF("lock_owner" = 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>') WHERE "id" = <nonce> AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+') AND "lock_fence" = 42
== release in a transaction
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "id" = <nonce> AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+') AND "lock_fence" = 42
== blocker
#### rows: id 1, session, owner not null
== session: open
== session: open, prepared before
== rows, kind 0, 1: take: no such row -> 1 yes
== rows, kind 0, 1: insert -> 1 absent
== rows, kind 0, 1: take: held by another -> 1 no
== rows, kind 0, 1: take: held by another, after a poll -> 1 no
== rows, kind 0, 1: poll: held -> 1 yes
== rows, kind 0, 1: poll: in order -> 1 yes
== rows, kind 0, 1: take: in order -> 1 no
== rows, kind 0, 1: take: in order, registered -> 1 no
== rows, kind 0, 1: release: of another's -> 1 no
== rows, kind 0, 1: cancel: of another's -> 1 no
== rows, kind 0, 1: pass on -> 1 failed
== rows, kind 0, 1: release -> 1 yes
== rows, kind 0, 1: poll: free -> 1 yes
== rows, kind 0, 1: take: free -> 1 yes
== rows, kind 0, 1: cancel -> 1 yes
== rows, kind 0, 1: take: free again -> 1 yes
== rows, kind 0, 1: release: looks for a waiter -> 1 yes
== rows, kind 0, 1: take: free once more -> 1 yes
== rows, kind 0, 1: cancel: looks for a waiter -> 1 yes
== rows, kind 0, 1: take: and again -> 1 yes
== rows, kind 0, 1: release: kept for a minimum time -> 1 yes
== rows, kind 0, 1: take: by a session that ends -> 1 yes
== rows, kind 0, 1: poll: its session is gone -> 1 yes
== rows, kind 0, 1: take over -> 1 yes
== rows, kind 0, 1: release -> 1 yes
== rows, kind 1, 1: take: no such row -> 1 yes
== rows, kind 1, 1: insert -> 1 absent
== rows, kind 1, 1: take: held by another -> 1 no
== rows, kind 1, 1: take: held by another, after a poll -> 1 no
== rows, kind 1, 1: poll: held -> 1 yes
== rows, kind 1, 1: poll: in order -> 1 yes
== rows, kind 1, 1: take: in order -> 1 no
== rows, kind 1, 1: take: in order, registered -> 1 no
== rows, kind 1, 1: release: of another's -> 1 no
== rows, kind 1, 1: cancel: of another's -> 1 no
== rows, kind 1, 1: extend -> 1 yes
== rows, kind 1, 1: release -> 1 yes
== rows, kind 1, 1: poll: free -> 1 yes
== rows, kind 1, 1: take: free -> 1 yes
== rows, kind 1, 1: cancel -> 1 yes
== rows, kind 1, 1: take: free again -> 1 yes
== rows, kind 1, 1: release: looks for a waiter -> 1 yes
== rows, kind 1, 1: take: free once more -> 1 yes
== rows, kind 1, 1: cancel: looks for a waiter -> 1 yes
== rows, kind 1, 1: take: and again -> 1 yes
== rows, kind 1, 1: release: kept for a minimum time -> 1 yes
== rows, kind 0, 2: take: no such row -> 2 yes
== rows, kind 0, 2: insert -> 2 absent
== rows, kind 0, 2: take: held by another -> 2 no
== rows, kind 0, 2: take: held by another, after a poll -> 2 no
== rows, kind 0, 2: poll: held -> 2 yes
== rows, kind 0, 2: poll: in order -> 2 yes
== rows, kind 0, 2: take: in order -> 2 no
== rows, kind 0, 2: take: in order, registered -> 2 no
== rows, kind 0, 2: release: of another's -> 2 no
== rows, kind 0, 2: cancel: of another's -> 2 no
== rows, kind 0, 2: pass on -> 2 failed
== rows, kind 0, 2: release -> 2 yes
== rows, kind 0, 2: poll: free -> 2 yes
== rows, kind 0, 2: take: free -> 2 yes
== rows, kind 0, 2: cancel -> 2 yes
== rows, kind 0, 2: take: free again -> 2 yes
== rows, kind 0, 2: release: looks for a waiter -> 2 yes
== rows, kind 0, 2: take: free once more -> 2 yes
== rows, kind 0, 2: cancel: looks for a waiter -> 2 yes
== rows, kind 0, 2: take: and again -> 2 yes
== rows, kind 0, 2: release: kept for a minimum time -> 2 yes
== rows, kind 0, 2: take: by a session that ends -> 2 yes
== rows, kind 0, 2: poll: its session is gone -> 2 yes
== rows, kind 0, 2: take over -> 2 yes
== rows, kind 0, 2: release -> 2 yes
== rows, kind 1, 2: take: no such row -> 2 yes
== rows, kind 1, 2: insert -> 2 absent
== rows, kind 1, 2: take: held by another -> 2 no
== rows, kind 1, 2: take: held by another, after a poll -> 2 no
== rows, kind 1, 2: poll: held -> 2 yes
== rows, kind 1, 2: poll: in order -> 2 yes
== rows, kind 1, 2: take: in order -> 2 no
== rows, kind 1, 2: take: in order, registered -> 2 no
== rows, kind 1, 2: release: of another's -> 2 no
== rows, kind 1, 2: cancel: of another's -> 2 no
== rows, kind 1, 2: extend -> 2 yes
== rows, kind 1, 2: release -> 2 yes
== rows, kind 1, 2: poll: free -> 2 yes
== rows, kind 1, 2: take: free -> 2 yes
== rows, kind 1, 2: cancel -> 2 yes
== rows, kind 1, 2: take: free again -> 2 yes
== rows, kind 1, 2: release: looks for a waiter -> 2 yes
== rows, kind 1, 2: take: free once more -> 2 yes
== rows, kind 1, 2: cancel: looks for a waiter -> 2 yes
== rows, kind 1, 2: take: and again -> 2 yes
== rows, kind 1, 2: release: kept for a minimum time -> 2 yes
== rows, kind 0, 64: take: no such row -> 64 yes
== rows, kind 0, 64: insert -> 64 absent
== rows, kind 0, 64: take: held by another -> 64 no
== rows, kind 0, 64: take: held by another, after a poll -> 64 no
== rows, kind 0, 64: poll: held -> 64 yes
== rows, kind 0, 64: poll: in order -> 64 yes
== rows, kind 0, 64: take: in order -> 64 no
== rows, kind 0, 64: take: in order, registered -> 64 no
== rows, kind 0, 64: release: of another's -> 64 no
== rows, kind 0, 64: cancel: of another's -> 64 no
== rows, kind 0, 64: pass on -> 64 failed
== rows, kind 0, 64: release -> 64 yes
== rows, kind 0, 64: poll: free -> 64 yes
== rows, kind 0, 64: take: free -> 64 yes
== rows, kind 0, 64: cancel -> 64 yes
== rows, kind 0, 64: take: free again -> 64 yes
== rows, kind 0, 64: release: looks for a waiter -> 64 yes
== rows, kind 0, 64: take: free once more -> 64 yes
== rows, kind 0, 64: cancel: looks for a waiter -> 64 yes
== rows, kind 0, 64: take: and again -> 64 yes
== rows, kind 0, 64: release: kept for a minimum time -> 64 yes
== rows, kind 0, 64: take: by a session that ends -> 64 yes
== rows, kind 0, 64: poll: its session is gone -> 64 yes
== rows, kind 0, 64: take over -> 64 yes
== rows, kind 0, 64: release -> 64 yes
== rows, kind 1, 64: take: no such row -> 64 yes
== rows, kind 1, 64: insert -> 64 absent
== rows, kind 1, 64: take: held by another -> 64 no
== rows, kind 1, 64: take: held by another, after a poll -> 64 no
== rows, kind 1, 64: poll: held -> 64 yes
== rows, kind 1, 64: poll: in order -> 64 yes
== rows, kind 1, 64: take: in order -> 64 no
== rows, kind 1, 64: take: in order, registered -> 64 no
== rows, kind 1, 64: release: of another's -> 64 no
== rows, kind 1, 64: cancel: of another's -> 64 no
== rows, kind 1, 64: extend -> 64 yes
== rows, kind 1, 64: release -> 64 yes
== rows, kind 1, 64: poll: free -> 64 yes
== rows, kind 1, 64: take: free -> 64 yes
== rows, kind 1, 64: cancel -> 64 yes
== rows, kind 1, 64: take: free again -> 64 yes
== rows, kind 1, 64: release: looks for a waiter -> 64 yes
== rows, kind 1, 64: take: free once more -> 64 yes
== rows, kind 1, 64: cancel: looks for a waiter -> 64 yes
== rows, kind 1, 64: take: and again -> 64 yes
== rows, kind 1, 64: release: kept for a minimum time -> 64 yes
== operators, 1: take -> 1 yes
== inspect
== list
== overview
== waiters
== held rows
== revoke
== clean-up
== examine
== verify
UPDATE "order 1" SET "lock_owner" = IIF("lock_owner" = 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>') WHERE "id" = 'it''s nº <nonce>' AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+') AND "lock_fence" = 42
== release in a transaction
UPDATE "order 1" SET "lock_owner" = '', "lock_expires_at_us" = NULL WHERE "id" = 'it''s nº <nonce>' AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+') AND "lock_fence" = 42
== blocker
#### rows: id 2, session, fence is version
== session: open
== session: open, prepared before
== rows, kind 0, 1: take: no such row -> 1 yes
== rows, kind 0, 1: insert -> 1 absent
== rows, kind 0, 1: take: held by another -> 1 no
== rows, kind 0, 1: take: held by another, after a poll -> 1 no
== rows, kind 0, 1: poll: held -> 1 yes
== rows, kind 0, 1: poll: in order -> 1 yes
== rows, kind 0, 1: take: in order -> 1 no
== rows, kind 0, 1: take: in order, registered -> 1 no
== rows, kind 0, 1: release: of another's -> 1 no
== rows, kind 0, 1: cancel: of another's -> 1 no
== rows, kind 0, 1: pass on -> 1 failed
== rows, kind 0, 1: release -> 1 yes
== rows, kind 0, 1: poll: free -> 1 yes
== rows, kind 0, 1: take: free -> 1 yes
== rows, kind 0, 1: cancel -> 1 yes
== rows, kind 0, 1: take: free again -> 1 yes
== rows, kind 0, 1: release: looks for a waiter -> 1 yes
== rows, kind 0, 1: take: free once more -> 1 yes
== rows, kind 0, 1: cancel: looks for a waiter -> 1 yes
== rows, kind 0, 1: take: and again -> 1 yes
== rows, kind 0, 1: release: kept for a minimum time -> 1 yes
== rows, kind 0, 1: take: by a session that ends -> 1 yes
== rows, kind 0, 1: poll: its session is gone -> 1 yes
== rows, kind 0, 1: take over -> 1 yes
== rows, kind 0, 1: release -> 1 yes
== rows, kind 1, 1: take: no such row -> 1 yes
== rows, kind 1, 1: insert -> 1 absent
== rows, kind 1, 1: take: held by another -> 1 no
== rows, kind 1, 1: take: held by another, after a poll -> 1 no
== rows, kind 1, 1: poll: held -> 1 yes
== rows, kind 1, 1: poll: in order -> 1 yes
== rows, kind 1, 1: take: in order -> 1 no
== rows, kind 1, 1: take: in order, registered -> 1 no
== rows, kind 1, 1: release: of another's -> 1 no
== rows, kind 1, 1: cancel: of another's -> 1 no
== rows, kind 1, 1: extend -> 1 yes
== rows, kind 1, 1: release -> 1 yes
== rows, kind 1, 1: poll: free -> 1 yes
== rows, kind 1, 1: take: free -> 1 yes
== rows, kind 1, 1: cancel -> 1 yes
== rows, kind 1, 1: take: free again -> 1 yes
== rows, kind 1, 1: release: looks for a waiter -> 1 yes
== rows, kind 1, 1: take: free once more -> 1 yes
== rows, kind 1, 1: cancel: looks for a waiter -> 1 yes
== rows, kind 1, 1: take: and again -> 1 yes
== rows, kind 1, 1: release: kept for a minimum time -> 1 yes
== rows, kind 0, 2: take: no such row -> 2 yes
== rows, kind 0, 2: insert -> 2 absent
== rows, kind 0, 2: take: held by another -> 2 no
== rows, kind 0, 2: take: held by another, after a poll -> 2 no
== rows, kind 0, 2: poll: held -> 2 yes
== rows, kind 0, 2: poll: in order -> 2 yes
== rows, kind 0, 2: take: in order -> 2 no
== rows, kind 0, 2: take: in order, registered -> 2 no
== rows, kind 0, 2: release: of another's -> 2 no
== rows, kind 0, 2: cancel: of another's -> 2 no
== rows, kind 0, 2: pass on -> 2 failed
== rows, kind 0, 2: release -> 2 yes
== rows, kind 0, 2: poll: free -> 2 yes
== rows, kind 0, 2: take: free -> 2 yes
== rows, kind 0, 2: cancel -> 2 yes
== rows, kind 0, 2: take: free again -> 2 yes
== rows, kind 0, 2: release: looks for a waiter -> 2 yes
== rows, kind 0, 2: take: free once more -> 2 yes
== rows, kind 0, 2: cancel: looks for a waiter -> 2 yes
== rows, kind 0, 2: take: and again -> 2 yes
== rows, kind 0, 2: release: kept for a minimum time -> 2 yes
== rows, kind 0, 2: take: by a session that ends -> 2 yes
== rows, kind 0, 2: poll: its session is gone -> 2 yes
== rows, kind 0, 2: take over -> 2 yes
== rows, kind 0, 2: release -> 2 yes
== rows, kind 1, 2: take: no such row -> 2 yes
== rows, kind 1, 2: insert -> 2 absent
== rows, kind 1, 2: take: held by another -> 2 no
== rows, kind 1, 2: take: held by another, after a poll -> 2 no
== rows, kind 1, 2: poll: held -> 2 yes
== rows, kind 1, 2: poll: in order -> 2 yes
== rows, kind 1, 2: take: in order -> 2 no
== rows, kind 1, 2: take: in order, registered -> 2 no
== rows, kind 1, 2: release: of another's -> 2 no
== rows, kind 1, 2: cancel: of another's -> 2 no
== rows, kind 1, 2: extend -> 2 yes
== rows, kind 1, 2: release -> 2 yes
== rows, kind 1, 2: poll: free -> 2 yes
== rows, kind 1, 2: take: free -> 2 yes
== rows, kind 1, 2: cancel -> 2 yes
== rows, kind 1, 2: take: free again -> 2 yes
== rows, kind 1, 2: release: looks for a waiter -> 2 yes
== rows, kind 1, 2: take: free once more -> 2 yes
== rows, kind 1, 2: cancel: looks for a waiter -> 2 yes
== rows, kind 1, 2: take: and again -> 2 yes
== rows, kind 1, 2: release: kept for a minimum time -> 2 yes
== rows, kind 0, 64: take: no such row -> 64 yes
== rows, kind 0, 64: insert -> 64 absent
== rows, kind 0, 64: take: held by another -> 64 no
== rows, kind 0, 64: take: held by another, after a poll -> 64 no
== rows, kind 0, 64: poll: held -> 64 yes
== rows, kind 0, 64: poll: in order -> 64 yes
== rows, kind 0, 64: take: in order -> 64 no
== rows, kind 0, 64: take: in order, registered -> 64 no
== rows, kind 0, 64: release: of another's -> 64 no
== rows, kind 0, 64: cancel: of another's -> 64 no
== rows, kind 0, 64: pass on -> 64 failed
== rows, kind 0, 64: release -> 64 yes
== rows, kind 0, 64: poll: free -> 64 yes
== rows, kind 0, 64: take: free -> 64 yes
== rows, kind 0, 64: cancel -> 64 yes
== rows, kind 0, 64: take: free again -> 64 yes
== rows, kind 0, 64: release: looks for a waiter -> 64 yes
== rows, kind 0, 64: take: free once more -> 64 yes
== rows, kind 0, 64: cancel: looks for a waiter -> 64 yes
== rows, kind 0, 64: take: and again -> 64 yes
== rows, kind 0, 64: release: kept for a minimum time -> 64 yes
== rows, kind 0, 64: take: by a session that ends -> 64 yes
== rows, kind 0, 64: poll: its session is gone -> 64 yes
== rows, kind 0, 64: take over -> 64 yes
== rows, kind 0, 64: release -> 64 yes
== rows, kind 1, 64: take: no such row -> 64 yes
== rows, kind 1, 64: insert -> 64 absent
== rows, kind 1, 64: take: held by another -> 64 no
== rows, kind 1, 64: take: held by another, after a poll -> 64 no
== rows, kind 1, 64: poll: held -> 64 yes
== rows, kind 1, 64: poll: in order -> 64 yes
== rows, kind 1, 64: take: in order -> 64 no
== rows, kind 1, 64: take: in order, registered -> 64 no
== rows, kind 1, 64: release: of another's -> 64 no
== rows, kind 1, 64: cancel: of another's -> 64 no
== rows, kind 1, 64: extend -> 64 yes
== rows, kind 1, 64: release -> 64 yes
== rows, kind 1, 64: poll: free -> 64 yes
== rows, kind 1, 64: take: free -> 64 yes
== rows, kind 1, 64: cancel -> 64 yes
== rows, kind 1, 64: take: free again -> 64 yes
== rows, kind 1, 64: release: looks for a waiter -> 64 yes
== rows, kind 1, 64: take: free once more -> 64 yes
== rows, kind 1, 64: cancel: looks for a waiter -> 64 yes
== rows, kind 1, 64: take: and again -> 64 yes
== rows, kind 1, 64: release: kept for a minimum time -> 64 yes
== operators, 1: take -> 1 yes
== inspect
== list
== overview
== waiters
== held rows
== revoke
== clean-up
== examine
== verify
UPDATE "order 1" SET "lock_owner" = IIF("lock_owner" = 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>') WHERE "region" = 0 AND "name" = 'it''s nº <nonce>' AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+')
== release in a transaction
UPDATE "order 1" SET "lock_owner" = NULL, "lock_expires_at_us" = NULL WHERE "region" = 0 AND "name" = 'it''s nº <nonce>' AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+')
== blocker
#### rows: id 0, column
== session: open
== session: open, prepared before
== rows, kind 2, 1: take: no such row -> 1 yes
== rows, kind 2, 1: insert -> 1 absent
== rows, kind 2, 1: take: held by another -> 1 no
== rows, kind 2, 1: take: held by another, after a poll -> 1 no
== rows, kind 2, 1: poll: held -> 1 yes
== rows, kind 2, 1: poll: in order -> 1 yes
== rows, kind 2, 1: take: in order -> 1 no
== rows, kind 2, 1: take: in order, registered -> 1 no
== rows, kind 2, 1: release: of another's -> 1 no
== rows, kind 2, 1: cancel: of another's -> 1 no
== rows, kind 2, 1: extend -> 1 yes
== rows, kind 2, 1: release -> 1 yes
== rows, kind 2, 1: poll: free -> 1 yes
== rows, kind 2, 1: take: free -> 1 yes
== rows, kind 2, 1: cancel -> 1 yes
== rows, kind 2, 1: take: free again -> 1 yes
== rows, kind 2, 1: release: looks for a waiter -> 1 yes
== rows, kind 2, 1: take: free once more -> 1 yes
== rows, kind 2, 1: cancel: looks for a waiter -> 1 yes
== rows, kind 2, 1: take: and again -> 1 yes
== rows, kind 2, 1: release: kept for a minimum time -> 1 yes
== rows, kind 1, 1: take: no such row -> 1 yes
== rows, kind 1, 1: insert -> 1 absent
== rows, kind 1, 1: take: held by another -> 1 no
== rows, kind 1, 1: take: held by another, after a poll -> 1 no
== rows, kind 1, 1: poll: held -> 1 yes
== rows, kind 1, 1: poll: in order -> 1 yes
== rows, kind 1, 1: take: in order -> 1 no
== rows, kind 1, 1: take: in order, registered -> 1 no
== rows, kind 1, 1: release: of another's -> 1 no
== rows, kind 1, 1: cancel: of another's -> 1 no
== rows, kind 1, 1: extend -> 1 yes
== rows, kind 1, 1: release -> 1 yes
== rows, kind 1, 1: poll: free -> 1 yes
== rows, kind 1, 1: take: free -> 1 yes
== rows, kind 1, 1: cancel -> 1 yes
== rows, kind 1, 1: take: free again -> 1 yes
== rows, kind 1, 1: release: looks for a waiter -> 1 yes
== rows, kind 1, 1: take: free once more -> 1 yes
== rows, kind 1, 1: cancel: looks for a waiter -> 1 yes
== rows, kind 1, 1: take: and again -> 1 yes
== rows, kind 1, 1: release: kept for a minimum time -> 1 yes
== rows, kind 2, 2: take: no such row -> 2 yes
== rows, kind 2, 2: insert -> 2 absent
== rows, kind 2, 2: take: held by another -> 2 no
== rows, kind 2, 2: take: held by another, after a poll -> 2 no
== rows, kind 2, 2: poll: held -> 2 yes
== rows, kind 2, 2: poll: in order -> 2 yes
== rows, kind 2, 2: take: in order -> 2 no
== rows, kind 2, 2: take: in order, registered -> 2 no
== rows, kind 2, 2: release: of another's -> 2 no
== rows, kind 2, 2: cancel: of another's -> 2 no
== rows, kind 2, 2: extend -> 2 yes
== rows, kind 2, 2: release -> 2 yes
== rows, kind 2, 2: poll: free -> 2 yes
== rows, kind 2, 2: take: free -> 2 yes
== rows, kind 2, 2: cancel -> 2 yes
== rows, kind 2, 2: take: free again -> 2 yes
== rows, kind 2, 2: release: looks for a waiter -> 2 yes
== rows, kind 2, 2: take: free once more -> 2 yes
== rows, kind 2, 2: cancel: looks for a waiter -> 2 yes
== rows, kind 2, 2: take: and again -> 2 yes
== rows, kind 2, 2: release: kept for a minimum time -> 2 yes
== rows, kind 1, 2: take: no such row -> 2 yes
== rows, kind 1, 2: insert -> 2 absent
== rows, kind 1, 2: take: held by another -> 2 no
== rows, kind 1, 2: take: held by another, after a poll -> 2 no
== rows, kind 1, 2: poll: held -> 2 yes
== rows, kind 1, 2: poll: in order -> 2 yes
== rows, kind 1, 2: take: in order -> 2 no
== rows, kind 1, 2: take: in order, registered -> 2 no
== rows, kind 1, 2: release: of another's -> 2 no
== rows, kind 1, 2: cancel: of another's -> 2 no
== rows, kind 1, 2: extend -> 2 yes
== rows, kind 1, 2: release -> 2 yes
== rows, kind 1, 2: poll: free -> 2 yes
== rows, kind 1, 2: take: free -> 2 yes
== rows, kind 1, 2: cancel -> 2 yes
== rows, kind 1, 2: take: free again -> 2 yes
== rows, kind 1, 2: release: looks for a waiter -> 2 yes
== rows, kind 1, 2: take: free once more -> 2 yes
== rows, kind 1, 2: cancel: looks for a waiter -> 2 yes
== rows, kind 1, 2: take: and again -> 2 yes
== rows, kind 1, 2: release: kept for a minimum time -> 2 yes
== rows, kind 2, 64: take: no such row -> 64 yes
== rows, kind 2, 64: insert -> 64 absent
== rows, kind 2, 64: take: held by another -> 64 no
== rows, kind 2, 64: take: held by another, after a poll -> 64 no
== rows, kind 2, 64: poll: held -> 64 yes
== rows, kind 2, 64: poll: in order -> 64 yes
== rows, kind 2, 64: take: in order -> 64 no
== rows, kind 2, 64: take: in order, registered -> 64 no
== rows, kind 2, 64: release: of another's -> 64 no
== rows, kind 2, 64: cancel: of another's -> 64 no
== rows, kind 2, 64: extend -> 64 yes
== rows, kind 2, 64: release -> 64 yes
== rows, kind 2, 64: poll: free -> 64 yes
== rows, kind 2, 64: take: free -> 64 yes
== rows, kind 2, 64: cancel -> 64 yes
== rows, kind 2, 64: take: free again -> 64 yes
== rows, kind 2, 64: release: looks for a waiter -> 64 yes
== rows, kind 2, 64: take: free once more -> 64 yes
== rows, kind 2, 64: cancel: looks for a waiter -> 64 yes
== rows, kind 2, 64: take: and again -> 64 yes
== rows, kind 2, 64: release: kept for a minimum time -> 64 yes
== rows, kind 1, 64: take: no such row -> 64 yes
== rows, kind 1, 64: insert -> 64 absent
== rows, kind 1, 64: take: held by another -> 64 no
== rows, kind 1, 64: take: held by another, after a poll -> 64 no
== rows, kind 1, 64: poll: held -> 64 yes
== rows, kind 1, 64: poll: in order -> 64 yes
== rows, kind 1, 64: take: in order -> 64 no
== rows, kind 1, 64: take: in order, registered -> 64 no
== rows, kind 1, 64: release: of another's -> 64 no
== rows, kind 1, 64: cancel: of another's -> 64 no
== rows, kind 1, 64: extend -> 64 yes
== rows, kind 1, 64: release -> 64 yes
== rows, kind 1, 64: poll: free -> 64 yes
== rows, kind 1, 64: take: free -> 64 yes
== rows, kind 1, 64: cancel -> 64 yes
== rows, kind 1, 64: take: free again -> 64 yes
== rows, kind 1, 64: release: looks for a waiter -> 64 yes
== rows, kind 1, 64: take: free once more -> 64 yes
== rows, kind 1, 64: cancel: looks for a waiter -> 64 yes
== rows, kind 1, 64: take: and again -> 64 yes
== rows, kind 1, 64: release: kept for a minimum time -> 64 yes
== operators, 1: take -> 1 failed
== inspect
== list
== overview
== waiters
== held rows
== revoke
== clean-up
== examine
== verify
UPDATE "order 1" SET "lock_owner" = IIF("lock_owner" = 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>') WHERE "id" = <nonce> AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+')
== release in a transaction
UPDATE "order 1" SET "lock_owner" = '', "lock_expire_time" = datetime('now') WHERE "id" = <nonce> AND "lock_owner" IN ('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/<tables><attempt>+')
== blocker
