# SPDX-License-Identifier: BSL-1.0
# Finds the C client of MySQL or MariaDB (libmariadb or libmysqlclient: one API) and defines MySQL::client.
# Set MySQLClient_INCLUDE_DIR and MySQLClient_LIBRARY to choose one of several.
# <mysql/mysql.h>, which ODB's runtime includes, belongs to the client that calls itself mysqlclient: MariaDB's
# development package has a mysqlclient.pc of its own where it stands in for MySQL's. So that name is asked first.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(PC_MYSQLCLIENT QUIET mysqlclient)
  if(NOT PC_MYSQLCLIENT_FOUND)
    pkg_check_modules(PC_MYSQLCLIENT QUIET libmariadb)
  endif()
endif()
find_path(MySQLClient_INCLUDE_DIR mysql.h
  HINTS ${PC_MYSQLCLIENT_INCLUDEDIR} ${PC_MYSQLCLIENT_INCLUDE_DIRS} PATH_SUFFIXES mysql mariadb)
list(FILTER PC_MYSQLCLIENT_LIBRARIES INCLUDE REGEX "^(mariadb|mysqlclient)")
find_library(MySQLClient_LIBRARY NAMES ${PC_MYSQLCLIENT_LIBRARIES} mariadb mysqlclient
  HINTS ${PC_MYSQLCLIENT_LIBDIR} ${PC_MYSQLCLIENT_LIBRARY_DIRS} PATH_SUFFIXES mysql mariadb)
mark_as_advanced(MySQLClient_INCLUDE_DIR MySQLClient_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MySQLClient REQUIRED_VARS MySQLClient_LIBRARY MySQLClient_INCLUDE_DIR)

if(MySQLClient_FOUND AND NOT TARGET MySQL::client)
  add_library(MySQL::client UNKNOWN IMPORTED)
  set_target_properties(MySQL::client PROPERTIES
    IMPORTED_LOCATION "${MySQLClient_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MySQLClient_INCLUDE_DIR}")
endif()
