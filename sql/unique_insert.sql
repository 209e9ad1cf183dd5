-- SPDX-License-Identifier: BSL-1.0
-- The table of scheme=unique_insert on MariaDB and MySQL, for a program that is the first one there. @TABLE@ is its name
-- (table= in the URL), @LOCKS@ its database. The index keeps clean-up from reading the whole table.
CREATE TABLE `@LOCKS@`.`@TABLE@` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `resource` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `lock_owner` VARCHAR(50) NOT NULL DEFAULT '',
  `lock_expire_time` TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  UNIQUE KEY `unique_resource` (`resource`),
  KEY `expiry` (`lock_expire_time`))
 ENGINE=InnoDB;
