// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Marks what a shared library of dlock exports. Its build hides every other symbol, so a program can't come to depend
/// on one, and the compiler may inline a call between two functions of dlock.
///
/// A namespace that carries the mark exports the classes that this block of it defines. A function that a source
/// defines carries the mark itself, because clang asks the block around the definition, which has none. So does what
/// stands in a nested namespace, which takes no attribute. It is an attribute of C++11's form, because clang accepts no
/// other one before the name of a namespace.
#if defined(__GNUC__)
#define DLOCK_EXPORT [[gnu::visibility("default")]]
#else
#define DLOCK_EXPORT
#endif
