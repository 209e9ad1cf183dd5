== the store begins, without tables of its own
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), @dlock_session, CONNECTION_ID()
text: SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', 'log_bin', 'binlog_format', 'autocommit', 'time_zone', 'version')
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4)
text: SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME, COLLATION_NAME, DATETIME_PRECISION, IS_NULLABLE, EXTRA LIKE '%VIRTUAL GENERATED%', EXTRA LIKE '%ON UPDATE%' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4)
text: SELECT INDEX_NAME, MAX(COLUMN_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4) AND NON_UNIQUE=0 GROUP BY INDEX_NAME HAVING COUNT(*)=1 AND MAX(SUB_PART) IS NULL
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION time_zone = @@GLOBAL.time_zone
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(3) + INTERVAL ? + 1000 MICROSECOND, `locked_at` = UTC_TIMESTAMP(3), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(3)
prepare: INSERT INTO `team_table` SET `name` = ?, `lock_until` = UTC_TIMESTAMP(3) + INTERVAL ? + 1000 MICROSECOND, `locked_at` = UTC_TIMESTAMP(3), `locked_by` = ?
prepare: SELECT (`locked_by` <> '' OR `lock_until` > UTC_TIMESTAMP(3)), LEFT(`locked_by`, 100), TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), `lock_until`), 0 FROM `team_table` WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(3) + INTERVAL ? + 1000 MICROSECOND, `locked_at` = UTC_TIMESTAMP(3), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ? AND `lock_until` <= UTC_TIMESTAMP(3)
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET `lock_until` = GREATEST(`lock_until`, UTC_TIMESTAMP(3) + INTERVAL ? + 1000 MICROSECOND) WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ? AND `lock_until` > UTC_TIMESTAMP(3)
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(3), `locked_by` = '' WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, w.`since_us`, w.`wake_id`, w.`session_id` FROM `dlock_waiter_team_table` w WHERE 1 = 0
-- after == keys, expiring, 1: take: free again -> 1 yes
== keys, expiring, 1: release: looks for a waiter -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
== keys, expiring, 1: take: free once more -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
== keys, expiring, 1: cancel: looks for a waiter -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
== keys, expiring, 1: take: and again -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
-- after == keys, renewed, 1: take: free again -> 1 yes
== keys, renewed, 1: release: looks for a waiter -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
== keys, renewed, 1: take: free once more -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
== keys, renewed, 1: cancel: looks for a waiter -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
== keys, renewed, 1: take: and again -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
-- after == keys, expiring, 2: take: free again -> 2 yes
== keys, expiring, 2: release: looks for a waiter -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, expiring, 2: take: free once more -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
== keys, expiring, 2: cancel: looks for a waiter -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, expiring, 2: take: and again -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
-- after == keys, renewed, 2: take: free again -> 2 yes
== keys, renewed, 2: release: looks for a waiter -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, renewed, 2: take: free once more -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
== keys, renewed, 2: cancel: looks for a waiter -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, renewed, 2: take: and again -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
-- after == keys, expiring, 64: take: free again -> 64 yes
== keys, expiring, 64: release: looks for a waiter -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, expiring, 64: take: free once more -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
== keys, expiring, 64: cancel: looks for a waiter -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, expiring, 64: take: and again -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
-- after == keys, renewed, 64: take: free again -> 64 yes
== keys, renewed, 64: release: looks for a waiter -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, renewed, 64: take: free once more -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
== keys, renewed, 64: cancel: looks for a waiter -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `locked_by` = ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `name`  ... (3)))) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id` (500 bytes, 249f295e1626366d)
--
== keys, renewed, 64: take: and again -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET `lock_until` = UTC_TIMESTAMP(?) + INTERVAL ? + ? MICROSECOND, `locked_at` = UTC_TIMESTAMP(?), `locked_by` = ? WHERE `name` = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND `lock_until` <= UTC_TIMESTAMP(?)
--
== list
text: SELECT `name`, LEFT(`locked_by`, 100), TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), `lock_until`), 0 FROM `team_table` WHERE `lock_until` > UTC_TIMESTAMP(3) AND `name`>CONVERT(CONVERT(X'' USING utf8mb4) USING latin1) COLLATE latin1_swedish_ci ORDER BY `name` LIMIT 10
text: SELECT w.`lock_key`, COUNT(*) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== overview
text: SELECT `name`, LEFT(`locked_by`, 100), TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), `lock_until`), 0 FROM `team_table` WHERE `lock_until` > UTC_TIMESTAMP(3) AND `name`>CONVERT(CONVERT(X'' USING utf8mb4) USING latin1) COLLATE latin1_swedish_ci ORDER BY `name` LIMIT 1000
text: SELECT w.`lock_key`, COUNT(*) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== waiters
text: SELECT w.`lock_key`, COUNT(*) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== examine
text: SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', 'innodb_read_only', 'super_read_only', 'max_connections', 'max_prepared_stmt_count', 'hostname', ' ... 'group_replication_consistency', 'init_connect', 'innodb_deadlock_detect', 'version', 'version_comment', 'wait_timeout') (521 bytes, ff56613a4d04eb23)
text: SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Max_used_connections', 'Prepared_stmt_count', 'Slaves_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_ready', 'Uptime')
text: SHOW SESSION STATUS LIKE 'Ssl_cipher'
text: SELECT @@tx_isolation, @@autocommit
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout
text: SHOW GRANTS
text: SELECT w.`lock_key`, w.`since_us`, w.`wake_id`, w.`session_id` FROM `dlock_waiter_team_table` w WHERE 1 = 0
