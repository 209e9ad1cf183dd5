// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Makes the headers of ODB's runtime compile as C++20. Include it before any <odb/...> header and before
/// anything that ODB's compiler generated; it defines nothing itself.
///
/// Runtimes before 2.5 declare their allocation functions with dynamic exception specifications,
/// `throw (std::bad_alloc)`, which C++17 removed. They stand in one header. The specifications are no part
/// of the mangled names, so a program built this way links with the runtime as it is packaged.

#include <odb/version.hxx>

#if LIBODB_VERSION < 2050000

// Everything that the header includes comes first: no other header may see `throw` redefined.
#include <cstddef>
#include <new>

#include <odb/details/export.hxx>
#include <odb/details/shared-ptr/counter-type.hxx>

#pragma push_macro("throw")
#undef throw
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
// A `throw expression;` has no parenthesis right behind the word in that header, so only specifications vanish.
#define throw(...)  // NOLINT(readability-identifier-naming)
#include <odb/details/shared-ptr/base.hxx>
#undef throw
#ifdef __clang__
#pragma clang diagnostic pop
#endif
#pragma pop_macro("throw")

#endif
