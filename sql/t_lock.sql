-- SPDX-License-Identifier: BSL-1.0
-- The table of scheme=t_lock on MariaDB and MySQL, for a program that is the first one there. @TABLE@ is its name (table= in the
-- URL), @LOCKS@ its database.
CREATE TABLE `@LOCKS@`.`@TABLE@` (
  `lock_key` VARCHAR(32) NOT NULL PRIMARY KEY,
  `request_id` VARCHAR(64) NOT NULL DEFAULT '',
  `lock_count` INT NOT NULL DEFAULT 0,
  `timeout` BIGINT NOT NULL DEFAULT 0,
  `version` INT NOT NULL DEFAULT 0)
 ENGINE=InnoDB;
