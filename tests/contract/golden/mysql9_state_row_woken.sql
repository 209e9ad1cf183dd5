== the store begins, without tables of its own
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), @dlock_session, CONNECTION_ID()
text: SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', 'log_bin', 'binlog_format', 'autocommit', 'time_zone', 'version')
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4)
text: SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME, COLLATION_NAME, DATETIME_PRECISION, IS_NULLABLE, EXTRA LIKE '%VIRTUAL GENERATED%', EXTRA LIKE '%ON UPDATE%' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4)
text: SELECT INDEX_NAME, MAX(COLUMN_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4) AND NON_UNIQUE=0 GROUP BY INDEX_NAME HAVING COUNT(*)=1 AND MAX(SUB_PART) IS NULL
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
text: SET SESSION time_zone = @@GLOBAL.time_zone
prepare: UPDATE `team_table` SET `lock_state` = 1, `lock_info` = ?, `expiration_time` = GREATEST(NOW(0) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(0)) + ? / 1000000)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = 0 OR `expiration_time` < NOW(0))
prepare: INSERT INTO `team_table` SET `lock_name` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(0) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(0)) + ? / 1000000)), `lock_state` = 1
prepare: SELECT `lock_state` <> 0, LEFT(`lock_info`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `expiration_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci
prepare: UPDATE `team_table` SET `lock_info` = ?, `expiration_time` = GREATEST(NOW(0) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(0)) + ? / 1000000)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = 1 AND `lock_info` = ? AND `expiration_time` < NOW(0)
prepare: UPDATE `team_table` SET `expiration_time` = GREATEST(`expiration_time`, GREATEST(NOW(0) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(0)) + ? / 1000000))) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = 1 AND `lock_info` = ? AND NOT (`expiration_time` < NOW(0))
prepare: UPDATE `team_table` SET `lock_state` = 0, `lock_info` = '', `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = 1 AND `lock_info` = ?
text: SELECT w.`lock_key`, w.`since_us`, w.`wake_id`, w.`session_id` FROM `dlock_waiter_team_table` w WHERE 1 = 0
-- after == keys, expiring, 1: take: free again -> 1 yes
== keys, expiring, 1: release: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, expiring, 1: take: free once more -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
== keys, expiring, 1: cancel: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, expiring, 1: take: and again -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
-- after == keys, renewed, 1: take: free again -> 1 yes
== keys, renewed, 1: release: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, renewed, 1: take: free once more -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
== keys, renewed, 1: cancel: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, renewed, 1: take: and again -> 1 yes
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
-- after == keys, expiring, 2: take: free again -> 2 yes
== keys, expiring, 2: release: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 2: take: free once more -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
== keys, expiring, 2: cancel: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 2: take: and again -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
-- after == keys, renewed, 2: take: free again -> 2 yes
== keys, renewed, 2: release: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 2: take: free once more -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
== keys, renewed, 2: cancel: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 2: take: and again -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
-- after == keys, expiring, 64: take: free again -> 64 yes
== keys, expiring, 64: release: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 64: take: free once more -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
== keys, expiring, 64: cancel: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 64: take: and again -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
-- after == keys, renewed, 64: take: free again -> 64 yes
== keys, renewed, 64: release: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 64: take: free once more -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
== keys, renewed, 64: cancel: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = NULL WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` = ? AND `lock_info` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_name` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci AND `lock_state` <> 0)) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 64: take: and again -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET `lock_state` = ?, `lock_info` = ?, `expiration_time` = GREATEST(NOW(?) + INTERVAL ? MICROSECOND, FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(?)) + ? / ?)) WHERE `lock_name` = CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci AND (`lock_state` = ? OR `expiration_time` < NOW(?))
--
== list
text: SELECT `lock_name`, LEFT(`lock_info`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `expiration_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `lock_state` <> 0 AND COALESCE(`expiration_time` < NOW(0), 0) = 0 AND `lock_name`>CONVERT(CONVERT(X'' USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci ORDER BY `lock_name` LIMIT 10
text: SELECT w.`lock_key`, COUNT(*) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== overview
text: SELECT `lock_name`, LEFT(`lock_info`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `expiration_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `lock_state` <> 0 AND COALESCE(`expiration_time` < NOW(0), 0) = 0 AND `lock_name`>CONVERT(CONVERT(X'' USING utf8mb4) USING utf8mb3) COLLATE utf8mb3_general_ci ORDER BY `lock_name` LIMIT 1000
text: SELECT w.`lock_key`, COUNT(*) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== waiters
text: SELECT w.`lock_key`, COUNT(*) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== examine
text: SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', 'innodb_read_only', 'super_read_only', 'max_connections', 'max_prepared_stmt_count', 'hostname', ' ... 'group_replication_consistency', 'init_connect', 'innodb_deadlock_detect', 'version', 'version_comment', 'wait_timeout') (521 bytes, ff56613a4d04eb23)
text: SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Max_used_connections', 'Prepared_stmt_count', 'Slaves_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_ready', 'Uptime')
text: SHOW SESSION STATUS LIKE 'Ssl_cipher'
text: SELECT @@transaction_isolation, @@autocommit
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout
text: SHOW GRANTS
text: SELECT w.`lock_key`, w.`since_us`, w.`wake_id`, w.`session_id` FROM `dlock_waiter_team_table` w WHERE 1 = 0
