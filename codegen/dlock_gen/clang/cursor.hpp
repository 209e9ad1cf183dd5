// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/Index.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace dlock_gen {

/// Converts the text, and frees it.
std::string text_of(CXString text);

std::string name_of(CXCursor cursor);
/// Identifies an entity in all translation units; empty for one without a name.
std::string usr_of(CXCursor cursor);
CXCursorKind kind_of(CXCursor cursor);

std::vector<CXCursor> children(CXCursor cursor);
bool has_child(CXCursor cursor, CXCursorKind kind);
/// Visits everything below `cursor`, in the order of the source. `visit` returns whether to go into its argument.
void each_below(CXCursor cursor, const std::function<bool(CXCursor)>& visit);

bool is_class(CXCursor cursor);  ///< class, struct, or one of a template's
bool is_namespace(CXCursor cursor);
/// The functions of base classes that it overrides, and those that they override.
std::vector<CXCursor> overridden_by(CXCursor function);
/// The class, namespace or translation unit that it is a member of; extern "C" does not count.
CXCursor parent_of(CXCursor cursor);

/// "shop::order_service", without namespaces that need no name.
std::string qualified_name(CXCursor cursor);
/// The same for code: "::shop::order_service".
std::string spelled_fully(CXCursor cursor);

/// The class behind a type, with references and typedefs removed; a null cursor for a type that is none.
CXCursor class_of(CXType type);
/// The template that a class was made from, or the class itself.
CXCursor template_of(CXCursor class_cursor);
/// The definition whose children are the members of a class: its own, or if it is made from a template, the template's.
/// A null cursor if there is none.
CXCursor members_of(CXCursor class_cursor);
/// Whether it is a class template, or in one.
bool is_inside_template(CXCursor class_cursor);
/// The USRs of a class and its bases, of those that have definitions.
std::set<std::string> class_and_bases(CXCursor class_cursor);
/// "shop::order_service::place()", for catalogues. Releases of libclang print parameters in different ways.
std::string described(CXCursor function);

}  // namespace dlock_gen
