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
prepare: UPDATE `team_table` SET request_id = CONCAT(?, '/', version + 1), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, version = LAST_INSERT_ID(version + 1) WHERE lock_k ... [0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) (497 bytes, f7ab240102c4dc17)
prepare: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, '/1'), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, version = 1
prepare: SELECT request_id <> '', LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), version FROM `team_table` WHERE lock_key = ?
prepare: UPDATE `team_table` SET request_id = CONCAT(?, '/', version + 1), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, version = LAST_INSERT_ID(version + 1) WHERE lock_k ... ^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) (511 bytes, 4158dd769f53c002)
prepare: UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000), version = version + 1 WHERE lock_key = ? AND request_id LIKE ? AND NOT (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000))
prepare: UPDATE `team_table` SET request_id = '', lock_count = 0, timeout = 0, version = version + 1 WHERE lock_key = ? AND request_id LIKE ?
prepare: SELECT (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)
prepare: INSERT INTO `team_table` SET lock_key = ?, request_id = '', lock_count = 0, timeout = 0, version = 0
prepare: UPDATE `team_table` SET lock_count = IF(CAST(CONVERT(request_id USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY), GREATEST(lock_count, 0) + 1, 1), timeout = GREATEST(IF(CAST(CONVERT(request_id USING utf8mb4) AS  ... [0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) (971 bytes, 30c86b1872278020)
prepare: UPDATE `team_table` SET timeout = GREATEST(timeout, LAST_INSERT_ID((TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000) + 1000), version = version + 1 WHERE lock_key = ? AND CAST(CONVERT(request_id USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) < ?
prepare: UPDATE `team_table` SET request_id = IF(lock_count > 1, request_id, ''), timeout = IF(lock_count > 1, timeout, 0), version = version + 1, lock_count = lock_count - 1 WHERE lock_key = ? AND CAST(CONVERT(request_id USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND lock_count > 0 AND (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) < ?
text: SELECT w.`lock_key`, w.`since_us`, w.`wake_id`, w.`session_id` FROM `dlock_waiter_team_table` w WHERE 1 = 0
-- after == keys, expiring, 1: take: free again -> 1 yes
== keys, expiring, 1: release: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, expiring, 1: take: free once more -> 1 yes
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
== keys, expiring, 1: cancel: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, expiring, 1: take: and again -> 1 yes
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
-- after == keys, renewed, 1: take: free again -> 1 yes
== keys, renewed, 1: release: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, renewed, 1: take: free once more -> 1 yes
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
== keys, renewed, 1: cancel: looks for a waiter -> 1 yes
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
== keys, renewed, 1: take: and again -> 1 yes
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
-- after == keys, expiring, 2: take: free again -> 2 yes
== keys, expiring, 2: release: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 2: take: free once more -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, expiring, 2: cancel: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 2: take: and again -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
-- after == keys, renewed, 2: take: free again -> 2 yes
== keys, renewed, 2: release: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 2: take: free once more -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, renewed, 2: cancel: looks for a waiter -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 2: take: and again -> 2 yes
-- 2 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
-- after == keys, expiring, 64: take: free again -> 64 yes
== keys, expiring, 64: release: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 64: take: free once more -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, expiring, 64: cancel: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, expiring, 64: take: and again -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
-- after == keys, renewed, 64: take: free again -> 64 yes
== keys, renewed, 64: release: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 64: take: free once more -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, renewed, 64: cancel: looks for a waiter -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = ? AND request_id LIKE ?
text: SELECT w.`lock_key`, IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND w.`wake_id` <> X'<number>' AND (1 OR NOT EXISTS (SELECT 1 FROM `team_table` WHERE `lock_key` = CONVERT(CONVERT(w.`lock_key` USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci AND request_id <> '')) AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`))) IS NOT NULL ORDER BY w.`lock_key`, w.`since_us`, w.`wake_id`
--
== keys, renewed, 64: take: and again -> 64 yes
-- 64 times:
execute: UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(version + ?) WHERE lock_key = ? AND (request_id = ? OR GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== list
text: SELECT lock_key, LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECO ... AND `lock_key`>CONVERT(CONVERT(X'' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci ORDER BY `lock_key` LIMIT 10 (680 bytes, c9207212495c749c)
text: SELECT w.`lock_key`, COUNT(*) FROM `dlock_waiter_team_table` w WHERE w.`lock_key` IN (X'<golden n>') AND IS_USED_LOCK(CONCAT('dlock.', HEX(w.`wake_id`), '.p')) IS NOT NULL GROUP BY w.`lock_key`
== overview
text: SELECT lock_key, LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECO ... D `lock_key`>CONVERT(CONVERT(X'' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci ORDER BY `lock_key` LIMIT 1000 (682 bytes, 61cb515175ae6426)
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
