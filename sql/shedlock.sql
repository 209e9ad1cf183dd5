-- SPDX-License-Identifier: BSL-1.0
-- The table of scheme=shedlock on MariaDB and MySQL, as ShedLock's pages have it, for a program that is the first one there.
-- @TABLE@ is its name (table= in the URL), @LOCKS@ its database. Without a default older servers make a TIMESTAMP follow each
-- update.
CREATE TABLE `@LOCKS@`.`@TABLE@` (
  `name` VARCHAR(64) NOT NULL,
  `lock_until` TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  `locked_at` TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  `locked_by` VARCHAR(255) NOT NULL,
  PRIMARY KEY (`name`))
 ENGINE=InnoDB;
