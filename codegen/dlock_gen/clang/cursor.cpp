// SPDX-License-Identifier: BSL-1.0
#include "clang/cursor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlock_gen {

std::string text_of(CXString text) {
  const char* const bytes = clang_getCString(text);
  std::string copy = bytes == nullptr ? "" : bytes;
  clang_disposeString(text);
  return copy;
}

std::string name_of(CXCursor cursor) { return text_of(clang_getCursorSpelling(cursor)); }
std::string usr_of(CXCursor cursor) { return text_of(clang_getCursorUSR(cursor)); }
CXCursorKind kind_of(CXCursor cursor) { return clang_getCursorKind(cursor); }

std::vector<CXCursor> children(CXCursor cursor) {
  std::vector<CXCursor> found;
  clang_visitChildren(
      cursor,
      [](CXCursor child, CXCursor, CXClientData into) {
        static_cast<std::vector<CXCursor>*>(into)->push_back(child);
        return CXChildVisit_Continue;
      },
      &found);
  return found;
}

bool has_child(CXCursor cursor, CXCursorKind kind) {
  const auto all = children(cursor);
  return std::any_of(all.begin(), all.end(), [&](CXCursor each) { return kind_of(each) == kind; });
}

void each_below(CXCursor cursor, const std::function<bool(CXCursor)>& visit) {
  clang_visitChildren(
      cursor,
      [](CXCursor child, CXCursor, CXClientData data) {
        const auto& call = *static_cast<const std::function<bool(CXCursor)>*>(data);
        return call(child) ? CXChildVisit_Recurse : CXChildVisit_Continue;
      },
      const_cast<std::function<bool(CXCursor)>*>(&visit));  // NOLINT: a C interface
}

bool is_class(CXCursor cursor) {
  switch (kind_of(cursor)) {
    case CXCursor_ClassDecl:
    case CXCursor_StructDecl:
    case CXCursor_UnionDecl:
    case CXCursor_ClassTemplate:
    case CXCursor_ClassTemplatePartialSpecialization: return true;
    default: return false;
  }
}

bool is_namespace(CXCursor cursor) { return kind_of(cursor) == CXCursor_Namespace; }

std::vector<CXCursor> overridden_by(CXCursor function) {
  CXCursor* all = nullptr;
  unsigned count = 0;
  clang_getOverriddenCursors(function, &all, &count);
  std::vector<CXCursor> found(all, all + count);
  if (all != nullptr) clang_disposeOverriddenCursors(all);
  for (unsigned at = 0; at < count; ++at) {
    const auto further = overridden_by(found[at]);
    found.insert(found.end(), further.begin(), further.end());
  }
  return found;
}

CXCursor parent_of(CXCursor cursor) {
  auto parent = clang_getCursorSemanticParent(cursor);
  while (clang_Cursor_isNull(parent) == 0 && !is_class(parent) && !is_namespace(parent) &&
         clang_isTranslationUnit(kind_of(parent)) == 0 && clang_isDeclaration(kind_of(parent)) != 0 &&
         kind_of(parent) != CXCursor_EnumDecl) {
    parent = clang_getCursorSemanticParent(parent);
  }
  return parent;
}

std::string qualified_name(CXCursor cursor) {
  auto name = name_of(cursor);
  for (auto at = parent_of(cursor); is_class(at) || is_namespace(at) || kind_of(at) == CXCursor_EnumDecl;
       at = parent_of(at)) {
    if (is_namespace(at) && clang_Cursor_isInlineNamespace(at) != 0) continue;
    if (kind_of(at) == CXCursor_EnumDecl && clang_EnumDecl_isScoped(at) == 0) continue;
    const auto outer = name_of(at);
    if (!outer.empty()) name = outer + "::" + name;
  }
  return name;
}

std::string spelled_fully(CXCursor cursor) { return "::" + qualified_name(cursor); }

CXCursor class_of(CXType type) {
  auto canonical = clang_getCanonicalType(type);
  while (canonical.kind == CXType_LValueReference || canonical.kind == CXType_RValueReference) {
    canonical = clang_getCanonicalType(clang_getPointeeType(canonical));
  }
  const auto found = clang_getTypeDeclaration(canonical);
  return is_class(found) ? found : clang_getNullCursor();
}

CXCursor template_of(CXCursor class_cursor) {
  const auto made_from = clang_getSpecializedCursorTemplate(class_cursor);
  return clang_Cursor_isNull(made_from) != 0 ? class_cursor : made_from;
}

CXCursor members_of(CXCursor class_cursor) {
  const auto definition = clang_getCursorDefinition(class_cursor);
  const auto made_from = clang_getSpecializedCursorTemplate(class_cursor);
  if (clang_Cursor_isNull(made_from) != 0) return definition;
  // A class that is made from a template has the template's location, and libclang shows no members of it.
  const auto pattern = clang_getCursorDefinition(made_from);
  const bool specialized =
      clang_Cursor_isNull(definition) == 0 && clang_Cursor_isNull(pattern) == 0 &&
      clang_equalLocations(clang_getCursorLocation(definition), clang_getCursorLocation(pattern)) == 0;
  return specialized ? definition : pattern;
}

bool is_inside_template(CXCursor class_cursor) {
  for (auto at = class_cursor; is_class(at); at = parent_of(at)) {
    const auto kind = kind_of(at);
    if (kind == CXCursor_ClassTemplate || kind == CXCursor_ClassTemplatePartialSpecialization) return true;
    if (clang_Cursor_isNull(clang_getSpecializedCursorTemplate(at)) == 0) return true;
  }
  return false;
}

std::set<std::string> class_and_bases(CXCursor class_cursor) {
  std::set<std::string> found{usr_of(class_cursor)};
  const auto members = members_of(class_cursor);
  if (clang_Cursor_isNull(members) != 0) return found;
  for (const auto each : children(members)) {
    const auto base =
        kind_of(each) == CXCursor_CXXBaseSpecifier ? class_of(clang_getCursorType(each)) : clang_getNullCursor();
    if (clang_Cursor_isNull(base) == 0) found.merge(class_and_bases(base));
  }
  return found;
}

std::string described(CXCursor function) { return qualified_name(function) + "()"; }

}  // namespace dlock_gen
