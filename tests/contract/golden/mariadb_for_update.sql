== the store begins, without tables of its own
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SELECT CONNECTION_ID(), CONCAT(@@version, ' ', @@version_comment)
text: SHOW GLOBAL VARIABLES WHERE Variable_name='group_replication_single_primary_mode' AND Value='OFF'
text: SELECT CONNECTION_ID()
text: SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4)
text: SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME, COLLATION_NAME, DATETIME_PRECISION, IS_NULLABLE, EXTRA LIKE '%VIRTUAL GENERATED%', EXTRA LIKE '%ON UPDATE%' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4)
text: SELECT INDEX_NAME, MAX(COLUMN_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT(X'<team_table in hex>' USING utf8mb4) AND NON_UNIQUE=0 GROUP BY INDEX_NAME HAVING COUNT(*)=1 AND MAX(SUB_PART) IS NULL
text: SELECT 1, `description` FROM `team_table` WHERE FALSE FOR UPDATE NOWAIT
text: SELECT 1, `description` FROM `team_table` WHERE FALSE LOCK IN SHARE MODE NOWAIT
== a connection
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
== keys, renewed, 1: take: no such row -> 1 no
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: ROLLBACK
text: INSERT INTO `team_table` (`resource`) VALUES (CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_general_ci)
== keys, renewed, 1: insert -> 1 yes
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
== keys, renewed, 1: take: held by another -> 1 no
== keys, renewed, 1: take: held by another, after a poll -> 1 no
== keys, renewed, 1: poll: held -> 1 yes
== keys, renewed, 1: release: of another's -> 1 no
== keys, renewed, 1: cancel: of another's -> 1 no
== keys, renewed, 1: extend -> 1 yes
text: SELECT @@global.read_only, @@global.innodb_read_only
== keys, renewed, 1: release -> 1 yes
text: COMMIT
== keys, renewed, 1: poll: free -> 1 yes
text: SELECT 1, `description` FROM `team_table` WHERE `resource`='golden <n>' LOCK IN SHARE MODE NOWAIT
== keys, renewed, 1: take: free -> 1 yes
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
== keys, renewed, 1: cancel -> 1 yes
text: COMMIT
== keys, renewed, 1: take: free again -> 1 yes
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
== keys, renewed, 1: release: at last -> 1 yes
text: COMMIT
== keys, renewed, 2: take: no such row -> 2 no
-- 2 times:
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: ROLLBACK
text: INSERT INTO `team_table` (`resource`) VALUES (CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_general_ci)
--
== keys, renewed, 2: insert -> 2 yes
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
== keys, renewed, 2: take: held by another -> 2 no
== keys, renewed, 2: take: held by another, after a poll -> 2 no
== keys, renewed, 2: poll: held -> 2 yes
== keys, renewed, 2: release: of another's -> 2 no
== keys, renewed, 2: cancel: of another's -> 2 no
== keys, renewed, 2: extend -> 2 yes
-- 2 times:
text: SELECT @@global.read_only, @@global.innodb_read_only
--
== keys, renewed, 2: release -> 2 yes
-- 2 times:
text: COMMIT
--
== keys, renewed, 2: poll: free -> 2 yes
-- 2 times:
text: SELECT 1, `description` FROM `team_table` WHERE `resource`='golden <n>' LOCK IN SHARE MODE NOWAIT
--
== keys, renewed, 2: take: free -> 2 yes
-- 2 times:
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
--
== keys, renewed, 2: cancel -> 2 yes
-- 2 times:
text: COMMIT
--
== keys, renewed, 2: take: free again -> 2 yes
-- 2 times:
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
--
== keys, renewed, 2: release: at last -> 2 yes
-- 2 times:
text: COMMIT
--
== keys, renewed, 64: take: no such row -> 64 no
-- 64 times:
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: ROLLBACK
text: INSERT INTO `team_table` (`resource`) VALUES (CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING utf8mb4) COLLATE utf8mb4_general_ci)
--
== keys, renewed, 64: insert -> 32 failed, 32 yes
-- 2 times:
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
--
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
text: SET SESSION autocommit=0, idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0
prepare: SELECT 1 FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
text: SET SESSION wait_timeout=3600
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
== keys, renewed, 64: take: held by another -> 32 failed, 32 no
== keys, renewed, 64: take: held by another, after a poll -> 32 failed, 32 no
== keys, renewed, 64: poll: held -> 64 yes
-- 32 times:
text: SELECT 1, `description` FROM `team_table` WHERE `resource`='golden <n>' LOCK IN SHARE MODE NOWAIT
--
== keys, renewed, 64: release: of another's -> 64 no
== keys, renewed, 64: cancel: of another's -> 64 no
== keys, renewed, 64: extend -> 32 no, 32 yes
-- 32 times:
text: SELECT @@global.read_only, @@global.innodb_read_only
--
== keys, renewed, 64: release -> 32 no, 32 yes
-- 32 times:
text: COMMIT
--
== keys, renewed, 64: poll: free -> 64 yes
-- 64 times:
text: SELECT 1, `description` FROM `team_table` WHERE `resource`='golden <n>' LOCK IN SHARE MODE NOWAIT
--
== keys, renewed, 64: take: free -> 32 failed, 32 yes
-- 32 times:
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
--
== keys, renewed, 64: cancel -> 32 no, 32 yes
-- 32 times:
text: COMMIT
--
== keys, renewed, 64: take: free again -> 32 failed, 32 yes
-- 32 times:
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
--
== keys, renewed, 64: release: at last -> 32 no, 32 yes
-- 32 times:
text: COMMIT
--
== operators, 1: take -> 1 yes
execute: SELECT ? FROM `team_table` WHERE `resource`=? FOR UPDATE NOWAIT
== inspect
== list
== overview
== waiters
text: SELECT USER, HOST, TIME FROM information_schema.PROCESSLIST WHERE (LOCATE(CAST('LOCK IN SHARE MODE' AS BINARY), CAST(INFO AS BINARY)) > 0 AND LOCATE(CAST(_utf8mb4 X'46524F4D2060<team_table in hex>6020574845524520607265736F75726365603D27<golden n>27' AS BINARY), CAST(INFO AS BINARY)) > 0 OR LOCATE(CAST(_utf8mb4 X'53454C454354204745545F4C4F434B282723<queue>' AS BINARY), CAST(INFO AS BINARY)) > 0) AND ID <> CONNECTION_ID() ORDER BY TIME DESC, ID
== revoke
== clean-up
== examine
text: SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', 'innodb_read_only', 'super_read_only', 'max_connections', 'max_prepared_stmt_count', 'hostname', ' ... 'group_replication_consistency', 'init_connect', 'innodb_deadlock_detect', 'version', 'version_comment', 'wait_timeout') (521 bytes, ff56613a4d04eb23)
text: SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Max_used_connections', 'Prepared_stmt_count', 'Slaves_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_ready', 'Uptime')
text: SHOW SESSION STATUS LIKE 'Ssl_cipher'
text: SELECT @@tx_isolation, @@autocommit
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout
text: SHOW GRANTS
