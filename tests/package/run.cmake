# SPDX-License-Identifier: BSL-1.0
# Builds and runs one consumer project: cmake -D SOURCE=... -D WORK=... [-D INSTALL_FROM=<build folder of dlock>]
#   -D COMPILER=... -D BUILD_TYPE=... -D DEBUG_FLAGS=... -D WERROR=... [-D COMPONENTS=a,b] [-D URL=...] [-D HIDDEN=a,b] [-D OPTIONS=a,b]
#   [-D FAILS=<regex>] [-D TOOLS=ON] -P run.cmake
# HIDDEN: packages that CMake doesn't find, as if nobody had installed them. OPTIONS: more arguments for CMake.
# TOOLS: the command dlock is installed as well.
# FAILS: what CMake must say of it; it is not built then.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}: ${code}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(options -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_FLAGS_DEBUG=${DEBUG_FLAGS})
if(DEFINED INSTALL_FROM)
  run(${CMAKE_COMMAND} --install ${INSTALL_FROM} --prefix ${WORK}/prefix)
  foreach(file doc/dlock/LICENSE dlock/sql/grants.sql dlock/sql/schema-mysql.sql dlock/sql/schema-sqlite.sql)
    if(NOT EXISTS "${WORK}/prefix/share/${file}")
      message(FATAL_ERROR "share/${file} was not installed")
    endif()
  endforeach()
  if(TOOLS)
    foreach(file man/man1/dlock.1 bash-completion/completions/dlock zsh/site-functions/_dlock dlock/monitoring/alerts.yml)
      if(NOT EXISTS "${WORK}/prefix/share/${file}")
        message(FATAL_ERROR "share/${file} was not installed")
      endif()
    endforeach()
    run(${WORK}/prefix/bin/dlock --version)
  endif()
  # Installed elsewhere afterwards, as a package is: nothing in it may name where it was made.
  file(RENAME ${WORK}/prefix ${WORK}/moved)
  list(APPEND options -D CMAKE_PREFIX_PATH=${WORK}/moved -D COMPONENTS=${COMPONENTS})
else()
  # Its own build by preset release shows what a source forgets to include.
  list(APPEND options -D DLOCK_WERROR=${WERROR} -D DLOCK_PCH=ON)
endif()
string(REPLACE "," ";" HIDDEN "${HIDDEN}")
string(REPLACE "," ";" OPTIONS "${OPTIONS}")
list(APPEND options ${OPTIONS})
foreach(package IN LISTS HIDDEN)
  list(APPEND options -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
if(DEFINED FAILS)
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/build ${options}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " flat "${output}")
  if(code EQUAL 0 OR NOT flat MATCHES "${FAILS}")
    message(FATAL_ERROR "it was to be refused with '${FAILS}':\n${output}")
  endif()
  return()
endif()
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/build ${options})
# Other tests run beside this one.
run(${CMAKE_COMMAND} --build ${WORK}/build --parallel 1)
run(${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/build/consumer ${URL})
