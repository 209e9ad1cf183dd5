# SPDX-License-Identifier: BSL-1.0
# Compiles SOURCE with the command in COMMAND_FILE (one word per line): it must fail and print what the file's line "// fails: <regex>"
# says. With DLOCK_SHOULD_COMPILE defined it must build: that is tried first, or without SOURCE for all files that RIGHT names.
# Usage: cmake -D SOURCE=... -D COMMAND_FILE=... -D STATE=... [-D HEADERS=...] -P run.cmake
#        cmake -D RIGHT=... -D COMMAND_FILE=... -D STATE=... -D HEADERS=... -D READS=... -P run.cmake
# Without SOURCE it compiles HEADERS for the others, and the right forms together, each in a namespace. It writes to STATE a hash of the
# compiler and of what they may include, which is what the patterns READS name. A source that passed in the same state is not compiled
# again.

cmake_minimum_required(VERSION 3.25)

file(STRINGS "${COMMAND_FILE}" command)
if(NOT DEFINED SOURCE)
  list(GET command 0 compiler)
  execute_process(COMMAND ${compiler} --version OUTPUT_VARIABLE state)
  file(GLOB_RECURSE inputs LIST_DIRECTORIES false ${READS})
  foreach(input IN LISTS inputs HEADERS COMMAND_FILE CMAKE_CURRENT_LIST_FILE)
    file(SHA256 "${input}" hash)
    string(APPEND state "${hash}")
  endforeach()
  string(SHA256 state "${state}")
  set(before)
  if(EXISTS "${STATE}" AND EXISTS "${HEADERS}.gch")
    file(READ "${STATE}" before)
  endif()
  if(NOT before STREQUAL state)
    set(precompile ${command})
    list(REMOVE_ITEM precompile -fsyntax-only)
    execute_process(COMMAND ${precompile} -x c++-header "${HEADERS}" -o "${HEADERS}.gch" COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE "${STATE}" "${state}")
  endif()
  set(all "#define DLOCK_SHOULD_COMPILE\n")
  foreach(source IN LISTS RIGHT)
    cmake_path(GET source STEM name)
    string(APPEND all "namespace right_${name} {\n#include \"${source}\"\n}\n")
  endforeach()
  file(CONFIGURE OUTPUT "${STATE}.right.cpp" CONTENT "${all}" @ONLY)
  execute_process(COMMAND ${command} -w -include "${HEADERS}" "${STATE}.right.cpp" RESULT_VARIABLE result
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the right forms must compile, but:\n${output}")
  endif()
  return()
endif()
file(READ "${STATE}" state)
file(SHA256 "${SOURCE}" hash)
cmake_path(GET SOURCE STEM name)
set(passed "${STATE}.${name}")
if(EXISTS "${passed}")
  file(READ "${passed}" before)
  if(before STREQUAL "${state}${hash}")
    message(STATUS "passed before with the same sources")
    return()
  endif()
endif()
if(DEFINED HEADERS)
  list(APPEND command -Winvalid-pch -include "${HEADERS}")
endif()
file(STRINGS "${SOURCE}" expected REGEX "^// fails: " LIMIT_COUNT 1)
string(REGEX REPLACE "^// fails: " "" expected "${expected}")
if(expected STREQUAL "")
  message(FATAL_ERROR "${SOURCE}: no line '// fails: <regex>' says how it must fail")
endif()

if(NOT DEFINED HEADERS)
  execute_process(
    COMMAND ${command} -DDLOCK_SHOULD_COMPILE "${SOURCE}"
    RESULT_VARIABLE result
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: the right form must compile, but:\n${output}")
  endif()
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
file(WRITE "${passed}" "${state}${hash}")
