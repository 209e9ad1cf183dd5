== the store begins, without tables of its own
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
text: SELECT CONNECTION_ID(), CONCAT(@@version, ' ', @@version_comment)
text: SHOW GLOBAL VARIABLES WHERE Variable_name='group_replication_single_primary_mode' AND Value='OFF'
text: SELECT CONNECTION_ID()
text: SELECT GET_LOCK('#probe <random>', 0), GET_LOCK('#probe <random>', 0)
text: SELECT IS_USED_LOCK('#probe <random>')=CONNECTION_ID() AND IS_USED_LOCK('#probe <random>')=CONNECTION_ID()
text: SELECT RELEASE_LOCK('#probe <random>'), RELEASE_LOCK('#probe <random>')
== a connection
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
== session: open
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
prepare: SELECT GET_LOCK(?, 0)
prepare: SELECT RELEASE_LOCK(?)
text: SET SESSION wait_timeout=3600
== session: open, prepared before
text: SET SESSION autocommit=1, transaction_isolation='READ-COMMITTED', transaction_read_only=0, completion_type=NO_CHAIN, innodb_lock_wait_timeout=1, lock_wait_timeout=2, time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTI ... racter_set_connection=utf8mb4, character_set_results=utf8mb4, wait_timeout=28800, max_execution_time=0, @dlock_session=1 (484 bytes, c354143e20dbfbe7)
text: SELECT CONNECTION_ID(), @@server_uuid, UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Uptime'), 'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()
prepare: SELECT GET_LOCK(?, 0)
prepare: SELECT RELEASE_LOCK(?)
text: SET SESSION wait_timeout=3600
== session: renew
text: SELECT @@global.read_only, @@global.innodb_read_only
== session: remove if it has expired
== keys, by session, 1: take: no such row -> 1 yes
execute: SELECT GET_LOCK(?, ?)
== keys, by session, 1: insert -> 1 no
== keys, by session, 1: take: held by another -> 1 no
execute: SELECT GET_LOCK(?, ?)
== keys, by session, 1: take: held by another, after a poll -> 1 no
execute: SELECT GET_LOCK(?, ?)
== keys, by session, 1: poll: held -> 1 yes
text: SELECT IS_USED_LOCK('team_tablegolden <n>')
== keys, by session, 1: release: of another's -> 1 no
== keys, by session, 1: cancel: of another's -> 1 no
== keys, by session, 1: release -> 1 yes
execute: SELECT RELEASE_LOCK(?)
== keys, by session, 1: poll: free -> 1 absent
text: SELECT IS_USED_LOCK('team_tablegolden <n>')
== keys, by session, 1: take: free -> 1 yes
execute: SELECT GET_LOCK(?, ?)
== keys, by session, 1: cancel -> 1 yes
execute: SELECT RELEASE_LOCK(?)
== keys, by session, 1: take: free again -> 1 yes
execute: SELECT GET_LOCK(?, ?)
== keys, by session, 1: release: at last -> 1 yes
execute: SELECT RELEASE_LOCK(?)
== keys, by session, 2: take: no such row -> 2 yes
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0)
== keys, by session, 2: insert -> 2 no
== keys, by session, 2: take: held by another -> 2 no
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0)
== keys, by session, 2: take: held by another, after a poll -> 2 no
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0)
== keys, by session, 2: poll: held -> 2 yes
text: SELECT IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>')
== keys, by session, 2: release: of another's -> 2 no
== keys, by session, 2: cancel: of another's -> 2 no
== keys, by session, 2: release -> 2 yes
text: SELECT RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>')
== keys, by session, 2: poll: free -> 2 absent
text: SELECT IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>')
== keys, by session, 2: take: free -> 2 yes
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0)
== keys, by session, 2: cancel -> 2 yes
text: SELECT RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>')
== keys, by session, 2: take: free again -> 2 yes
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0)
== keys, by session, 2: release: at last -> 2 yes
text: SELECT RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>')
== keys, by session, 64: take: no such row -> 64 yes
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_L ...  <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0) (2379 bytes, abf4076f0b1b058a)
== keys, by session, 64: insert -> 64 no
== keys, by session, 64: take: held by another -> 64 no
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_L ...  <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0) (2379 bytes, abf4076f0b1b058a)
== keys, by session, 64: take: held by another, after a poll -> 64 no
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_L ...  <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0) (2379 bytes, abf4076f0b1b058a)
== keys, by session, 64: poll: held -> 64 yes
text: SELECT IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), ...  <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>') (2443 bytes, 896a793d5c490d77)
== keys, by session, 64: release: of another's -> 64 no
== keys, by session, 64: cancel: of another's -> 64 no
== keys, by session, 64: release -> 64 yes
text: SELECT RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), ...  <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>') (2443 bytes, 8b5b38f80ccf63ab)
== keys, by session, 64: poll: free -> 64 absent
text: SELECT IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), ...  <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>'), IS_USED_LOCK('team_tablegolden <n>') (2443 bytes, 896a793d5c490d77)
== keys, by session, 64: take: free -> 64 yes
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_L ...  <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0) (2379 bytes, abf4076f0b1b058a)
== keys, by session, 64: cancel -> 64 yes
text: SELECT RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), ...  <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>') (2443 bytes, 8b5b38f80ccf63ab)
== keys, by session, 64: take: free again -> 64 yes
text: SELECT GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_L ...  <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0), GET_LOCK('team_tablegolden <n>', 0) (2379 bytes, abf4076f0b1b058a)
== keys, by session, 64: release: at last -> 64 yes
text: SELECT RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), ...  <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>'), RELEASE_LOCK('team_tablegolden <n>') (2443 bytes, 8b5b38f80ccf63ab)
== operators, 1: take -> 1 yes
execute: SELECT GET_LOCK(?, ?)
== inspect
text: SELECT l.id, p.USER, p.HOST FROM (SELECT IS_USED_LOCK('team_tablegolden <n>') AS id) l LEFT JOIN information_schema.PROCESSLIST p ON p.ID=l.id
== list
== overview
== waiters
text: SELECT USER, HOST, TIME FROM information_schema.PROCESSLIST WHERE (LOCATE(CAST('GET_LOCK(' AS BINARY), CAST(INFO AS BINARY)) > 0 AND LOCATE(CAST(_utf8mb4 X'27<team_table in hex><golden n>27' AS BINARY), CAST(INFO AS BINARY)) > 0 OR LOCATE(CAST(_utf8mb4 X'53454C454354204745545F4C4F434B282723<queue>' AS BINARY), CAST(INFO AS BINARY)) > 0) AND ID <> CONNECTION_ID() ORDER BY TIME DESC, ID
== revoke
text: SELECT IS_USED_LOCK('team_tablegolden <n>')
== clean-up
== examine
text: SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', 'innodb_read_only', 'super_read_only', 'max_connections', 'max_prepared_stmt_count', 'hostname', ' ... 'group_replication_consistency', 'init_connect', 'innodb_deadlock_detect', 'version', 'version_comment', 'wait_timeout') (521 bytes, ff56613a4d04eb23)
text: SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Max_used_connections', 'Prepared_stmt_count', 'Slaves_connected', 'wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_ready', 'Uptime')
text: SHOW SESSION STATUS LIKE 'Ssl_cipher'
text: SELECT @@transaction_isolation, @@autocommit
text: SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
text: SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout
text: SHOW GRANTS
== session: close
