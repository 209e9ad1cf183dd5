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
text: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
prepare: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(0) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, '') = '' OR `lock_expire_time` < NOW(0))
prepare: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(0) + INTERVAL ? MICROSECOND
prepare: SELECT COALESCE(`lock_owner`, '') <> '', LEFT(`lock_owner`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `lock_expire_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `resource` = ?
prepare: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(0) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND `lock_owner` = ? AND `lock_expire_time` < NOW(0)
prepare: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(0) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(0))
prepare: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== a connection
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
text: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
== keys, expiring, 1: take: no such row -> 1 yes
prepare: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(0) + INTERVAL ? MICROSECOND
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, expiring, 1: insert -> 1 no
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, expiring, 1: take: held by another -> 1 no
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
prepare: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(0) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, '') = '' OR `lock_expire_time` < NOW(0))
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
== keys, expiring, 1: take: held by another, after a poll -> 1 no
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
== keys, expiring, 1: poll: held -> 1 yes
prepare: SELECT COALESCE(`lock_owner`, '') <> '', LEFT(`lock_owner`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `lock_expire_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `resource` = ?
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
== keys, expiring, 1: release: of another's -> 1 no
prepare: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, expiring, 1: cancel: of another's -> 1 no
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, expiring, 1: extend -> 1 yes
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
prepare: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(0) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(0))
execute: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(?) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(?))
== keys, expiring, 1: release -> 1 yes
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, expiring, 1: poll: free -> 1 absent
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
== keys, expiring, 1: take: free -> 1 yes
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, expiring, 1: cancel -> 1 yes
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, expiring, 1: take: free again -> 1 yes
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, expiring, 1: release: at last -> 1 yes
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, renewed, 1: take: no such row -> 1 yes
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, renewed, 1: insert -> 1 no
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, renewed, 1: take: held by another -> 1 no
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
== keys, renewed, 1: take: held by another, after a poll -> 1 no
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
== keys, renewed, 1: poll: held -> 1 yes
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
== keys, renewed, 1: release: of another's -> 1 no
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, renewed, 1: cancel: of another's -> 1 no
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, renewed, 1: extend -> 1 yes
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(?) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(?))
== keys, renewed, 1: release -> 1 yes
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, renewed, 1: poll: free -> 1 absent
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
== keys, renewed, 1: take: free -> 1 yes
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, renewed, 1: cancel -> 1 yes
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, renewed, 1: take: free again -> 1 yes
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== keys, renewed, 1: release: at last -> 1 yes
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
== keys, expiring, 2: take: no such row -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 2: insert -> 2 no
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 2: take: held by another -> 2 no
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, expiring, 2: take: held by another, after a poll -> 2 no
-- 2 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, expiring, 2: poll: held -> 2 yes
-- 2 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, expiring, 2: release: of another's -> 2 no
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 2: cancel: of another's -> 2 no
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 2: extend -> 2 yes
-- 2 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(?) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(?))
--
== keys, expiring, 2: release -> 2 yes
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 2: poll: free -> 2 absent
-- 2 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, expiring, 2: take: free -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 2: cancel -> 2 yes
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 2: take: free again -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 2: release: at last -> 2 yes
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 2: take: no such row -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 2: insert -> 2 no
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 2: take: held by another -> 2 no
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, renewed, 2: take: held by another, after a poll -> 2 no
-- 2 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, renewed, 2: poll: held -> 2 yes
-- 2 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, renewed, 2: release: of another's -> 2 no
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 2: cancel: of another's -> 2 no
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 2: extend -> 2 yes
-- 2 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(?) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(?))
--
== keys, renewed, 2: release -> 2 yes
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 2: poll: free -> 2 absent
-- 2 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, renewed, 2: take: free -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 2: cancel -> 2 yes
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 2: take: free again -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 2: release: at last -> 2 yes
-- 2 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 64: take: no such row -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 64: insert -> 64 no
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 64: take: held by another -> 64 no
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, expiring, 64: take: held by another, after a poll -> 64 no
-- 64 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, expiring, 64: poll: held -> 64 yes
-- 64 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, expiring, 64: release: of another's -> 64 no
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 64: cancel: of another's -> 64 no
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 64: extend -> 64 yes
-- 64 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(?) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(?))
--
== keys, expiring, 64: release -> 64 yes
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 64: poll: free -> 64 absent
-- 64 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, expiring, 64: take: free -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 64: cancel -> 64 yes
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, expiring, 64: take: free again -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, expiring, 64: release: at last -> 64 yes
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 64: take: no such row -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 64: insert -> 64 no
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 64: take: held by another -> 64 no
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, renewed, 64: take: held by another, after a poll -> 64 no
-- 64 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND WHERE `resource` = ? AND (COALESCE(`lock_owner`, ?) = ? OR `lock_expire_time` < NOW(?))
--
== keys, renewed, 64: poll: held -> 64 yes
-- 64 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, renewed, 64: release: of another's -> 64 no
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 64: cancel: of another's -> 64 no
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 64: extend -> 64 yes
-- 64 times:
text: SELECT 1 FROM `team_table` WHERE `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci FOR UPDATE NOWAIT
execute: UPDATE `team_table` SET `lock_expire_time` = GREATEST(`lock_expire_time`, NOW(?) + INTERVAL ? MICROSECOND) WHERE `resource` = ? AND `lock_owner` = ? AND NOT (`lock_expire_time` < NOW(?))
--
== keys, renewed, 64: release -> 64 yes
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 64: poll: free -> 64 absent
-- 64 times:
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
--
== keys, renewed, 64: take: free -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 64: cancel -> 64 yes
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== keys, renewed, 64: take: free again -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
--
== keys, renewed, 64: release: at last -> 64 yes
-- 64 times:
execute: DELETE FROM `team_table` WHERE `resource` = ? AND `lock_owner` = ?
--
== operators, 1: take -> 1 yes
execute: INSERT INTO `team_table` SET `resource` = ?, `lock_owner` = ?, `lock_expire_time` = NOW(?) + INTERVAL ? MICROSECOND
== inspect
text: SELECT `resource`, LEFT(`lock_owner`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `lock_expire_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `lock_owner` <> '' AND NOT (`lock_expire_time` < NOW(0)) AND `resource`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci
== list
text: SELECT `resource`, LEFT(`lock_owner`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `lock_expire_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `lock_owner` <> '' AND NOT (`lock_expire_time` < NOW(0)) AND `resource`>CONVERT(CONVERT(X'' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci ORDER BY `resource` LIMIT 10
== overview
text: SELECT `resource`, LEFT(`lock_owner`, 100), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), `lock_expire_time`) + 1000000, <number>), 0 FROM `team_table` WHERE `lock_owner` <> '' AND NOT (`lock_expire_time` < NOW(0)) AND `resource`>CONVERT(CONVERT(X'' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_0900_ai_ci ORDER BY `resource` LIMIT 1000
== waiters
== revoke
execute: SELECT COALESCE(`lock_owner`, ?) <> ?, LEFT(`lock_owner`, ?), IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(?), `lock_expire_time`) + ?, ?), ? FROM `team_table` WHERE `resource` = ?
== clean-up
text: SELECT `id` FROM `team_table` WHERE `lock_expire_time` < NOW(0) LIMIT 100
== examine
text: SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', 'innodb_read_only', 'super_read_only', 'max_connections', 'max_prepared_stmt_count', 'hostname', ' ... 'group_replication_consistency', 'init_connect', 'innodb_deadlock_detect', 'version', 'version_comment', 'wait_timeout') (521 bytes, ff56613a4d04eb23)
text: SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Max_used_connections', 'Prepared_stmt_count', 'Slaves_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_ready', 'Uptime')
text: SHOW SESSION STATUS LIKE 'Ssl_cipher'
text: SELECT @@transaction_isolation, @@autocommit
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout
text: SHOW GRANTS
