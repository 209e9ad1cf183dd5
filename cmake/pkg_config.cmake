# SPDX-License-Identifier: BSL-1.0
# The files for pkg-config: dlock-core.pc, dlock-sqlite.pc, ... A program names its store, `pkg-config --cflags --libs dlock-sqlite`.
# They find the headers and libraries from where they stand themselves, so the installed folder may be moved.

# dlock_pkg_config(<name> DESCRIPTION <text> [LIBS <flag>...] [CFLAGS <flag>...] [REQUIRES <name>...]
#                  [PRIVATE_REQUIRES <name>...] [PRIVATE_LIBS <flag>...])
# What is PRIVATE is for users of static libraries. A shared library names what it needs itself, so its users don't need the files of a
# database's client, and its pkg-config file doesn't ask for them. Only one kind is installed, so one command is right for both:
# static libraries name all they need without --static.
function(dlock_pkg_config name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "LIBS;CFLAGS;REQUIRES;PRIVATE_REQUIRES;PRIVATE_LIBS")
  if(NOT BUILD_SHARED_LIBS)
    list(APPEND arg_REQUIRES ${arg_PRIVATE_REQUIRES})
    list(APPEND arg_LIBS ${arg_PRIVATE_LIBS})
  endif()
  foreach(list LIBS CFLAGS REQUIRES)
    list(JOIN arg_${list} " " ${list})
  endforeach()
  set(folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(prefix "${CMAKE_INSTALL_PREFIX}")
    set(libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
    set(includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
  else()
    file(RELATIVE_PATH up "/prefix/${folder}" /prefix)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(prefix "\${pcfiledir}/${up}")
    set(libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/dlock.pc.in" "${PROJECT_BINARY_DIR}/pkgconfig/dlock-${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/dlock-${name}.pc" DESTINATION "${folder}" COMPONENT dev)
endfunction()

# dlock_store_flags(<variable> <name>): links a store that no source names. The linker keeps the shared library, and takes from a
# static one the function that registers the URL schemes. One word, because pkg-config may sort words and drop repeated ones.
function(dlock_store_flags variable name)
  if(BUILD_SHARED_LIBS)
    set(${variable} "-Wl,--push-state,--no-as-needed,-ldlock_${name},--pop-state" PARENT_SCOPE)
  else()
    set(${variable} "-Wl,-u,dlock_register_${name}" "-ldlock_${name}" PARENT_SCOPE)
  endif()
endfunction()

dlock_pkg_config(core DESCRIPTION "Distributed locks: the part that needs no database"
  LIBS -ldlock_core PRIVATE_LIBS -pthread REQUIRES fmt)
dlock_pkg_config(asio DESCRIPTION "Distributed locks: completion tokens and coroutines of Asio" REQUIRES dlock-core)
if(TARGET dlock_spdlog)
  dlock_pkg_config(spdlog DESCRIPTION "Distributed locks: an observer that logs by spdlog"
    LIBS -ldlock_spdlog REQUIRES dlock-core spdlog)
endif()
if(TARGET dlock_prometheus)
  dlock_pkg_config(prometheus DESCRIPTION "Distributed locks: metrics for prometheus-cpp"
    LIBS -ldlock_prometheus REQUIRES dlock-core prometheus-cpp-core)
endif()
foreach(store IN LISTS dlock_built_stores)
  dlock_store_flags(flags ${store})
  dlock_store_list(modules ${store} PKG_CONFIG)
  dlock_store_list(names ${store} PKG_LIBS)
  set(libraries "")
  if(dlock_store_${store}_SQL)
    list(APPEND libraries -ldlock_sql_stores)
  endif()
  foreach(name IN LISTS names)
    if(NOT name MATCHES "^-l")
      # Which of several clients it is.
      cmake_path(GET ${name} STEM name)
      string(REGEX REPLACE "^lib" "-l" name "${name}")
    endif()
    list(APPEND libraries ${name})
  endforeach()
  dlock_pkg_config(${store} DESCRIPTION "Distributed locks in ${dlock_store_${store}_TITLE}" LIBS ${flags} REQUIRES dlock-core
    PRIVATE_REQUIRES ${modules} PRIVATE_LIBS ${libraries})
endforeach()
if(TARGET dlock_odb)
  dlock_pkg_config(odb DESCRIPTION "Distributed locks in the rows of mapped classes"
    LIBS -ldlock_odb CFLAGS "-I\${includedir}/dlock/detail/odb_shim" REQUIRES dlock-core libodb)
  foreach(database sqlite mysql)
    if(TARGET dlock_odb_${database})
      dlock_store_flags(flags odb_${database})
      dlock_pkg_config(odb-${database} DESCRIPTION "Distributed locks for ODB's transactions and mapped classes in ${database}"
        LIBS ${flags} -ldlock_lock_columns_${database} REQUIRES dlock-odb dlock-${database} libodb-${database})
    endif()
  endforeach()
endif()
