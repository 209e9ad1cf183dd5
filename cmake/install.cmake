# SPDX-License-Identifier: BSL-1.0
# Installs the libraries and a package for find_package(dlock [COMPONENTS core asio spdlog prometheus <store> odb odb_<store> gen]).
include(CMakePackageConfigHelpers)

set(dlock_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/dlock")
set(dlock_components "")
# dlock_install(<component> <target>...): each component has an export set of its own, so that a user needs only what that one needs.
# A shared library is a package of its own too; all that only a compiler needs is in one (cmake/packages.cmake).
function(dlock_install component)
  install(TARGETS ${ARGN} EXPORT dlock-${component}-targets
    LIBRARY COMPONENT ${component} NAMELINK_COMPONENT dev ARCHIVE COMPONENT dev FILE_SET HEADERS COMPONENT dev)
  install(EXPORT dlock-${component}-targets NAMESPACE dlock:: DESTINATION ${dlock_config_dir} COMPONENT dev)
endfunction()
foreach(component core asio spdlog prometheus ${dlock_stores} odb odb_sqlite odb_mysql)
  if(TARGET dlock_${component})
    list(APPEND dlock_components ${component})
    set(targets dlock_${component})
    if(component MATCHES "^odb_(.*)$")
      list(APPEND targets dlock_lock_columns_${CMAKE_MATCH_1})
    endif()
    dlock_install(${component} ${targets})
  endif()
endforeach()
# A program, which needs nothing but libclang where it runs.
if(TARGET dlock_gen)
  list(APPEND dlock_components gen)
  install(TARGETS dlock_gen EXPORT dlock-gen-targets RUNTIME COMPONENT gen)
  set(pages ${PROJECT_SOURCE_DIR}/codegen/dlock_gen/pages)
  install(FILES ${pages}/dlock-gen.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT gen)
  install(FILES ${pages}/dlock-gen.bash RENAME dlock-gen COMPONENT gen
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES ${pages}/_dlock-gen DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT gen)
  install(EXPORT dlock-gen-targets NAMESPACE dlock:: DESTINATION ${dlock_config_dir} COMPONENT dev)
endif()
# Static libraries need it at their users' link step; nobody names it. A shared one contains it.
if(TARGET dlock_sql_stores AND NOT BUILD_SHARED_LIBS)
  dlock_install(sql dlock_sql_stores)
endif()
include(pkg_config)

set(dlock_shared OFF)
if(BUILD_SHARED_LIBS)
  set(dlock_shared ON)
endif()
configure_package_config_file(cmake/dlock-config.cmake.in dlock-config.cmake INSTALL_DESTINATION ${dlock_config_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
file(GLOB find_modules CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/Find*.cmake")
list(FILTER find_modules EXCLUDE REGEX "/FindLibClang.cmake$")
write_basic_package_version_file(dlock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/dlock-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/dlock-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/needs.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/stores.cmake"
  "${PROJECT_SOURCE_DIR}/codegen/DlockCodegen.cmake"
  "${PROJECT_SOURCE_DIR}/codegen/DlockGenerate.cmake"
  ${find_modules}
  DESTINATION ${dlock_config_dir} COMPONENT dev)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT dev)
# The pages, beside each other as in the source, so that their links work.
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/README.zh-CN.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT doc)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT doc
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
# For users who create the tables by hand.
file(GLOB schemas CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sql/done-*.sql" "${PROJECT_SOURCE_DIR}/sql/member-*.sql"
  "${PROJECT_SOURCE_DIR}/sql/schema-*.sql")
install(FILES
  "${PROJECT_SOURCE_DIR}/sql/grants.sql"
  ${schemas}
  DESTINATION "${CMAKE_INSTALL_DATADIR}/dlock/sql" COMPONENT tools)
# Dashboard and alerts for dlock::metrics.
install(FILES
  "${PROJECT_SOURCE_DIR}/monitoring/alerts.yml"
  "${PROJECT_SOURCE_DIR}/monitoring/grafana-dashboard.json"
  "${PROJECT_SOURCE_DIR}/monitoring/prometheus.yml"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/dlock/monitoring" COMPONENT tools)
# dlock_odb_generate(), and what it finds beside the header of the class that mapped classes embed.
if(TARGET dlock_odb)
  install(FILES
    "${PROJECT_SOURCE_DIR}/codegen/DlockOdb.cmake"
    "${PROJECT_SOURCE_DIR}/codegen/entity_traits.cmake"
    "${PROJECT_SOURCE_DIR}/codegen/lock_columns.cmake"
    DESTINATION ${dlock_config_dir} COMPONENT dev)
  install(DIRECTORY "${PROJECT_BINARY_DIR}/include/dlock/odb/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/dlock/odb" COMPONENT dev
    FILES_MATCHING PATTERN "*-odb*.hxx" PATTERN "*-odb*.ixx")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/dlock/detail/odb_shim"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/dlock/detail" COMPONENT dev)
endif()
