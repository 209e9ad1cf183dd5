# SPDX-License-Identifier: BSL-1.0
set(sqlite_headers dlock/stores/sqlite.hpp)
set(sqlite_sources
  stores/sqlite/client/caller.cpp
  stores/sqlite/client/connection.cpp
  stores/sqlite/client/settings.cpp
  stores/sqlite/client/errors.cpp
  stores/sqlite/client/file.cpp
  stores/sqlite/client/busy_retry.cpp
  stores/sqlite/client/wake_file.cpp
  stores/sqlite/lease_table/admin.cpp
  stores/sqlite/lease_table/application_database.cpp
  stores/sqlite/lease_table/examine.cpp
  stores/sqlite/lease_table/prepare.cpp
  stores/sqlite/lease_table/row_sql.cpp
  stores/sqlite/lease_table/connection.cpp
  stores/sqlite/lease_table/sleeping_waiters.cpp
  stores/sqlite/lease_table/sql.cpp
  stores/sqlite/lease_table/store.cpp
  stores/sqlite/lease_table/verbs.cpp
)
