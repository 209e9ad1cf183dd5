# SPDX-License-Identifier: BSL-1.0
# Compiles and runs the Java program, runs the other one, and compares what they print:
#   cmake -D JAVAC=... -D JAVA=... -D SOURCE=... -D WORK=... -D PROGRAM=... -P compare.cmake
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
file(GLOB sources "${SOURCE}/*.java")
execute_process(COMMAND ${JAVAC} -parameters -Xlint:all,-auxiliaryclass -Werror -d "${WORK}" ${sources} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${JAVA} -cp "${WORK}" Main OUTPUT_VARIABLE of_java COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE of_cpp COMMAND_ERROR_IS_FATAL ANY)
if(NOT of_java STREQUAL of_cpp OR NOT of_java MATCHES "place holds order:42:ann\n")
  message(FATAL_ERROR "the programs differ. Java:\n${of_java}\nC++:\n${of_cpp}")
endif()
