-- SPDX-License-Identifier: BSL-1.0
-- The columns that let rows of the table @TABLE@ be locked in place in an SQLite file, by dlock::lock_columns.
ALTER TABLE "@TABLE@" ADD COLUMN "lock_owner" TEXT NULL;
ALTER TABLE "@TABLE@" ADD COLUMN "lock_expires_at_us" INTEGER NULL;
ALTER TABLE "@TABLE@" ADD COLUMN "lock_fence" INTEGER NOT NULL DEFAULT 0;
