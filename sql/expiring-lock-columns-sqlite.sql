-- SPDX-License-Identifier: BSL-1.0
-- The columns that let rows of the table @TABLE@ be locked in place in an SQLite file, by dlock::expiring_lock_columns. A
-- column that is added can't have CURRENT_TIMESTAMP as its default.
ALTER TABLE "@TABLE@" ADD COLUMN "lock_owner" TEXT NOT NULL DEFAULT '';
ALTER TABLE "@TABLE@" ADD COLUMN "lock_expire_time" TEXT NOT NULL DEFAULT '2000-01-01 00:00:00';
