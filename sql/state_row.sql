-- SPDX-License-Identifier: BSL-1.0
-- The table of scheme=state_row on MariaDB and MySQL, for a program that is the first one there. @TABLE@ is its name (table= in
-- the URL), @LOCKS@ its database. The index keeps clean-up from reading the whole table.
CREATE TABLE `@LOCKS@`.`@TABLE@` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lock_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `lock_state` INT NOT NULL DEFAULT 0,
  `lock_info` VARCHAR(64) NOT NULL DEFAULT '',
  `expiration_time` DATETIME(6) DEFAULT NULL,
  UNIQUE KEY `uniq_method_name` (`lock_name`),
  KEY `expiry` (`expiration_time`))
 ENGINE=InnoDB;
