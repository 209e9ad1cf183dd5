# SPDX-License-Identifier: BSL-1.0
# What is run on SQLite.
set(sqlite
  SOURCES backends/sqlite/fixture.cpp backends/sqlite/rows.cpp
  LIBS dlock_row_actor dlock::sqlite dlock_sql_stores LABELS sqlite)
dlock_add_backend(sqlite ${sqlite} SUITES ${lease_table_verbs} moment sql wake share_wake fifo linger cycle schema ${services} row row_sql row_wake row_cycle)
target_sources(dlock_sqlite_backend PRIVATE backends/sqlite/tables.cpp)
target_compile_definitions(dlock_sqlite_backend PRIVATE "DLOCK_TEST_SQL_FOLDER=\"${PROJECT_SOURCE_DIR}/sql\"")
dlock_add_backend(sqlite_row_keys ${row_verbs} LIBS dlock_row_actor dlock::sqlite dlock_sql_stores LABELS sqlite)
target_sources(dlock_sqlite_row_keys_backend PRIVATE backends/sqlite/rows.cpp)
# Where waiters poll.
dlock_add_backend(sqlite_polled FIXTURE sqlite_file_fixture sqlite/file_fixture.hpp ?wake=off
  LIBS dlock_store_actor dlock::sqlite SUITES store list ${services} LABELS sqlite)
# Files that keep texts in another encoding.
dlock_add_backend(sqlite_utf16le ${sqlite} SUITES ${lease_table_verbs})
target_compile_definitions(dlock_sqlite_utf16le_backend PRIVATE DLOCK_TEST_ENCODING="UTF-16le")
dlock_add_backend(sqlite_utf16be ${sqlite} SUITES row row_sql)
target_compile_definitions(dlock_sqlite_utf16be_backend PRIVATE DLOCK_TEST_ENCODING="UTF-16be")
# Every statement that it sends, beside what is checked in.
dlock_add_golden_test(sqlite LIBS dlock_sqlite_backend SQLite::SQLite3 LABELS contract sqlite)
