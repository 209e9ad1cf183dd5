# SPDX-License-Identifier: BSL-1.0
# Writes the ALTER TABLE statements that add the lock columns (dlock/odb/lock_columns.hpp) to tables that exist already:
#   cmake -D FROM=<x-mysql.sql of ODB's compiler> -D TO=<file> -D DATABASE=<mysql|sqlite> -P lock_columns.cmake
# ODB writes one column in a line, with its name in quotation marks first. The columns of one member stand together: what
# is before "owner" is "lock_", or what the program called them by column("...").
file(READ "${FROM}" text)
string(REPLACE ";" "\n" text "${text}")  # ends statements, and would end elements of a list
string(REPLACE "[" "" text "${text}")    # would join them
string(REPLACE "\n" ";" lines "${text}")

set(quote "[\"`]")
set(result "")
set(table "")
set(columns "")
set(first "")
set(before "")
foreach(line IN LISTS lines)
  if(line MATCHES "^CREATE TABLE (${quote}.*${quote}) \\($")
    set(table "${CMAKE_MATCH_1}")
    set(columns "")
    set(first "")
  elseif(table AND line MATCHES "^ +(${quote}(.*)(owner|expires_at_us|fence|expire_time)${quote} .*)$")
    set(name "${CMAKE_MATCH_2}")
    set(kind "${CMAKE_MATCH_3}")
    string(REGEX REPLACE "(,|\\))$" "" column "${CMAKE_MATCH_1}")
    if(kind STREQUAL "owner")
      set(first "ADD COLUMN ${column}")
      set(before "${name}")
      set(expires FALSE)
    elseif(first AND name STREQUAL before)
      if(NOT kind STREQUAL "fence")
        list(APPEND columns "${first}")
        set(expires TRUE)
      endif()
      if(expires)  # otherwise these are columns of the application's
        list(APPEND columns "ADD COLUMN ${column}")
      endif()
    endif()
  elseif(line STREQUAL "" AND columns)
    if(DATABASE STREQUAL "sqlite")  # one column at a time
      list(TRANSFORM columns PREPEND "ALTER TABLE ${table} ")
      list(JOIN columns "$<>\n" statements)
      string(REPLACE "$<>" ";" statements "${statements}")
    else()
      list(JOIN columns ",\n  " statements)
      set(statements "ALTER TABLE ${table}\n  ${statements}")
    endif()
    string(APPEND result "\n${statements};\n")
    set(table "")
    set(columns "")
  endif()
endforeach()
file(WRITE "${TO}" "/* Adds the columns of dlock's row locks to tables that exist already. Generated. */\n${result}")
