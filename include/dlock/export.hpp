// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Marks what a shared library of dlock exports. Its build hides every other symbol, so a program can't come to depend
/// on one, and the compiler may inline a call between two functions of dlock. A namespace, a class or a function may
/// carry the mark: the types and functions that this block of the namespace declares are exported with it.
///
/// It is an attribute of C++11's form, because clang accepts no other one before the name of a namespace.
#if defined(__GNUC__)
#define DLOCK_EXPORT [[gnu::visibility("default")]]
#else
#define DLOCK_EXPORT
#endif
