-- SPDX-License-Identifier: BSL-1.0
-- The waiter table of the schemes t_lock, unique_insert, state_row and shedlock with wake=on, on MariaDB and MySQL. @TABLE@ is the name of
-- the lock table (table= in the URL), @LOCKS@ its database. It has one row for each key and process that waits, which counts
-- while the server has the named lock 'dlock.<wake_id>'.
CREATE TABLE `@LOCKS@`.`dlock_waiter_@TABLE@` (
  `lock_key` VARBINARY(255) NOT NULL,
  `since_us` BIGINT NOT NULL,
  `wake_id` BINARY(16) NOT NULL,
  `session_id` BINARY(16) NOT NULL,
  PRIMARY KEY (`lock_key`,
               `since_us`,
               `wake_id`))
 ENGINE=InnoDB;
