-- SPDX-License-Identifier: BSL-1.0
-- What was done once (dlock::once), on MariaDB and MySQL: one row for each key. A start with schema=create makes this table, and so does the
-- first call. A program whose user may not make tables needs it beforehand. Another prefix than dlock_ (prefix= in the URL) replaces it in
-- the name.
--
--   mariadb locks < done-mysql.sql

-- A row counts until valid_until_us (for ever if that is NULL). fence is that of the lease, or 0 if the application's transaction
-- has written it.
CREATE TABLE `dlock_done` (
  `lock_key` VARBINARY(255) NOT NULL PRIMARY KEY,
  `done_at_us` BIGINT NOT NULL,
  `valid_until_us` BIGINT NULL,
  `fence` BIGINT UNSIGNED NOT NULL,
  `done_by` VARCHAR(400) CHARACTER SET utf8mb4 NOT NULL,
  KEY `dlock_done_until` (`valid_until_us`))
 ENGINE=InnoDB;
