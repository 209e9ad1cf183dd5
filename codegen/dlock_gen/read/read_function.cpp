// SPDX-License-Identifier: BSL-1.0
#include "read/read_function.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "clang/cursor.hpp"
#include "read/declared_text.hpp"

namespace dlock_gen {

namespace {

bool names_operator(CXCursor function) {
  const auto name = name_of(function);
  constexpr std::string_view word = "operator";
  if (!name.starts_with(word)) return false;
  const char next = name.size() > word.size() ? name[word.size()] : '_';
  return kind_of(function) == CXCursor_ConversionFunction ||
         !(next == '_' || std::isalnum(static_cast<unsigned char>(next)) != 0);
}

}  // namespace

bool is_function(CXCursor cursor) {
  switch (kind_of(cursor)) {
    case CXCursor_FunctionDecl:
    case CXCursor_CXXMethod:
    case CXCursor_ConversionFunction:
    case CXCursor_Constructor:
    case CXCursor_Destructor:
    case CXCursor_FunctionTemplate: return true;
    default: return false;
  }
}

visibility visibility_of(CXCursor member) {
  switch (clang_getCXXAccessSpecifier(member)) {
    case CX_CXXPrivate: return visibility::is_private;
    case CX_CXXProtected: return visibility::is_protected;
    default: return visibility::is_public;
  }
}

std::vector<scope> scopes_of(CXCursor entity) {
  std::vector<scope> found;
  for (auto at = parent_of(entity); is_class(at) || is_namespace(at); at = parent_of(at)) {
    if (is_namespace(at)) found.push_back({name_of(at), clang_Cursor_isInlineNamespace(at) != 0});
  }
  std::reverse(found.begin(), found.end());
  return found;
}

function_model read_function(const translation_unit& unit, CXCursor function, const std::vector<scope>& target,
                             const std::set<std::string>& coroutines, const std::vector<std::string>& names) {
  function_model made;
  const declared_text text(unit, function, scopes_of(function) != target, names);
  const auto kind = kind_of(function);
  made.is_template = kind == CXCursor_FunctionTemplate;
  made.is_constructor = kind == CXCursor_Constructor || kind == CXCursor_Destructor;
  made.shape = read_signature(function, text, coroutines);
  made.usr = usr_of(function);
  made.qualified = qualified_name(function);
  const auto parent = parent_of(function);
  if (is_class(parent)) made.owner = spelled_fully(parent);
  made.where = unit.where(function);
  made.offset = unit.begin_of(function).offset;
  made.access = visibility_of(function);
  made.is_virtual = clang_CXXMethod_isVirtual(function) != 0;
  made.is_pure = clang_CXXMethod_isPureVirtual(function) != 0;
  made.is_static = clang_CXXMethod_isStatic(function) != 0;
  made.is_final = has_child(function, CXCursor_CXXFinalAttr);
  made.is_deleted = clang_getCursorAvailability(function) == CXAvailability_NotAvailable;
  made.is_operator = names_operator(function);
  made.is_explicit = text.has_word("explicit");
  made.is_consteval = text.has_word("consteval");
  made.is_immediate_object = text.has_object_parameter();
  made.dependent = text.is_dependent();
  made.inaccessible = text.inaccessible();
  made.inaccessible_is = text.inaccessible_is();
  return made;
}

}  // namespace dlock_gen
