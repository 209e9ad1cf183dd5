// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/append_part.hpp"
#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/key_composer.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"

namespace DLOCK_EXPORT dlock {

/// Composes a key from a pattern, checked at compile time, and the values it names:
///
///   key<"order:{o.id}:{u.name}", "o", "u">(o, u)  the listed names say which argument is which
///   key<"order:{id}">(o)                          id is a field of the only argument
///   key<"user:{id}">(42)                          id names the argument itself
///   key<"report:daily">()                         no values: the text
///
/// A part in braces is a name, or a path of names separated by dots: an argument's name, then fields of
/// aggregates (structs without private members, bases or constructors). The names of several arguments are listed
/// after the pattern, in the order of the arguments; "_" there skips one. A single argument needs no list: a path then
/// begins in the argument when it is an aggregate that has such fields and is no key_part itself.
///
/// Text outside the braces is taken as it is; "{{" and "}}" stand for single braces. Values are written by
/// append_part (append_part.hpp) and escaped, '%' as "%25" and ':' as "%3A", and two parts must have a ':' in
/// the text between them: so different values never give the same key. Nothing is added: two places that use
/// the same pattern share their locks, and so does the plain text it stands for.
///
/// Compile-time errors are static_asserts that begin with "dlock:".
/// Errors: std::invalid_argument, naming part and pattern, for an empty std::optional, a null const char*, or when an
/// append_part refuses its value; std::bad_alloc.
/// Thread safety: a pure function.
/// Cost: one allocation as a rule, no round trip.
template <detail::fixed_string Pattern, detail::fixed_string... Names, class... Args>
[[nodiscard]] lock_key key(const Args&... args) {
  return detail::key_composer<Pattern, Names...>()(args...);
}

}  // namespace dlock
