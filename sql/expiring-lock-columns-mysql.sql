-- SPDX-License-Identifier: BSL-1.0
-- The columns that let rows of the table @TABLE@ be locked in place on MariaDB and MySQL, by
-- dlock::expiring_lock_columns. The expiry has a default of its own: without one, older servers make the first TIMESTAMP
-- follow every update.
ALTER TABLE `@TABLE@`
  ADD COLUMN `lock_owner` VARCHAR(50) NOT NULL DEFAULT '',
  ADD COLUMN `lock_expire_time` TIMESTAMP(0) NOT NULL DEFAULT '2000-01-01 00:00:00';
