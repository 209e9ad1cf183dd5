/* Adds the columns of dlock's row locks to tables that exist already. Generated. */

ALTER TABLE "ticket" ADD COLUMN "lock_owner" TEXT NULL;
ALTER TABLE "ticket" ADD COLUMN "lock_expires_at_us" INTEGER NULL;
ALTER TABLE "ticket" ADD COLUMN "lock_fence" INTEGER NOT NULL DEFAULT 0;
