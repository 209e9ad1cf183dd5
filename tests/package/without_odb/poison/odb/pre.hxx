// SPDX-License-Identifier: BSL-1.0
// Stands before the header of that name, which each header of ODB includes first.
#error "a source of a build without ODB includes a header of ODB"
