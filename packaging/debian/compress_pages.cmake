# SPDX-License-Identifier: BSL-1.0
# cpack runs this between the installation into its own folder and the making of a package: the policy of Debian wants
# manual pages compressed, without the time and the name in the file, so that a package can be made again bit by bit.
file(GLOB_RECURSE pages "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.[1-9]")
list(FILTER pages INCLUDE REGEX "/man/man[1-9]/")
foreach(page IN LISTS pages)
  execute_process(COMMAND gzip -9nf "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
