// SPDX-License-Identifier: BSL-1.0
// Stands before ODB's header of this name in the include path of each target that links dlock::odb, so that ODB's headers
// compile as C++20 whichever of them comes first: dlock/detail/odb_compat.hpp says what is wrong with it. No include
// guard: ODB's own header has one.
#pragma GCC system_header

#include <odb/version.hxx>

#if LIBODB_VERSION < 2050000 && __cplusplus >= 201703L

#include <cstddef>
#include <new>

#include <odb/details/export.hxx>
#include <odb/details/shared-ptr/counter-type.hxx>

#pragma push_macro("throw")
#undef throw
#define throw(...)
#include_next <odb/details/shared-ptr/base.hxx>
#pragma pop_macro("throw")

#else

#include_next <odb/details/shared-ptr/base.hxx>

#endif
