-- SPDX-License-Identifier: BSL-1.0
-- The lock tables of dlock on MariaDB and MySQL, version 1. A first start with schema=create makes them by the CREATE TABLE
-- statements of this file, in this order, which are those that ODB's compiler writes from the mapped classes in odb/. For an empty
-- database, or one that has none of them. Programs may run with schema=verify after it.
--
--   mariadb locks < schema-mysql.sql
--
-- Another prefix than dlock_ (prefix= in the URL) replaces it in the names of the tables; the value 'dlock' stays.

-- Row 1: no fencing token at or below this is given to a new key. Row 4: a short id of these tables, which rows that are locked in
-- place have in their owner's text.
CREATE TABLE `dlock_floor` (
  `id` INT NOT NULL PRIMARY KEY,
  `fence` BIGINT UNSIGNED NOT NULL)
 ENGINE=InnoDB;

-- Who holds what: one row for each key that was locked lately.
CREATE TABLE `dlock_lock` (
  `lock_key` VARBINARY(255) NOT NULL PRIMARY KEY,
  `session_id` BINARY(16) NULL,
  `nonce` BIGINT UNSIGNED NOT NULL,
  `fence` BIGINT UNSIGNED NOT NULL,
  `acquired_at_us` BIGINT NOT NULL,
  `expires_at_us` BIGINT NULL,
  `verified_by` BIGINT UNSIGNED NOT NULL DEFAULT 0,
  `verifies` BIGINT UNSIGNED NOT NULL DEFAULT 0)
 ENGINE=InnoDB;

-- Who is alive: one row for each process and ttl class.
CREATE TABLE `dlock_session` (
  `id` BINARY(16) NOT NULL PRIMARY KEY,
  `expires_at_us` BIGINT NOT NULL,
  `ttl_us` BIGINT NOT NULL,
  `beat` BIGINT UNSIGNED NOT NULL,
  `revoked` TINYINT(1) NOT NULL,
  `host` VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
  `pid` BIGINT NOT NULL,
  `label` VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
  `started_at_us` BIGINT NOT NULL,
  `boot` VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL)
 ENGINE=InnoDB;

-- Who waits: one row for each key and process. A row counts while the server has the named lock 'dlock.<wake_id>'.
CREATE TABLE `dlock_waiter` (
  `lock_key` VARBINARY(255) NOT NULL,
  `since_us` BIGINT NOT NULL,
  `wake_id` BINARY(16) NOT NULL,
  `session_id` BINARY(16) NOT NULL,
  `held` MEDIUMTEXT CHARACTER SET ascii NULL,
  PRIMARY KEY (`lock_key`,
               `since_us`,
               `wake_id`))
 ENGINE=InnoDB;

CREATE TABLE `dlock_schema_version` (
  `name` VARCHAR(255) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  `version` BIGINT UNSIGNED NOT NULL,
  `migration` TINYINT(1) NOT NULL)
 ENGINE=InnoDB;

INSERT INTO `dlock_floor` (`id`, `fence`) VALUES
  (1, 0),
  (4, CONV(LEFT(SHA2(CONCAT(DATABASE(), '.dlock_'), 256), 8), 16, 10) & 1048575);

-- Last: from now on the tables count as complete.
INSERT INTO `dlock_schema_version` (`name`, `version`, `migration`) VALUES ('dlock', 1, 0);
