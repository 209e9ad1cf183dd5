# SPDX-License-Identifier: BSL-1.0
# Runs dlock-gen in FOLDER and compares what it prints, or what it writes, with a file that says what is expected:
#   cmake -D GEN=... -D FOLDER=... -D ARGUMENTS=a,b -D FLAGS=a,b -D EXPECTED=file [-D CODE=0] [-D WRITES=file] [-D OUTPUT=file] -P compare.cmake
# CODE: what it must return. WRITES: the file that is compared instead of what is printed. OUTPUT: where the difference goes.
# With DLOCK_GEN_UPDATE=1 in the environment the expected file is written anew.
string(REPLACE "," ";" ARGUMENTS "${ARGUMENTS}")
string(REPLACE "," ";" FLAGS "${FLAGS}")
if(NOT DEFINED CODE)
  set(CODE 0)
endif()
execute_process(COMMAND ${GEN} ${ARGUMENTS} -- ${FLAGS} WORKING_DIRECTORY "${FOLDER}"
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE messages)
if(NOT code EQUAL CODE)
  message(FATAL_ERROR "dlock-gen returned ${code}, not ${CODE}:\n${messages}")
endif()
set(actual "${output}${messages}")
if(DEFINED WRITES)
  file(READ "${WRITES}" actual)
  # Where it was written is another place on each machine.
  string(REPLACE "${WRITES}" "generated" actual "${actual}")
endif()
if("$ENV{DLOCK_GEN_UPDATE}")
  file(WRITE "${EXPECTED}" "${actual}")
  return()
endif()
file(READ "${EXPECTED}" expected)
if(NOT actual STREQUAL expected)
  file(WRITE "${OUTPUT}" "${actual}")
  execute_process(COMMAND diff -u "${EXPECTED}" "${OUTPUT}" OUTPUT_VARIABLE difference)
  message(FATAL_ERROR "not what ${EXPECTED} says:\n${difference}")
endif()
