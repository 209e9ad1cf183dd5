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
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET request_id = CONCAT(?, '/', version + 1), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, versi ... [0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) (590 bytes, 87caa9002cba57bb)
prepare: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, '/1'), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, version = 1
prepare: SELECT request_id <> '', LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET request_id = CONCAT(?, '/', version + 1), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, versi ... ^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) (604 bytes, 22e04ca68f34546d)
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000), version = version + 1 WHERE lock_key = CONVE ... [0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) (542 bytes, 8b1da73161c94c25)
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET request_id = '', lock_count = 0, timeout = 0, version = version + 1 WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
prepare: SELECT (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)
prepare: INSERT INTO `team_table` SET lock_key = ?, request_id = '', lock_count = 0, timeout = 0, version = 0
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET lock_count = IF(CAST(CONVERT(request_id USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY), GREATEST(lock_count, 0) + 1, 1), timeout = GREATEST( ... [0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) (1064 bytes, e0fd2df099afd2d6)
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET timeout = GREATEST(timeout, LAST_INSERT_ID((TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000) + 1000), version = version + 1 WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND CAST(CONVERT(request_id USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) < ?
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET request_id = IF(lock_count > 1, request_id, ''), timeout = IF(lock_count > 1, timeout, 0), version = version + 1, lock_count = lock_count - 1 WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND CAST(CONVERT(request_id USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND lock_count > 0 AND (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) < ?
== a connection
text: SET SESSION autocommit=1, tx_isolation='READ-COMMITTED', tx_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_li ... 800, max_statement_time=0, query_cache_type=0, wsrep_sync_wait=0, wsrep_dirty_reads=0, sql_if_exists=0, @dlock_session=1 (543 bytes, d943edb251b0ca69)
text: SELECT CONNECTION_ID(), CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='UPTIME'), (SELECT VARIABLE_VALUE FROM information_s ... .GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), @@global.read_only, @@global.innodb_read_only, 0, DATABASE() (669 bytes, da9684092d397670)
== keys, expiring, 1: take: no such row -> 1 no
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET request_id = CONCAT(?, '/', version + 1), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, versi ... [0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) (590 bytes, 87caa9002cba57bb)
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, expiring, 1: insert -> 1 yes
prepare: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, '/1'), lock_count = 1, timeout = (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000, version = 1
execute: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = ?
== keys, expiring, 1: take: held by another -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, expiring, 1: take: held by another, after a poll -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, expiring, 1: poll: held -> 1 yes
prepare: SELECT request_id <> '', LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
== keys, expiring, 1: release: of another's -> 1 no
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET request_id = '', lock_count = 0, timeout = 0, version = version + 1 WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, expiring, 1: cancel: of another's -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, expiring, 1: extend -> 1 yes
prepare: SET STATEMENT innodb_lock_wait_timeout=0 FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000) + ? DIV 1000 + 1000), version = version + 1 WHERE lock_key = CONVE ... [0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) < (TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000)) (542 bytes, 8b1da73161c94c25)
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?), version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ? AND NOT (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
== keys, expiring, 1: release -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, expiring, 1: poll: free -> 1 yes
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
== keys, expiring, 1: take: free -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, expiring, 1: cancel -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, expiring, 1: take: free again -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, expiring, 1: release: at last -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, renewed, 1: take: no such row -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, renewed, 1: insert -> 1 yes
execute: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = ?
== keys, renewed, 1: take: held by another -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, renewed, 1: take: held by another, after a poll -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, renewed, 1: poll: held -> 1 yes
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
== keys, renewed, 1: release: of another's -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, renewed, 1: cancel: of another's -> 1 no
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, renewed, 1: extend -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?), version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ? AND NOT (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
== keys, renewed, 1: release -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, renewed, 1: poll: free -> 1 yes
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
== keys, renewed, 1: take: free -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, renewed, 1: cancel -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, renewed, 1: take: free again -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== keys, renewed, 1: release: at last -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
== keys, expiring, 2: take: no such row -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 2: insert -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = ?
--
== keys, expiring, 2: take: held by another -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 2: take: held by another, after a poll -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 2: poll: held -> 2 yes
-- 2 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, expiring, 2: release: of another's -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 2: cancel: of another's -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 2: extend -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?), version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ? AND NOT (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, expiring, 2: release -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 2: poll: free -> 2 yes
-- 2 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, expiring, 2: take: free -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 2: cancel -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 2: take: free again -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 2: release: at last -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 2: take: no such row -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 2: insert -> 2 yes
-- 2 times:
execute: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = ?
--
== keys, renewed, 2: take: held by another -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 2: take: held by another, after a poll -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 2: poll: held -> 2 yes
-- 2 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, renewed, 2: release: of another's -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 2: cancel: of another's -> 2 no
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 2: extend -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?), version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ? AND NOT (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, renewed, 2: release -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 2: poll: free -> 2 yes
-- 2 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, renewed, 2: take: free -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 2: cancel -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 2: take: free again -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 2: release: at last -> 2 yes
-- 2 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 64: take: no such row -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 64: insert -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = ?
--
== keys, expiring, 64: take: held by another -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 64: take: held by another, after a poll -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 64: poll: held -> 64 yes
-- 64 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, expiring, 64: release: of another's -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 64: cancel: of another's -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 64: extend -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?), version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ? AND NOT (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, expiring, 64: release -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 64: poll: free -> 64 yes
-- 64 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, expiring, 64: take: free -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 64: cancel -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, expiring, 64: take: free again -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, expiring, 64: release: at last -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 64: take: no such row -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 64: insert -> 64 yes
-- 64 times:
execute: INSERT INTO `team_table` SET lock_key = ?, request_id = CONCAT(?, ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = ?
--
== keys, renewed, 64: take: held by another -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 64: take: held by another, after a poll -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 64: poll: held -> 64 yes
-- 64 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, renewed, 64: release: of another's -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 64: cancel: of another's -> 64 no
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 64: extend -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET timeout = GREATEST(timeout, (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?), version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ? AND NOT (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?))
--
== keys, renewed, 64: release -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 64: poll: free -> 64 yes
-- 64 times:
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
--
== keys, renewed, 64: take: free -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 64: cancel -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== keys, renewed, 64: take: free again -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
--
== keys, renewed, 64: release: at last -> 64 yes
-- 64 times:
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = ?, lock_count = ?, timeout = ?, version = version + ? WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci AND request_id LIKE ?
--
== operators, 1: take -> 1 yes
execute: SET STATEMENT innodb_lock_wait_timeout=? FOR UPDATE `team_table` SET request_id = CONCAT(?, ?, version + ?), lock_count = ?, timeout = (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?) + ? DIV ? + ?, version = LAST_INSERT_ID(ve ... T(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) < (TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)) DIV ?)) (503 bytes, cf843bdbfcd5f306)
== inspect
text: SELECT lock_key, LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECO ... STAMP(6)) DIV 1000)) AND `lock_key`=CONVERT(CONVERT(X'<golden n>' USING utf8mb4) USING latin1) COLLATE latin1_swedish_ci (659 bytes, c932861a575112e7)
== list
text: SELECT lock_key, LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECO ... ) AND `lock_key`>CONVERT(CONVERT(X'' USING utf8mb4) USING latin1) COLLATE latin1_swedish_ci ORDER BY `lock_key` LIMIT 10 (678 bytes, c800c265a56897fb)
== overview
text: SELECT lock_key, LEFT(request_id, 100), (GREATEST(0, LEAST(timeout, <number>)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP '^[0-9a-f]{32}/[0-9a-f]{16}/[0-9]{1,20}$', 0, 1000) + 1) * 1000 - TIMESTAMPDIFF(MICROSECO ... AND `lock_key`>CONVERT(CONVERT(X'' USING utf8mb4) USING latin1) COLLATE latin1_swedish_ci ORDER BY `lock_key` LIMIT 1000 (680 bytes, d9ccad762c296f3d)
== waiters
== revoke
execute: SELECT request_id <> ?, LEFT(request_id, ?), (GREATEST(?, LEAST(timeout, ?)) + IF(CONVERT(request_id USING utf8mb4) COLLATE utf8mb4_bin REGEXP ?, ?, ?) + ?) * ? - TIMESTAMPDIFF(MICROSECOND,?,UTC_TIMESTAMP(?)), version FROM `team_table` WHERE lock_key = CONVERT(? USING latin1) COLLATE latin1_swedish_ci
== clean-up
== examine
text: SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', 'innodb_read_only', 'super_read_only', 'max_connections', 'max_prepared_stmt_count', 'hostname', ' ... 'group_replication_consistency', 'init_connect', 'innodb_deadlock_detect', 'version', 'version_comment', 'wait_timeout') (521 bytes, ff56613a4d04eb23)
text: SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Max_used_connections', 'Prepared_stmt_count', 'Slaves_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_ready', 'Uptime')
text: SHOW SESSION STATUS LIKE 'Ssl_cipher'
text: SELECT @@tx_isolation, @@autocommit
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout
text: SHOW GRANTS
