# SPDX-License-Identifier: BSL-1.0
# All stores that have a library of their own. The build, the installed package, pkg-config, the Debian packages, scripts/setup.sh and
# scripts/check_layers.sh read this table; src/stores/<name>/sources.cmake has the sources.

# dlock_store(<name>
#   TITLE <text>                what it locks in
#   SCHEMES <scheme>...         of its URLs
#   TABLE_SCHEMES <scheme>...   its URL's scheme= on a table that other programs share; sql/<scheme>.sql is such a table
#   NEEDS <need>...             what it is built on: "<arguments of find_package>|<what to install>"
#   LINKS <target>...           of these packages
#   PKG_CONFIG <module>...      what a program needs beside its static library, as pkg-config knows it,
#   PKG_LIBS <name>...          or where pkg-config doesn't: a flag, or the variable of CMake that has the library's path
#   DEFINITIONS <name>...       macros for its sources
#   CLIENT_HEADERS <begin>...   how names of headers begin that only this store may include, as an extended regular expression
#   SETUP <package>...          of Debian's, to build and to test it; UBUNTU <package>... instead of them on Ubuntu
#   SQL                         it keeps its locks in tables (src/stores/sql), and sql/ has their schema
#   SERVER                      its tests need a server
#   NO_USER)                    its URLs mostly name no user
# A value may end in " if <option>": only then it counts.
#
# Sets dlock_stores, and dlock_store_<name>_<KEYWORD>. The scripts read one keyword a line.
set(dlock_stores "")
function(dlock_store name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SQL;SERVER;NO_USER" "TITLE"
    "SCHEMES;TABLE_SCHEMES;NEEDS;LINKS;PKG_CONFIG;PKG_LIBS;DEFINITIONS;CLIENT_HEADERS;SETUP;UBUNTU")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_TITLE OR NOT arg_SCHEMES)
    message(FATAL_ERROR "dlock_store(${name}): '${arg_UNPARSED_ARGUMENTS}' is unknown, or TITLE or SCHEMES is missing")
  endif()
  foreach(keyword SQL SERVER NO_USER TITLE SCHEMES TABLE_SCHEMES NEEDS LINKS PKG_CONFIG PKG_LIBS DEFINITIONS)
    set(dlock_store_${name}_${keyword} "${arg_${keyword}}" PARENT_SCOPE)
  endforeach()
  set(dlock_stores ${dlock_stores} ${name} PARENT_SCOPE)
endfunction()

# dlock_store_list(<variable> <store> <keyword>): its values, without those whose option is off.
function(dlock_store_list variable store keyword)
  set(found "")
  foreach(value IN LISTS dlock_store_${store}_${keyword})
    if(value MATCHES "^(.*) if ([A-Z_]+)$")
      if(NOT ${CMAKE_MATCH_2})
        continue()
      endif()
      string(REGEX REPLACE " if [A-Z_]+$" "" value "${value}")
    endif()
    list(APPEND found "${value}")
  endforeach()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

dlock_store(sqlite
  TITLE SQLite
  SCHEMES sqlite
  NEEDS "SQLite3 3.35|SQLite 3.35 (Debian: libsqlite3-dev)"
  LINKS SQLite::SQLite3
  PKG_LIBS -lsqlite3
  CLIENT_HEADERS sqlite3
  SETUP libsqlite3-dev
  SQL)
dlock_store(mysql
  TITLE "MySQL and MariaDB"
  SCHEMES mysql mariadb
  TABLE_SCHEMES unique_insert state_row shedlock t_lock
  NEEDS "MySQLClient MODULE|a client of MySQL (Debian: libmariadb-dev)"
  LINKS MySQL::client
  PKG_LIBS MySQLClient_LIBRARY
  CLIENT_HEADERS mysql mariadb errmsg[.]h
  SETUP libmariadb-dev libmariadb-dev-compat mariadb-server-core mariadb-client-core default-jdk-headless libmariadb-java
  UBUNTU libmysqlclient-dev mariadb-server-core mariadb-client-core default-jdk-headless libmariadb-java
  SQL
  SERVER)
dlock_store(redis
  TITLE Redis
  SCHEMES redis rediss redlock
  NEEDS "Hiredis MODULE|hiredis (Debian: libhiredis-dev)"
    "OpenSSL 3.0 COMPONENTS SSL|OpenSSL 3 (Debian: libssl-dev), or DLOCK_REDIS_TLS=OFF if DLOCK_REDIS_TLS"
  LINKS Hiredis::hiredis "OpenSSL::SSL if DLOCK_REDIS_TLS"
  PKG_CONFIG hiredis "libssl if DLOCK_REDIS_TLS"
  DEFINITIONS "DLOCK_REDIS_TLS if DLOCK_REDIS_TLS"
  CLIENT_HEADERS hiredis
  SETUP libhiredis-dev libssl-dev redis-server python3-redis
  SERVER
  NO_USER)
dlock_store(zookeeper
  TITLE ZooKeeper
  SCHEMES zookeeper
  NEEDS "ZooKeeper MODULE|ZooKeeper's C client (Debian: libzookeeper-mt-dev)"
  LINKS ZooKeeper::client
  PKG_LIBS -lzookeeper_mt
  CLIENT_HEADERS zookeeper/
  SETUP libzookeeper-mt-dev libzookeeper-java libcurator-recipes-java python3-kazoo
  SERVER
  NO_USER)
