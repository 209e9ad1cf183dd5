-- SPDX-License-Identifier: BSL-1.0
-- Readers and holders of permits (lock_options::mode), on MariaDB and MySQL: one row for each. A start with schema=create makes this
-- table, and so does the first call. A program whose user may not make tables needs it beforehand. Another prefix than dlock_ (prefix= in
-- the URL) replaces it in the name.
--
--   mariadb locks < member-mysql.sql

-- A row counts until its session is gone.
CREATE TABLE `dlock_member` (
  `lock_key` VARBINARY(255) NOT NULL,
  `session_id` BINARY(16) NOT NULL,
  `nonce` BIGINT UNSIGNED NOT NULL,
  `units` INT UNSIGNED NOT NULL,
  `fence` BIGINT UNSIGNED NOT NULL,
  `joined_at_us` BIGINT NOT NULL,
  `verified_by` BIGINT UNSIGNED NOT NULL,
  `verifies` BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (`lock_key`,
               `session_id`,
               `nonce`))
 ENGINE=InnoDB;
