# SPDX-License-Identifier: BSL-1.0
# Builds and runs one consumer project: cmake -D SOURCE=... -D WORK=... [-D INSTALL_FROM=<build folder of dlock>]
#   -D COMPILER=... -D BUILD_TYPE=... -D DEBUG_FLAGS=... -D WERROR=... [-D COMPONENTS=a,b] [-D URL=...] [-D HIDDEN=a,b] [-D OPTIONS=a,b]
#   [-D FAILS=<regex>] [-D TOOLS=ON] [-D SHARED_FROM=<source folder of dlock>] [-D PKG_CONFIG=<store>] [-D PLAN_ONLY=ON] -P run.cmake
# SHARED_FROM: builds dlock with shared libraries first, and installs those. PKG_CONFIG: the consumer is compiled without CMake, with
# the flags of dlock-<store>.pc.
# HIDDEN: packages that CMake doesn't find, as if nobody had installed them. OPTIONS: more arguments for CMake.
# TOOLS: the command dlock is installed as well.
# FAILS: what CMake must say of it; it is not built then. PLAN_ONLY: each file that its build needs is there or made by a rule, and
# nothing is compiled.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}: ${code}\n${output}")
  endif()
endfunction()

if(DEFINED SHARED_FROM)
  # Shared libraries, their symbols hidden as for users: those that the tests link. scripts/check_layers.sh sees what the others, and the
  # command, need of hidden ones. The folder stays, and the lock lets one test build it.
  cmake_path(GET WORK PARENT_PATH INSTALL_FROM)
  cmake_path(APPEND INSTALL_FROM shared)
  run(${CMAKE_COMMAND} -G Ninja -S ${SHARED_FROM} -B ${INSTALL_FROM} -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_CXX_FLAGS_DEBUG=${DEBUG_FLAGS} -D DLOCK_WERROR=${WERROR} -D BUILD_SHARED_LIBS=ON -D DLOCK_UNITY=ON -D DLOCK_GEN=OFF
    -D DLOCK_MYSQL=OFF -D DLOCK_REDIS=OFF -D DLOCK_ZOOKEEPER=OFF
    -D DLOCK_BUILD_TOOLS=OFF -D DLOCK_BUILD_TESTS=OFF -D DLOCK_BUILD_SAMPLES=OFF -D DLOCK_BUILD_BENCH=OFF)
  run(${CMAKE_COMMAND} --build ${INSTALL_FROM} --parallel 1)
endif()
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
  if(TOOLS)
    run(${WORK}/moved/bin/dlock run demo --url sqlite:${WORK}/tool.db -- true)
  endif()
  if(DEFINED SHARED_FROM)
    file(GLOB archives ${WORK}/moved/lib*/*.a ${WORK}/moved/lib/*/*.a)
    list(FILTER archives EXCLUDE REGEX "/libdlock_lock_columns_[a-z]+\\.a$")
    if(archives)
      message(FATAL_ERROR "a shared build has installed ${archives}")
    endif()
  endif()
  if(DEFINED PKG_CONFIG)
    file(GLOB_RECURSE found ${WORK}/moved/*/dlock-core.pc)
    cmake_path(GET found PARENT_PATH folder)
    cmake_path(GET folder PARENT_PATH libraries)
    set(static "")
    if(NOT DEFINED SHARED_FROM)
      set(static --static)
    endif()
    set(ENV{PKG_CONFIG_PATH} "${folder}")
    execute_process(COMMAND pkg-config --cflags --libs ${static} dlock-${PKG_CONFIG} RESULT_VARIABLE code
      OUTPUT_VARIABLE flags ERROR_VARIABLE output)
    if(NOT code EQUAL 0)
      message(FATAL_ERROR "pkg-config dlock-${PKG_CONFIG}: ${output}")
    endif()
    separate_arguments(flags UNIX_COMMAND "${flags}")
    # Debian's and Ubuntu's compilers say --as-needed by themselves; others don't.
    run(${COMPILER} -std=c++20 ${SOURCE}/../main.cpp ${SOURCE}/../take_lock.cpp -Wl,--as-needed ${flags}
      -Wl,-rpath,${libraries} -o ${WORK}/consumer)
    run(${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/consumer ${URL})
    return()
  endif()
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
if(PLAN_ONLY)
  run(${CMAKE_COMMAND} --build ${WORK}/build -- -n consumer)
  return()
endif()
# Other tests run beside this one.
run(${CMAKE_COMMAND} --build ${WORK}/build --parallel 1)
run(${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/build/consumer ${URL})
