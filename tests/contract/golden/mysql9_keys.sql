== the store begins, without tables of its own
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), @dlock_session, CONNECTION_ID()
text: SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', 'log_bin', 'binlog_format', 'autocommit', 'time_zone', 'version')
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT GET_LOCK('dlock:<lock tables>', 1)
-- 2 times:
text: SELECT version, migration FROM `P_schema_version` WHERE name='dlock'
--
text: CREATE TABLE IF NOT EXISTS `P_floor` (
  `id` INT NOT NULL PRIMARY KEY,
  `fence` BIGINT UNSIGNED NOT NULL)
 ENGINE=InnoDB
text: CREATE TABLE IF NOT EXISTS `P_lock` (
  `lock_key` VARBINARY(255) NOT NULL PRIMARY KEY,
  `session_id` BINARY(16) NULL,
  `nonce` BIGINT UNSIGNED NOT NULL,
  `fence` BIGINT UNSIGNED NOT NULL,
  `acquired_at_us` BIGINT NOT NULL,
  `expires_at_us` BIGINT NULL,
  `verified_by` BIGINT UNSIGNED NOT NULL DEFAULT 0,
  `verifies` BIGINT UNSIGNED NOT NULL DEFAULT 0)
 ENGINE=InnoDB
text: CREATE TABLE IF NOT EXISTS `P_session` (
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
 ENGINE=InnoDB
text: CREATE TABLE IF NOT EXISTS `P_waiter` (
  `lock_key` VARBINARY(255) NOT NULL,
  `since_us` BIGINT NOT NULL,
  `wake_id` BINARY(16) NOT NULL,
  `session_id` BINARY(16) NOT NULL,
  `held` MEDIUMTEXT CHARACTER SET ascii NULL,
  PRIMARY KEY (`lock_key`,
               `since_us`,
               `wake_id`))
 ENGINE=InnoDB
text: CREATE TABLE IF NOT EXISTS `P_schema_version` (
  `name` VARCHAR(255) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  `version` BIGINT UNSIGNED NOT NULL,
  `migration` TINYINT(1) NOT NULL)
 ENGINE=InnoDB
text: INSERT IGNORE INTO `P_schema_version` (
  `name`, `version`, `migration`)
  VALUES ('dlock', 1, 0)
text: SELECT `fence` FROM `P_floor` WHERE `id`=1
text: INSERT IGNORE INTO `P_floor` (`id`, `fence`) SELECT 1, IFNULL(MAX(`fence`), 0) + 0 FROM `P_lock`
text: SELECT `fence` FROM `P_floor` WHERE `id`=4
text: INSERT IGNORE INTO `P_floor` (`id`, `fence`) VALUES (4, CONV(LEFT(SHA2(CONCAT(DATABASE(), '.P_'), 256), 8), 16, 10) & 1048575)
text: SELECT 1 FROM `P_done` WHERE 1 = 0
text: CREATE TABLE IF NOT EXISTS `P_done` (
  `lock_key` VARBINARY(255) NOT NULL PRIMARY KEY,
  `done_at_us` BIGINT NOT NULL,
  `valid_until_us` BIGINT NULL,
  `fence` BIGINT UNSIGNED NOT NULL,
  `done_by` VARCHAR(400) CHARACTER SET utf8mb4 NOT NULL,
  KEY `P_done_until` (`valid_until_us`))
 ENGINE=InnoDB
text: SELECT 1 FROM `P_member` WHERE 1 = 0
text: CREATE TABLE IF NOT EXISTS `P_member` (
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
 ENGINE=InnoDB
text: SELECT 1 FROM `P_member` WHERE 1 = 0
text: DO RELEASE_LOCK('dlock:<lock tables>')
text: SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=X'<P_ in hex>6C6F636B'
text: SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=X'<P_ in hex>73657373696F6E'
text: SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=X'<P_ in hex>666C6F6F72'
prepare: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `verified_by` = <connection> WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF')
prepare: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT ?, ?, ?, LAST_INSERT_ID(`fence` + 1), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0 FROM `P_floor` WHERE `id` = 1 LOCK IN SHARE MODE
prepare: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
prepare: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC ... 970-01-01',UTC_TIMESTAMP(6)) OR (`expires_at_us` IS NULL AND NOT EXISTS (SELECT 1 FROM `P_session` s WHERE s.`id` = ?))) (515 bytes, 8dcb2abd2bbec691)
prepare: UPDATE `P_lock` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
prepare: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
prepare: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
prepare: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
prepare: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `verified_by` = <connection> WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND CONCAT(@@global.read_only) IN ('0', 'OFF')
prepare: UPDATE `P_lock` SET `fence` = LAST_INSERT_ID(`fence` + ?) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND CONCAT(@@global.read_only) IN ('0', 'OFF')
prepare: INSERT INTO `P_session` ( `id`, `expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot`) VALUES (?, ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), ?, 0, 0, ?, ?, ?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), '')
prepare: UPDATE `P_session` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), `beat` = `beat` + 1 WHERE `id` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND NOT `revoked` AND CONCAT(@@global.read_only) IN ('0', 'OFF')
prepare: DELETE FROM `P_session` WHERE `id` = ? AND `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
prepare: DELETE FROM `P_session` WHERE `id` = ?
text: SELECT `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, l.`expires_at_us`, `verified_by`, `verifies`, `id`, s.`expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot` FROM `P_lock` l, `P_session` s WHERE 1=0
text: SELECT w.`lock_key`, w.`since_us`, w.`wake_id`, w.`session_id`, w.`held` FROM `P_waiter` w WHERE 1 = 0
text: SELECT `fence` FROM `locks`.`P_floor` WHERE `id` = 4
== a connection
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
== session: open
prepare: INSERT INTO `P_session` ( `id`, `expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot`) VALUES (?, ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), ?, 0, 0, ?, ?, ?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), '')
execute: INSERT INTO `P_session` ( `id`, `expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot`) VALUES (?, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ?, ?, ?, ?, ?, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?)
== session: open, prepared before
execute: INSERT INTO `P_session` ( `id`, `expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot`) VALUES (?, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ?, ?, ?, ?, ?, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?)
== session: renew
prepare: UPDATE `P_session` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), `beat` = `beat` + 1 WHERE `id` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND NOT `revoked` AND CONCAT(@@global.read_only) IN ('0', 'OFF')
execute: UPDATE `P_session` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))), `beat` = `beat` + ? WHERE `id` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) AND NOT `revoked` AND CONCAT(@@global.read_only) IN (?, ?)
== session: remove if it has expired
prepare: DELETE FROM `P_session` WHERE `id` = ? AND `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
execute: DELETE FROM `P_session` WHERE `id` = ? AND `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))
== keys, by session, 1: take: no such row -> 1 no
prepare: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `verified_by` = <connection> WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF')
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: insert -> 1 yes
prepare: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT ?, ?, ?, LAST_INSERT_ID(`fence` + 1), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0 FROM `P_floor` WHERE `id` = 1 LOCK IN SHARE MODE
execute: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT ?, ?, ?, LAST_INSERT_ID(`fence` + ?), TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ? FROM `P_floor` WHERE `id` = ? LOCK IN SHARE MODE
== keys, by session, 1: take: held by another -> 1 no
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: take: held by another, after a poll -> 1 no
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
text: SELECT CONCAT(@@global.read_only) IN ('0', 'OFF')
== keys, by session, 1: poll: held -> 1 yes
prepare: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
== keys, by session, 1: poll: in order -> 1 yes
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
== keys, by session, 1: take: in order -> 1 no
text: UPDATE `P_lock` SET `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `nonce` = <nonce>, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = NULL + TI ... ke_id` = X'<number>' AND (m.`since_us` < w.`since_us` OR (m.`since_us` = w.`since_us` AND m.`wake_id` < w.`wake_id`))))) (905 bytes, f70fae9bcf71a60a)
== keys, by session, 1: take: in order, registered -> 1 no
text: UPDATE `P_lock` SET `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `nonce` = <nonce>, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = NULL + TI ... ke_id` = X'<number>' AND (m.`since_us` < w.`since_us` OR (m.`since_us` = w.`since_us` AND m.`wake_id` < w.`wake_id`))))) (905 bytes, 2d0eef508fa18bde)
== keys, by session, 1: release: of another's -> 1 no
prepare: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, by session, 1: cancel: of another's -> 1 no
prepare: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
== keys, by session, 1: pass on -> 1 yes
prepare: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `verified_by` = <connection> WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND CONCAT(@@global.read_only) IN ('0', 'OFF')
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: release -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, by session, 1: poll: free -> 1 yes
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
== keys, by session, 1: take: free -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: cancel -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
== keys, by session, 1: take: free again -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: release: looks for a waiter -> 1 yes
prepare: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND (SELECT LAST_INSERT_ID(COALESCE((SELECT IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w WHERE w.`lock_key` = ? AND w.`wake_id` <> ? AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` LIMIT 1), <number>))) IS NOT NULL
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND (SELECT LAST_INSERT_ID(COALESCE((SELECT IS_USED_LOCK(CONCAT(?, HEX(w.`wake_id`))) FROM `P_waiter` w WHERE w.`lock_key` = ? AND w.`wake_id` <> ? AND IS_USED_LOCK(CONCAT(?, HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` LIMIT ?), ?))) IS NOT NULL
== keys, by session, 1: take: free once more -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: cancel: looks for a waiter -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR (l.`lock_key` IS NOT NULL AND l.`session_id` IS NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, by session, 1: take: and again -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: release: kept for a minimum time -> 1 yes
prepare: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
execute: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, by session, 1: take: by a session that ends -> 1 yes
execute: INSERT INTO `P_session` ( `id`, `expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot`) VALUES (?, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ?, ?, ?, ?, ?, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?)
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: poll: its session is gone -> 1 yes
prepare: DELETE FROM `P_session` WHERE `id` = ?
execute: DELETE FROM `P_session` WHERE `id` = ?
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
== keys, by session, 1: take over -> 1 yes
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
prepare: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC ... 970-01-01',UTC_TIMESTAMP(6)) OR (`expires_at_us` IS NULL AND NOT EXISTS (SELECT 1 FROM `P_session` s WHERE s.`id` = ?))) (515 bytes, 8dcb2abd2bbec691)
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND (`expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) OR (`expires_at_us` IS NULL AND NOT EXISTS (SELECT ? FROM `P_session` s WHERE s.`id` = ?)))
== keys, by session, 1: release -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, by session, 1: a reader joins a free key -> 1 yes
prepare: INSERT INTO `P_member` (`lock_key`, `session_id`, `nonce`, `units`, `fence`, `joined_at_us`, `verified_by`, `verifies`) SELECT l.`lock_key`, ?, ?, ?, LAST_INSERT_ID(l.`fence`), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0 FROM `P_lock` l WHERE l.`lock_key` = ? AND l.`session_id` = X'646c6f636b3a6f70656e3a7368617265' AND CONCAT(@@global.read_only) IN ('0', 'OFF') LOCK IN SHARE MODE
execute: INSERT INTO `P_member` (`lock_key`, `session_id`, `nonce`, `units`, `fence`, `joined_at_us`, `verified_by`, `verifies`) SELECT l.`lock_key`, ?, ?, ?, LAST_INSERT_ID(l.`fence`), TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ? FROM `P_lock` l WHERE l.`lock_key` = ? AND l.`session_id` = X? AND CONCAT(@@global.read_only) IN (?, ?) LOCK IN SHARE MODE
prepare: UPDATE `P_lock` SET `session_id` = X'646c6f636b3a6f70656e3a7368617265', `nonce` = 0, `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = <number>, `verified_by` = <connection> WHERE `lock_ ... ` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - 3000000)) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (548 bytes, eb980d32a9d01daa)
execute: UPDATE `P_lock` SET `session_id` = X?, `nonce` = ?, `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ?, `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) OR (`session_id` = X? AND `acquired_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) - ?)) AND CONCAT(@@global.read_only) IN (?, ?)
execute: INSERT INTO `P_member` (`lock_key`, `session_id`, `nonce`, `units`, `fence`, `joined_at_us`, `verified_by`, `verifies`) SELECT l.`lock_key`, ?, ?, ?, LAST_INSERT_ID(l.`fence`), TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ? FROM `P_lock` l WHERE l.`lock_key` = ? AND l.`session_id` = X? AND CONCAT(@@global.read_only) IN (?, ?) LOCK IN SHARE MODE
== verify a reader
SELECT 1 FROM `locks`.`P_member` WHERE `lock_key` = X'<golden n>' AND `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `nonce` = <nonce> AND `fence` = 42 AND CONCAT(@@global.read_only) IN ('0', 'OFF') AND @@server_uuid=<this server> LOCK IN SHARE MODE
== keys, by session, 1: a reader leaves -> 1 yes
prepare: DELETE FROM `P_member` WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ? AND NOT EXISTS (SELECT 1 FROM `P_waiter` w WHERE w.`lock_key` = ? AND w.`wake_id` <> ? AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL)
execute: DELETE FROM `P_member` WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ? AND NOT EXISTS (SELECT ? FROM `P_waiter` w WHERE w.`lock_key` = ? AND w.`wake_id` <> ? AND IS_USED_LOCK(CONCAT(?, HEX(w.`wake_id`))) IS NOT NULL)
== keys, by session, 1: a reader joins -> 1 yes
execute: INSERT INTO `P_member` (`lock_key`, `session_id`, `nonce`, `units`, `fence`, `joined_at_us`, `verified_by`, `verifies`) SELECT l.`lock_key`, ?, ?, ?, LAST_INSERT_ID(l.`fence`), TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ? FROM `P_lock` l WHERE l.`lock_key` = ? AND l.`session_id` = X? AND CONCAT(@@global.read_only) IN (?, ?) LOCK IN SHARE MODE
== keys, by session, 1: poll: members -> 1 yes
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
prepare: SELECT l.`session_id`, l.`fence`, l.`verifies`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.`acquired_at_us`, COALESCE((SELECT SUM(c.`units`) FROM `P_member` c WHERE c.`lock_key` = l.`lock_key`), 0), m.`session_id` ... .`lock_key` LEFT JOIN `P_session` s ON s.`id` = m.`session_id` WHERE l.`lock_key` = ? ORDER BY s.`expires_at_us` LIMIT 1 (597 bytes, 973353b15846fa78)
execute: SELECT l.`session_id`, l.`fence`, l.`verifies`, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) - l.`acquired_at_us`, COALESCE((SELECT SUM(c.`units`) FROM `P_member` c WHERE c.`lock_key` = l.`lock_key`), ?), m.`session_id`, s.`id` IS ... .`lock_key` LEFT JOIN `P_session` s ON s.`id` = m.`session_id` WHERE l.`lock_key` = ? ORDER BY s.`expires_at_us` LIMIT ? (573 bytes, 280f676b1c576dd7)
== keys, by session, 1: a reader leaves -> 1 yes
execute: DELETE FROM `P_member` WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ? AND NOT EXISTS (SELECT ? FROM `P_waiter` w WHERE w.`lock_key` = ? AND w.`wake_id` <> ? AND IS_USED_LOCK(CONCAT(?, HEX(w.`wake_id`))) IS NOT NULL)
== keys, by session, 1: a permit -> 1 yes
prepare: INSERT INTO `P_member` (`lock_key`, `session_id`, `nonce`, `units`, `fence`, `joined_at_us`, `verified_by`, `verifies`) SELECT l.`lock_key`, ?, ?, ?, LAST_INSERT_ID(l.`fence`), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6 ...  COALESCE(SUM(m.`units`), 0) FROM `P_member` m WHERE m.`lock_key` = l.`lock_key` LOCK IN SHARE MODE) + ? <= ? FOR UPDATE (523 bytes, 01f50ca6e0e01569)
execute: INSERT INTO `P_member` (`lock_key`, `session_id`, `nonce`, `units`, `fence`, `joined_at_us`, `verified_by`, `verifies`) SELECT l.`lock_key`, ?, ?, ?, LAST_INSERT_ID(l.`fence`), TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ? FROM `P_lock` l WHERE l.`lock_key` = ? AND l.`session_id` = X? AND CONCAT(@@global.read_only) IN (?, ?) AND (SELECT COALESCE(SUM(m.`units`), ?) FROM `P_member` m WHERE m.`lock_key` = l.`lock_key` LOCK IN SHARE MODE) + ? <= ? FOR UPDATE
== keys, by session, 1: a permit is cancelled -> 1 yes
execute: DELETE FROM `P_member` WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ? AND NOT EXISTS (SELECT ? FROM `P_waiter` w WHERE w.`lock_key` = ? AND w.`wake_id` <> ? AND IS_USED_LOCK(CONCAT(?, HEX(w.`wake_id`))) IS NOT NULL)
== keys, by session, 1: close -> 1 yes
prepare: UPDATE `P_lock` SET `verified_by` = CASE WHEN `session_id` = X'646c6f636b3a6f70656e3a7368617265' THEN 0 WHEN ? IN (0, `nonce`) THEN `verified_by` ELSE `nonce` END, `nonce` = CASE WHEN `session_id` = X'646c6f636b3a6f70656e3a73686172 ... X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') AND CONCAT(@@global.read_only) IN ('0', 'OFF') (673 bytes, 7524d05dd8211184)
execute: UPDATE `P_lock` SET `verified_by` = CASE WHEN `session_id` = X? THEN ? WHEN ? IN (?, `nonce`) THEN `verified_by` ELSE `nonce` END, `nonce` = CASE WHEN `session_id` = X? OR ? <> ? THEN ? ELSE `nonce` END, `verifies` = `verifies` + CASE `session_id` WHEN X? THEN ? ELSE ? END, `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id` = X? WHERE `lock_key` = ? AND `session_id` IN (X?, X?) AND CONCAT(@@global.read_only) IN (?, ?)
execute: SELECT l.`session_id`, l.`fence`, l.`verifies`, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) - l.`acquired_at_us`, COALESCE((SELECT SUM(c.`units`) FROM `P_member` c WHERE c.`lock_key` = l.`lock_key`), ?), m.`session_id`, s.`id` IS ... .`lock_key` LEFT JOIN `P_session` s ON s.`id` = m.`session_id` WHERE l.`lock_key` = ? ORDER BY s.`expires_at_us` LIMIT ? (573 bytes, 280f676b1c576dd7)
== keys, by session, 1: open -> 1 yes
text: UPDATE `P_lock` SET `session_id` = CASE WHEN `nonce` IN (0, 0) AND `verified_by` IN (0, 0) THEN X'646c6f636b3a6f70656e3a7368617265' ELSE X'646c6f636b3a636c6f7365643a6e6f77' END, `nonce` = CASE `nonce` WHEN 0 THEN `verified_by` ELSE `nonce` END, `verified_by` = CASE WHEN `nonce` = 0 OR `verified_by` IN (0, `nonce`) THEN 0 ELSE `verified_by` END WHERE `lock_key` = X'<golden n>' AND `session_id` = X'646c6f636b3a636c6f7365643a6e6f77'
text: SELECT IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))), l.`session_id` = X'646c6f636b3a6f70656e3a7368617265' FROM `P_lock` l JOIN `P_waiter` w ON w.`lock_key` = CASE l.`session_id` WHEN X'646c6f636b3a636c6f7365643a6e6f77' THEN X'0063 ...  X'<number>' AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`since_us`, w.`wake_id` LIMIT 1 (714 bytes, 4476fdc8e40ef5d6)
== keys, by session, 1: close again -> 1 yes
execute: UPDATE `P_lock` SET `verified_by` = CASE WHEN `session_id` = X? THEN ? WHEN ? IN (?, `nonce`) THEN `verified_by` ELSE `nonce` END, `nonce` = CASE WHEN `session_id` = X? OR ? <> ? THEN ? ELSE `nonce` END, `verifies` = `verifies` + CASE `session_id` WHEN X? THEN ? ELSE ? END, `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id` = X? WHERE `lock_key` = ? AND `session_id` IN (X?, X?) AND CONCAT(@@global.read_only) IN (?, ?)
execute: SELECT l.`session_id`, l.`fence`, l.`verifies`, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) - l.`acquired_at_us`, COALESCE((SELECT SUM(c.`units`) FROM `P_member` c WHERE c.`lock_key` = l.`lock_key`), ?), m.`session_id`, s.`id` IS ... .`lock_key` LEFT JOIN `P_session` s ON s.`id` = m.`session_id` WHERE l.`lock_key` = ? ORDER BY s.`expires_at_us` LIMIT ? (573 bytes, 280f676b1c576dd7)
== keys, by session, 1: poll: closed, without members -> 1 yes
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
execute: SELECT l.`session_id`, l.`fence`, l.`verifies`, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) - l.`acquired_at_us`, COALESCE((SELECT SUM(c.`units`) FROM `P_member` c WHERE c.`lock_key` = l.`lock_key`), ?), m.`session_id`, s.`id` IS ... .`lock_key` LEFT JOIN `P_session` s ON s.`id` = m.`session_id` WHERE l.`lock_key` = ? ORDER BY s.`expires_at_us` LIMIT ? (573 bytes, 280f676b1c576dd7)
== keys, by session, 1: take: of a closed key -> 1 yes
prepare: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC ... s` = ? AND NOT EXISTS (SELECT 1 FROM `P_member` m WHERE m.`lock_key` = ?) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (509 bytes, 68b6508344399c13)
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND `session_id` = X? AND `fence` = ? AND `verifies` = ? AND NOT EXISTS (SELECT ? FROM `P_member` m WHERE m.`lock_key` = ?) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, by session, 1: release: of a key that was shared -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, expiring, 1: take: no such row -> 1 no
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, expiring, 1: insert -> 1 yes
execute: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT ?, ?, ?, LAST_INSERT_ID(`fence` + ?), TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ? FROM `P_floor` WHERE `id` = ? LOCK IN SHARE MODE
== keys, expiring, 1: take: held by another -> 1 no
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, expiring, 1: take: held by another, after a poll -> 1 no
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
text: SELECT CONCAT(@@global.read_only) IN ('0', 'OFF')
== keys, expiring, 1: poll: held -> 1 yes
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
== keys, expiring, 1: poll: in order -> 1 yes
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
== keys, expiring, 1: take: in order -> 1 no
text: UPDATE `P_lock` SET `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `nonce` = <nonce>, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = 360000000 ... ke_id` = X'<number>' AND (m.`since_us` < w.`since_us` OR (m.`since_us` = w.`since_us` AND m.`wake_id` < w.`wake_id`))))) (911 bytes, c627716354773888)
== keys, expiring, 1: take: in order, registered -> 1 no
text: UPDATE `P_lock` SET `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `nonce` = <nonce>, `fence` = LAST_INSERT_ID(`fence` + 1), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), `expires_at_us` = 360000000 ... ke_id` = X'<number>' AND (m.`since_us` < w.`since_us` OR (m.`since_us` = w.`since_us` AND m.`wake_id` < w.`wake_id`))))) (911 bytes, cec7bf38da6e092a)
== keys, expiring, 1: release: of another's -> 1 no
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, expiring, 1: cancel: of another's -> 1 no
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
== keys, expiring, 1: extend -> 1 yes
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
prepare: UPDATE `P_lock` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
execute: UPDATE `P_lock` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))
== keys, expiring, 1: release -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, expiring, 1: poll: free -> 1 yes
execute: SELECT l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` = ?
== keys, expiring, 1: take: free -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, expiring, 1: cancel -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
== keys, expiring, 1: take: free again -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, expiring, 1: release: looks for a waiter -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND (SELECT LAST_INSERT_ID(COALESCE((SELECT IS_USED_LOCK(CONCAT(?, HEX(w.`wake_id`))) FROM `P_waiter` w WHERE w.`lock_key` = ? AND w.`wake_id` <> ? AND IS_USED_LOCK(CONCAT(?, HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` LIMIT ?), ?))) IS NOT NULL
== keys, expiring, 1: take: free once more -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, expiring, 1: cancel: looks for a waiter -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = ? AND `session_id` = ? AND `nonce` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR (l.`lock_key` IS NOT NULL AND l.`session_id` IS NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, expiring, 1: take: and again -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== keys, expiring, 1: release: kept for a minimum time -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
== keys, by session, 2: take: no such row -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, 241aa53f4231f028)
== keys, by session, 2: insert -> 2 yes
text: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT new_key, X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', new_nonce, LAST_INSERT_ID(`fence` + 1), TIMESTAMPDIF ... n n>' AS new_key,<nonce> AS new_nonce UNION ALL SELECT X'<golden n>',<nonce>) new_keys WHERE `id` = 1 LOCK IN SHARE MODE (518 bytes, d55f3e7f0386912d)
== keys, by session, 2: take: held by another -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, a3150f5f1468fe45)
== keys, by session, 2: take: held by another, after a poll -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, a3150f5f1468fe45)
== keys, by session, 2: poll: held -> 2 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: poll: in order -> 2 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: take: in order -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, a3150f5f1468fe45)
== keys, by session, 2: take: in order, registered -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, a3150f5f1468fe45)
== keys, by session, 2: release: of another's -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2' AND `fence` = CASE `lock_key` WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (521 bytes, b1cdff952edfa0f7)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: cancel: of another's -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2' AND `nonce` = CASE `lock_key` WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (521 bytes, 7228505776ff8b2c)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: pass on -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... = CASE `lock_key` WHEN X'<golden n>' THEN 1 WHEN X'<golden n>' THEN 1 END AND CONCAT(@@global.read_only) IN ('0', 'OFF') (899 bytes, 049d8dd75376b714)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: release -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `fence` = CASE `lock_key` WHEN X'<golden n>' THEN 2 WHEN X'<golden n>' THEN 2 END (521 bytes, 4e13adcc7cc70ab3)
== keys, by session, 2: poll: free -> 2 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: take: free -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, 241aa53f4231f028)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: cancel -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 1A1A1A1A1A1A1A1A1A1A1' AND `nonce` = CASE `lock_key` WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> END (533 bytes, 251bf4b78a2efc05)
== keys, by session, 2: take: free again -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, 241aa53f4231f028)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: release: looks for a waiter -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `fence` = CASE `lock_key` WHEN X'<golden n>' THEN 4 WHEN X'<golden n>' THEN 4 END (521 bytes, 5b81377ead5544ca)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR (l.`lock_key` IS NOT NULL AND l.`session_id` IS NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, by session, 2: take: free once more -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, 241aa53f4231f028)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: cancel: looks for a waiter -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 1A1A1A1A1A1A1A1A1A1A1' AND `nonce` = CASE `lock_key` WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> END (533 bytes, 251bf4b78a2efc05)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR (l.`lock_key` IS NOT NULL AND l.`session_id` IS NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, by session, 2: take: and again -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, 241aa53f4231f028)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: release: kept for a minimum time -> 2 yes
-- 2 times:
execute: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
--
== keys, by session, 2: take: by a session that ends -> 2 yes
execute: INSERT INTO `P_session` ( `id`, `expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot`) VALUES (?, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ?, ?, ?, ?, ?, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?)
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (864 bytes, 4134f69327cb7a48)
text: SELECT `lock_key`, `session_id` = X'A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: poll: its session is gone -> 2 yes
execute: DELETE FROM `P_session` WHERE `id` = ?
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` IN (X'<golden n>',X'<golden n>')
== keys, by session, 2: take over -> 2 yes
-- 2 times:
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND (`expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) OR (`expires_at_us` IS NULL AND NOT EXISTS (SELECT ? FROM `P_session` s WHERE s.`id` = ?)))
--
== keys, by session, 2: release -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `fence` = CASE `lock_key` WHEN X'<golden n>' THEN 8 WHEN X'<golden n>' THEN 8 END (521 bytes, 7d4cb6dc090bca3b)
== keys, expiring, 2: take: no such row -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 3c53224067d997a7)
== keys, expiring, 2: insert -> 2 yes
text: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT new_key, X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', new_nonce, LAST_INSERT_ID(`fence` + 1), TIMESTAMPDIF ... n n>' AS new_key,<nonce> AS new_nonce UNION ALL SELECT X'<golden n>',<nonce>) new_keys WHERE `id` = 1 LOCK IN SHARE MODE (524 bytes, 6288a1c82910c70e)
== keys, expiring, 2: take: held by another -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 93dc81b97652feb5)
== keys, expiring, 2: take: held by another, after a poll -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 93dc81b97652feb5)
== keys, expiring, 2: poll: held -> 2 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: poll: in order -> 2 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: take: in order -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 93dc81b97652feb5)
== keys, expiring, 2: take: in order, registered -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 93dc81b97652feb5)
== keys, expiring, 2: release: of another's -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2' AND `fence` = CASE `lock_key` WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (521 bytes, b1cdff952edfa0f7)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: cancel: of another's -> 2 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2' AND `nonce` = CASE `lock_key` WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (521 bytes, 7228505776ff8b2c)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: extend -> 2 yes
-- 2 times:
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
execute: UPDATE `P_lock` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))
--
== keys, expiring, 2: release -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `fence` = CASE `lock_key` WHEN X'<golden n>' THEN 1 WHEN X'<golden n>' THEN 1 END (521 bytes, 98be40c94044f3f5)
== keys, expiring, 2: poll: free -> 2 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce` FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: take: free -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 3c53224067d997a7)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: cancel -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 1A1A1A1A1A1A1A1A1A1A1' AND `nonce` = CASE `lock_key` WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> END (533 bytes, 251bf4b78a2efc05)
== keys, expiring, 2: take: free again -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 3c53224067d997a7)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: release: looks for a waiter -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `fence` = CASE `lock_key` WHEN X'<golden n>' THEN 3 WHEN X'<golden n>' THEN 3 END (521 bytes, a3aa0d155a3f4dbc)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR (l.`lock_key` IS NOT NULL AND l.`session_id` IS NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, expiring, 2: take: free once more -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 3c53224067d997a7)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: cancel: looks for a waiter -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... 1A1A1A1A1A1A1A1A1A1A1' AND `nonce` = CASE `lock_key` WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> END (533 bytes, 251bf4b78a2efc05)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR (l.`lock_key` IS NOT NULL AND l.`session_id` IS NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, expiring, 2: take: and again -> 2 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>') LIMIT 1000000 FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN `P_lock` FORCE IN ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (870 bytes, 3c53224067d997a7)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>')
== keys, expiring, 2: release: kept for a minimum time -> 2 yes
-- 2 times:
execute: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
--
== keys, by session, 64: take: no such row -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 2ba6a89c665c07b2)
== keys, by session, 64: insert -> 64 yes
text: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT new_key, X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', new_nonce, LAST_INSERT_ID(`fence` + 1), TIMESTAMPDIF ... NION ALL SELECT X'<golden n>',<nonce> UNION ALL SELECT X'<golden n>',<nonce>) new_keys WHERE `id` = 1 LOCK IN SHARE MODE (2936 bytes, a8ac9fde07778e08)
== keys, by session, 64: take: held by another -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 52af5df0ed1a4563)
== keys, by session, 64: take: held by another, after a poll -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 52af5df0ed1a4563)
== keys, by session, 64: poll: held -> 64 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1228 bytes, 1b93c6c641e4e1c7)
== keys, by session, 64: poll: in order -> 64 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1228 bytes, 1b93c6c641e4e1c7)
== keys, by session, 64: take: in order -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 52af5df0ed1a4563)
== keys, by session, 64: take: in order, registered -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 52af5df0ed1a4563)
== keys, by session, 64: release: of another's -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (3869 bytes, bffec9629bfa4b11)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, 0ae859384b08ef6c)
== keys, by session, 64: cancel: of another's -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (3869 bytes, 55a2d41333745804)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, 0ae859384b08ef6c)
== keys, by session, 64: pass on -> 64 yes
text: SELECT @@max_allowed_packet
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... golden n>' THEN 1 WHEN X'<golden n>' THEN 1 WHEN X'<golden n>' THEN 1 END AND CONCAT(@@global.read_only) IN ('0', 'OFF') (6231 bytes, 9eeda0acdecbeca4)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, by session, 64: release -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 2 WHEN X'<golden n>' THEN 2 WHEN X'<golden n>' THEN 2 WHEN X'<golden n>' THEN 2 WHEN X'<golden n>' THEN 2 END (3869 bytes, d8962850ed0ac981)
== keys, by session, 64: poll: free -> 64 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1228 bytes, 1b93c6c641e4e1c7)
== keys, by session, 64: take: free -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 2ba6a89c665c07b2)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, by session, 64: cancel -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... den n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> END (4253 bytes, 80b7ba0aa3491d54)
== keys, by session, 64: take: free again -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 2ba6a89c665c07b2)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, by session, 64: release: looks for a waiter -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 4 WHEN X'<golden n>' THEN 4 WHEN X'<golden n>' THEN 4 WHEN X'<golden n>' THEN 4 WHEN X'<golden n>' THEN 4 END (3869 bytes, a1154db77c394c0f)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X ... NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (1275 bytes, 7b4e4bf517266f15)
== keys, by session, 64: take: free once more -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 2ba6a89c665c07b2)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, by session, 64: cancel: looks for a waiter -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... den n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> WHEN X'<golden n>' THEN <nonce> END (4253 bytes, 80b7ba0aa3491d54)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X ... NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (1275 bytes, 7b4e4bf517266f15)
== keys, by session, 64: take: and again -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 2ba6a89c665c07b2)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, by session, 64: release: kept for a minimum time -> 64 yes
-- 64 times:
execute: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
--
== keys, by session, 64: take: by a session that ends -> 64 yes
execute: INSERT INTO `P_session` ( `id`, `expires_at_us`, `ttl_us`, `beat`, `revoked`, `host`, `pid`, `label`, `started_at_us`, `boot`) VALUES (?, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ?, ?, ?, ?, ?, TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?)
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4584 bytes, 0dd54d255d69c149)
text: SELECT `lock_key`, `session_id` = X'A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f30afe0933672a69)
== keys, by session, 64: poll: its session is gone -> 64 yes
execute: DELETE FROM `P_session` WHERE `id` = ?
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1228 bytes, 1b93c6c641e4e1c7)
== keys, by session, 64: take over -> 64 yes
-- 64 times:
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND (`expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) OR (`expires_at_us` IS NULL AND NOT EXISTS (SELECT ? FROM `P_session` s WHERE s.`id` = ?)))
--
== keys, by session, 64: release -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 8 WHEN X'<golden n>' THEN 8 WHEN X'<golden n>' THEN 8 WHEN X'<golden n>' THEN 8 WHEN X'<golden n>' THEN 8 END (3869 bytes, acdecbfc8e8b3465)
== keys, expiring, 64: take: no such row -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4590 bytes, 23eb365fd7592ac4)
== keys, expiring, 64: insert -> 64 yes
text: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT new_key, X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', new_nonce, LAST_INSERT_ID(`fence` + 1), TIMESTAMPDIF ... 8027 UNION ALL SELECT X'<golden n>',8028 UNION ALL SELECT X'<golden n>',8029) new_keys WHERE `id` = 1 LOCK IN SHARE MODE (2852 bytes, ec91631171388b56)
== keys, expiring, 64: take: held by another -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, 81a4a3770d96c0c7)
== keys, expiring, 64: take: held by another, after a poll -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, 8be635933c3ca939)
== keys, expiring, 64: poll: held -> 64 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1228 bytes, 1b93c6c641e4e1c7)
== keys, expiring, 64: poll: in order -> 64 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1228 bytes, 1b93c6c641e4e1c7)
== keys, expiring, 64: take: in order -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, 5ed587c8c3c18198)
== keys, expiring, 64: take: in order, registered -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, e8808a028b963adf)
== keys, expiring, 64: release: of another's -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (3869 bytes, bffec9629bfa4b11)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, 0ae859384b08ef6c)
== keys, expiring, 64: cancel: of another's -> 64 no
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 WHEN X'<golden n>' THEN 0 END (3869 bytes, 55a2d41333745804)
text: SELECT `lock_key`, `session_id` = X'A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2A2', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, 0ae859384b08ef6c)
== keys, expiring, 64: extend -> 64 yes
-- 64 times:
text: SELECT 1 FROM `P_lock` WHERE `lock_key` = X'<golden n>' FOR UPDATE NOWAIT
execute: UPDATE `P_lock` SET `expires_at_us` = GREATEST(`expires_at_us`, ? + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))
--
== keys, expiring, 64: release -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 1 WHEN X'<golden n>' THEN 1 WHEN X'<golden n>' THEN 1 WHEN X'<golden n>' THEN 1 WHEN X'<golden n>' THEN 1 END (3869 bytes, 2b54241a3c5c0b7c)
== keys, expiring, 64: poll: free -> 64 yes
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL, s.`id` IS NULL, IFNULL(l.`expires_at_us`, s.`expires_at_us`) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`host`, s.`pid`, s.`label`, l.`nonce ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1228 bytes, 1b93c6c641e4e1c7)
== keys, expiring, 64: take: free -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, 512ab37dd4033d8c)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, expiring, 64: cancel -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ...  WHEN X'<golden n>' THEN 8346 WHEN X'<golden n>' THEN 8347 WHEN X'<golden n>' THEN 8348 WHEN X'<golden n>' THEN 8349 END (4061 bytes, c5407a8afae5a7be)
== keys, expiring, 64: take: free again -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, fd05f0427ab002a5)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, expiring, 64: release: looks for a waiter -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... n n>' THEN 3 WHEN X'<golden n>' THEN 3 WHEN X'<golden n>' THEN 3 WHEN X'<golden n>' THEN 3 WHEN X'<golden n>' THEN 3 END (3869 bytes, 0790c16e84260383)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X ... NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (1275 bytes, 7b4e4bf517266f15)
== keys, expiring, 64: take: free once more -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, a0fa41912ab58705)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, expiring, 64: cancel: looks for a waiter -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ...  WHEN X'<golden n>' THEN 8474 WHEN X'<golden n>' THEN 8475 WHEN X'<golden n>' THEN 8476 WHEN X'<golden n>' THEN 8477 END (4061 bytes, 4ebae3d8e09b29d9)
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `P_waiter` w LEFT JOIN `P_lock` l ON l.`lock_key` = w.`lock_key` WHERE w.`lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X ... NULL)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (1275 bytes, 7b4e4bf517266f15)
== keys, expiring, 64: take: and again -> 64 yes
text: UPDATE ( SELECT `lock_key` AS unlocked_key, `fence` AS unlocked_fence FROM `P_lock` FORCE INDEX (PRIMARY) WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden ... pires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND CONCAT(@@global.read_only) IN ('0', 'OFF') (4398 bytes, 19f325564f54f937)
text: SELECT `lock_key`, `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1', `session_id` IS NULL, `nonce`, `fence` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<go ... den n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') (1047 bytes, f50dd0c5a1cd98b2)
== keys, expiring, 64: release: kept for a minimum time -> 64 yes
-- 64 times:
execute: UPDATE `P_lock` SET `session_id` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `session_id`, NULL), `expires_at_us` = IF(`acquired_at_us` + ? > TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `acquired_at_us` + ?, NULL) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ?
--
== operators, 1: take -> 1 yes
execute: UPDATE `P_lock` SET `session_id` = ?, `nonce` = ?, `fence` = LAST_INSERT_ID(`fence` + ?), `acquired_at_us` = TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `expires_at_us` = NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), `verified_by` = ? WHERE `lock_key` = ? AND (`session_id` IS NULL OR `expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?))) AND CONCAT(@@global.read_only) IN (?, ?)
== inspect
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.`acquired_at_us`, COALESCE(l.`expires_at_us`, s.`expires_at_us`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) -  ... S NULL OR l.`expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND l.`lock_key` = X'<golden n>' (835 bytes, e23c427c0edf92ae)
== list
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.`acquired_at_us`, COALESCE(l.`expires_at_us`, s.`expires_at_us`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) -  ... at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AND l.`lock_key` > X'' ORDER BY l.`lock_key` LIMIT 10 (856 bytes, a55f092de387d923)
text: SELECT w.`lock_key`, COUNT(*) FROM `P_waiter` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== overview
text: SELECT COUNT(*), COALESCE(SUM(h.held), 0), COALESCE(SUM(h.held AND h.dead), 0), COALESCE(SUM(CAST(h.fence AS DECIMAL(30)) - f.`fence`), 0), (SELECT COUNT(*) FROM `P_session` WHERE `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-0 ... (6))) AS dead FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` ) h LEFT JOIN `P_floor` f ON f.`id` = 1 (804 bytes, 2f2c6fb5604e8cc2)
text: SELECT COUNT(*) FROM `P_lock` l WHERE l.`session_id` IN (X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') AND NOT EXISTS (SELECT 1 FROM `P_member` m WHERE m.`lock_key` = l.`lock_key`)
text: SELECT s.`id`, s.`host`, s.`pid`, s.`label`, s.`ttl_us`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - s.`started_at_us`, s.`expires_at_us` - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), s.`revoked`, COALESCE ... 6))) GROUP BY l.`session_id` ) k ON k.session_id = s.`id` ORDER BY COALESCE(k.locks, 0) DESC, s.`started_at_us` LIMIT 10 (615 bytes, e283bb5a17f4bddf)
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.`acquired_at_us`, COALESCE(l.`expires_at_us`, s.`expires_at_us`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) -  ... LL OR l.`expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) ORDER BY l.`acquired_at_us` LIMIT 10 (839 bytes, dff9040e712ebf6a)
== waiters
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - w.`since_us`, IFNULL(s.`host`, ''), IFNULL(s.`pid`, 0), IFNULL(s.`label`, '') FROM `P_waiter` w LEFT JOIN `P_session` s ON s.`id` = w.`session_id` WHERE w.`lock_key` = X'<golden n>' AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL ORDER BY w.`since_us`, w.`wake_id`
== revoke
text: UPDATE `P_session` SET `revoked` = 1 WHERE `id` = ( SELECT `session_id` FROM `P_lock` WHERE `lock_key` = X'<golden n>' AND `expires_at_us` IS NULL)
== clean-up
text: SELECT `id` FROM `P_session` WHERE `expires_at_us` + `ttl_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) ORDER BY `id` LIMIT 500
text: SELECT `lock_key` FROM `P_lock` WHERE `lock_key` > X'' ORDER BY `lock_key` LIMIT 1 OFFSET 4999
text: SELECT l.`lock_key`, l.`session_id`, l.`fence`, l.`expires_at_us` IS NULL FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` WHERE l.`lock_key` > X'' AND l.`acquired_at_us` + 1 <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01' ... AMP(6)), l.`expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))) ORDER BY l.`lock_key` LIMIT 200 (541 bytes, 97019e8dd96125e8)
text: SELECT `lock_key` FROM `P_lock` WHERE `lock_key` IN (X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>' ... '<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>',X'<golden n>') FOR UPDATE SKIP LOCKED (1944 bytes, d0b69905ec80aefd)
text: UPDATE `P_floor` SET `fence` = GREATEST(`fence`, 8) WHERE `id` = 1
text: DELETE FROM `P_lock` WHERE `lock_key` = X'<golden n>' AND `session_id` IS NULL AND `fence` <= 5
-- 2 times:
text: DELETE FROM `P_lock` WHERE `lock_key` = X'<golden n>' AND `session_id` IS NULL AND `fence` <= 8
--
-- 2 times:
text: DELETE FROM `P_lock` WHERE `lock_key` = X'<golden n>' AND `session_id` IS NULL AND `fence` <= 5
--
-- 64 times:
text: DELETE FROM `P_lock` WHERE `lock_key` = X'<golden n>' AND `session_id` IS NULL AND `fence` <= 8
--
-- 31 times:
text: DELETE FROM `P_lock` WHERE `lock_key` = X'<golden n>' AND `session_id` IS NULL AND `fence` <= 5
--
text: SELECT `lock_key` FROM `P_done` WHERE `valid_until_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) LIMIT 100
text: SELECT m.`lock_key`, m.`session_id` FROM `P_member` m LEFT JOIN `P_session` s ON s.`id` = m.`session_id` WHERE s.`id` IS NULL LIMIT 100
text: SELECT l.`lock_key`, l.`session_id`, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.`acquired_at_us`, EXISTS (SELECT 1 FROM `P_member` m WHERE m.`lock_key` = l.`lock_key`) FROM `P_lock` l WHERE l.`lock_key` > X'' ORDER BY l.`lock_key` LIMIT 1000
== examine
text: SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', 'innodb_read_only', 'super_read_only', 'max_connections', 'max_prepared_stmt_count', 'hostname', ' ... 'group_replication_consistency', 'init_connect', 'innodb_deadlock_detect', 'version', 'version_comment', 'wait_timeout') (521 bytes, ff56613a4d04eb23)
text: SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Max_used_connections', 'Prepared_stmt_count', 'Slaves_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_ready', 'Uptime')
text: SHOW SESSION STATUS LIKE 'Ssl_cipher'
text: SELECT @@transaction_isolation, @@autocommit
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout
text: SHOW GRANTS
text: SELECT version, migration FROM `P_schema_version` WHERE name='dlock'
text: SELECT w.`lock_key`, w.`since_us`, w.`wake_id`, w.`session_id`, w.`held` FROM `P_waiter` w WHERE 1 = 0
text: SELECT COUNT(*), COALESCE(SUM(h.held), 0), COALESCE(SUM(h.held AND h.dead), 0), COALESCE(SUM(CAST(h.fence AS DECIMAL(30)) - f.`fence`), 0), (SELECT COUNT(*) FROM `P_session` WHERE `expires_at_us` > TIMESTAMPDIFF(MICROSECOND,'1970-01-0 ... (6))) AS dead FROM `P_lock` l LEFT JOIN `P_session` s ON s.`id` = l.`session_id` ) h LEFT JOIN `P_floor` f ON f.`id` = 1 (804 bytes, 2f2c6fb5604e8cc2)
text: SELECT COUNT(*) FROM `P_lock` l WHERE l.`session_id` IN (X'646c6f636b3a6f70656e3a7368617265', X'646c6f636b3a636c6f7365643a6e6f77') AND NOT EXISTS (SELECT 1 FROM `P_member` m WHERE m.`lock_key` = l.`lock_key`)
text: SELECT IFNULL(SUM(DATA_LENGTH + INDEX_LENGTH + DATA_FREE), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('P_lock', 'P_session', 'P_floor')
text: SELECT COUNT(*), IFNULL(SUM(l.`acquired_at_us` + 86400000000 <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), 0) FROM `P_lock` l WHERE l.`session_id` IS NULL OR l.`expires_at_us` <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
== verify
UPDATE `locks`.`P_lock` SET `verified_by` = CONNECTION_ID(), `verifies` = `verifies` + 1 WHERE `lock_key` = X'<golden n>' AND `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `fence` = 42 AND @@server_uuid=<this server>
== release in a transaction
UPDATE `locks`.`P_lock` SET `session_id` = NULL, `expires_at_us` = NULL WHERE `lock_key` = X'<golden n>' AND `session_id` = X'A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1' AND `fence` = 42 AND @@server_uuid=<this server>
== blocker
text: SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
-- 2 times:
text: SELECT `verified_by`, `verifies` FROM `P_lock` WHERE `lock_key` = X'<golden n>'
--
== a key that lingers, 1: insert -> 1 yes
execute: INSERT INTO `P_lock` ( `lock_key`, `session_id`, `nonce`, `fence`, `acquired_at_us`, `expires_at_us`, `verified_by`, `verifies`) SELECT ?, ?, ?, LAST_INSERT_ID(`fence` + ?), TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), NULL + TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), ?, ? FROM `P_floor` WHERE `id` = ? LOCK IN SHARE MODE
== a key that lingers, 1: reserve -> 1 yes
prepare: UPDATE `P_lock` SET `fence` = LAST_INSERT_ID(`fence` + ?) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND CONCAT(@@global.read_only) IN ('0', 'OFF')
execute: UPDATE `P_lock` SET `fence` = LAST_INSERT_ID(`fence` + ?) WHERE `lock_key` = ? AND `session_id` = ? AND `fence` = ? AND CONCAT(@@global.read_only) IN (?, ?)
== session: close
execute: DELETE FROM `P_session` WHERE `id` = ?
