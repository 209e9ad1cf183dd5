# SPDX-License-Identifier: BSL-1.0
# Compiles SOURCE twice with the command in COMMAND_FILE (one word per line): with DLOCK_SHOULD_COMPILE defined it must
# build; without, it must fail and print what the file's line "// fails: <regex>" says.
# Usage: cmake -D SOURCE=... -D COMMAND_FILE=... [-D HEADERS=...] -P run.cmake
# Without SOURCE it only compiles HEADERS, for the others.

cmake_minimum_required(VERSION 3.25)

file(STRINGS "${COMMAND_FILE}" command)
if(NOT DEFINED SOURCE)
  list(REMOVE_ITEM command -fsyntax-only)
  execute_process(COMMAND ${command} -x c++-header "${HEADERS}" -o "${HEADERS}.gch" COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()
if(DEFINED HEADERS)
  list(APPEND command -Winvalid-pch -include "${HEADERS}")
endif()
file(STRINGS "${SOURCE}" expected REGEX "^// fails: " LIMIT_COUNT 1)
string(REGEX REPLACE "^// fails: " "" expected "${expected}")
if(expected STREQUAL "")
  message(FATAL_ERROR "${SOURCE}: no line '// fails: <regex>' says how it must fail")
endif()

execute_process(
  COMMAND ${command} -DDLOCK_SHOULD_COMPILE "${SOURCE}"
  RESULT_VARIABLE result
  ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: the right form must compile, but:\n${output}")
endif()

execute_process(
  COMMAND ${command} "${SOURCE}"
  RESULT_VARIABLE result
  ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: the misuse compiles; it must fail with '${expected}'")
endif()
# A compiler breaks long messages at any blank.
string(REGEX REPLACE "[ \r\n]+" " " flat "${output}")
if(NOT flat MATCHES "${expected}")
  message(FATAL_ERROR "${SOURCE}: fails, but not with '${expected}':\n${output}")
endif()
