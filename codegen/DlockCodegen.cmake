# SPDX-License-Identifier: BSL-1.0
# What dlock_odb_generate() and dlock_generate() have in common.

cmake_policy(VERSION 3.25)  # of these functions, whatever the project around them has

# _dlock_check_call(<function> <target> "<its HEADERS>" "<arguments that it does not know>"): ends the run unless they make sense.
function(_dlock_check_call function target headers unknown)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${function}: '${target}' is no target; it is the first argument, made before")
  endif()
  if(NOT headers OR unknown)
    message(FATAL_ERROR "${function}(${target}): HEADERS <file>... is missing, or unknown: ${unknown}")
  endif()
endfunction()

# _dlock_output_dir(<variable>): its value is the folder of what is generated, unless it is set already.
function(_dlock_output_dir variable)
  if(NOT ${variable})
    set(${variable} "${CMAKE_CURRENT_BINARY_DIR}/generated" PARENT_SCOPE)
  endif()
endfunction()

# _dlock_include_folders(<variable> <target>): those that the target is compiled with, as a generator expression.
# /usr/include must not be named to a compiler: that would change the order in which it searches its own headers.
function(_dlock_include_folders variable target)
  set(${variable} "$<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>" PARENT_SCOPE)
endfunction()

# _dlock_header(<prefix> <header>): sets <prefix>_path, <prefix>_name (without its ending) and <prefix>_folder.
function(_dlock_header prefix header)
  cmake_path(ABSOLUTE_PATH header BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  cmake_path(GET header STEM name)
  cmake_path(GET header PARENT_PATH folder)
  set(${prefix}_path "${header}" PARENT_SCOPE)
  set(${prefix}_name "${name}" PARENT_SCOPE)
  set(${prefix}_folder "${folder}" PARENT_SCOPE)
endfunction()

# _dlock_use_generated(<target> <folder> <header>...): what is generated in the folder is included by its name, and may include the
# headers that it was made from by theirs.
function(_dlock_use_generated target output_dir)
  target_include_directories(${target} SYSTEM PUBLIC "$<BUILD_INTERFACE:${output_dir}>")
  foreach(header IN LISTS ARGN)
    _dlock_header(of "${header}")
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${of_folder}>")
  endforeach()
  target_compile_features(${target} PUBLIC cxx_std_20)
endfunction()
