-- SPDX-License-Identifier: BSL-1.0
-- The columns that let rows of the table @TABLE@ be locked in place on MariaDB and MySQL, by dlock::lock_columns.
ALTER TABLE `@TABLE@`
  ADD COLUMN `lock_owner` VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NULL,
  ADD COLUMN `lock_expires_at_us` BIGINT NULL,
  ADD COLUMN `lock_fence` BIGINT UNSIGNED NOT NULL DEFAULT 0;
