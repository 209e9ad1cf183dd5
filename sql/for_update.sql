-- SPDX-License-Identifier: BSL-1.0
-- The table of scheme=for_update on MariaDB and MySQL, for a program that is the first one there. @TABLE@ is its name (table= in
-- the URL), @LOCKS@ its database. Each key needs a row beforehand, or make_rows=1 in the URL. The second column is not in the
-- index, so that a poll sees a row that a program has locked by the primary key.
CREATE TABLE `@LOCKS@`.`@TABLE@` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `resource` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `note` VARCHAR(64) NOT NULL DEFAULT '',
  UNIQUE KEY `unique_resource` (`resource`))
 ENGINE=InnoDB;
