# SPDX-License-Identifier: BSL-1.0
# What is run on MySQL and MariaDB.
set(mysql LABELS mysql SERVER mysql MYSQL9)
dlock_add_backend(mysql FIXTURE mysql_store_fixture mysql/fixtures.hpp
  SOURCES backends/mysql/rows.cpp backends/mysql/tables.cpp LIBS dlock_mysql_fixture dlock_row_actor
  SUITES ${lease_table_verbs} moment sql wake share_wake fifo linger cycle schema ${services} row row_sql row_wake row_cycle ${mysql})
dlock_add_backend(mysql_row_keys ${row_verbs} LIBS dlock_mysql_fixture dlock_row_actor ${mysql})
target_sources(dlock_mysql_row_keys_backend PRIVATE backends/mysql/rows.cpp)
# Where no release wakes a waiter.
dlock_add_backend(mysql_polled FIXTURE mysql_store_fixture mysql/fixtures.hpp &wake=off
  LIBS dlock_mysql_fixture dlock_row_actor SUITES store list ${services} ${mysql})
dlock_add_backend(toy_mysql SOURCES backends/toy_mysql/fixture.cpp
  LIBS dlock_mysql_fixture dlock_store_actor SUITES ${no_sessions} ${services} ${mysql})
# On tables that other programs share.
set(schemes LIBS dlock_mysql_fixture dlock_store_actor ${mysql})
set(t_lock_has fence)
foreach(scheme IN LISTS dlock_store_mysql_TABLE_SCHEMES)
  dlock_add_backend(${scheme} FIXTURE ${scheme}_fixture mysql/schemes.hpp ${schemes}
    SUITES store list expiry ${${scheme}_has} ${services})
  # Where a release wakes a waiter.
  dlock_add_backend(${scheme}_woken FIXTURE ${scheme}_fixture mysql/schemes.hpp &wake=on ${schemes} SUITES wake ${services})
endforeach()
# Locks that end with a connection.
dlock_add_backend(named_lock FIXTURE named_lock_fixture mysql/schemes.hpp ${schemes} SUITES store list bound any_key ${services})
dlock_add_backend(for_update FIXTURE for_update_fixture mysql/schemes.hpp ${schemes} SUITES store list bound ${services})
# Every statement that it sends, beside what is checked in.
dlock_add_golden_test(mysql LIBS dlock_mysql_backend LABELS contract mysql SERVER mysql ALONE COST 60 MYSQL9)
