# SPDX-License-Identifier: BSL-1.0
# What dlock_odb_generate() and dlock_generate() have in common.

cmake_policy(VERSION 3.25)  # of these functions, whatever the project around them has

# _dlock_check_call(<function> <target> "<its HEADERS>" "<arguments that it does not know>"): ends the run unless they make sense.
function(_dlock_check_call function target headers unknown)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${function}: there is no CMake target '${target}'. The first argument names one that add_executable() or add_library() has made")
  endif()
  if(NOT headers OR unknown)
    message(FATAL_ERROR "${function}(${target}): HEADERS <file>... is missing, or unknown: ${unknown}")
  endif()
endfunction()

# _dlock_output_dir(<variable> <target>): its value is the folder of what is generated for the target, unless it is set already.
function(_dlock_output_dir variable target)
  if(NOT ${variable})
    set(${variable} "${CMAKE_CURRENT_BINARY_DIR}/generated/${target}" PARENT_SCOPE)
  endif()
endfunction()

# _dlock_claim_outputs(<function> <target> <folder> <ending> <header>...): ends the run if another call, or another header of this
# one, makes the same file there.
function(_dlock_claim_outputs function target output_dir ending)
  cmake_path(ABSOLUTE_PATH output_dir BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
  foreach(header IN LISTS ARGN)
    _dlock_header(of "${header}")
    set(output "${output_dir}/${of_name}${ending}")
    get_property(made GLOBAL PROPERTY "DLOCK_MADE_${output}")
    if(made)
      message(FATAL_ERROR "${function}(${target}): ${of_path} and ${made} both make ${output}: give one of the calls another OUTPUT_DIR")
    endif()
    set_property(GLOBAL PROPERTY "DLOCK_MADE_${output}" "${of_path} (for ${target})")
  endforeach()
endfunction()

# _dlock_links(<result> <target> <library>): whether the target links that one, by itself or through others, as far as is known now.
function(_dlock_links result target library)
  set(${result} FALSE PARENT_SCOPE)
  get_target_property(wanted ${library} ALIASED_TARGET)
  if(NOT wanted)
    set(wanted ${library})
  endif()
  set(open ${target})
  set(seen "")
  while(open)
    list(POP_FRONT open each)
    string(REGEX REPLACE "^\\$<(LINK_ONLY|BUILD_INTERFACE):(.*)>$" "\\2" each "${each}")
    if(NOT TARGET "${each}")
      continue()
    endif()
    get_target_property(real ${each} ALIASED_TARGET)
    if(real)
      set(each ${real})
    endif()
    if(each STREQUAL wanted)
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    if(each IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${each})
    get_target_property(type ${each} TYPE)
    get_target_property(imported ${each} IMPORTED)
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      if(property STREQUAL LINK_LIBRARIES AND (imported OR type STREQUAL INTERFACE_LIBRARY))
        continue()
      endif()
      get_target_property(libraries ${each} ${property})
      if(libraries)
        list(APPEND open ${libraries})
      endif()
    endforeach()
  endwhile()
endfunction()

# _dlock_include_folders(<variable> <target>): those that the target is compiled with, as a generator expression.
# /usr/include must not be named to a compiler: that would change the order in which it searches its own headers.
function(_dlock_include_folders variable target)
  set(${variable} "$<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>" PARENT_SCOPE)
endfunction()

# _dlock_header(<prefix> <header>): sets <prefix>_path, <prefix>_name and <prefix>_folder. The name is without the last ending alone:
# what is made of order.service.hpp is called order.service.locked.hpp, and order.service-odb.hxx.
function(_dlock_header prefix header)
  cmake_path(ABSOLUTE_PATH header BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  cmake_path(GET header STEM LAST_ONLY name)
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
