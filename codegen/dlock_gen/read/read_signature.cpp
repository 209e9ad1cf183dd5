// SPDX-License-Identifier: BSL-1.0
#include "read/read_function.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "clang/cursor.hpp"

namespace dlock_gen {

namespace {

std::string canonical(CXType type) { return text_of(clang_getTypeSpelling(clang_getCanonicalType(type))); }

bool is_reference(CXType type) {
  const auto kind = clang_getCanonicalType(type).kind;
  return kind == CXType_LValueReference || kind == CXType_RValueReference;
}

passing passing_of(CXType type) {
  switch (clang_getCanonicalType(type).kind) {
    case CXType_LValueReference: return passing::lvalue;
    case CXType_RValueReference: return passing::rvalue;
    default: return passing::value;
  }
}

/// A type without the author's words, in a form that a name can follow.
std::string before_name(const std::string& type) {
  return type.find_first_of("([") == std::string::npos ? type : fmt::format("std::type_identity_t<{}>", type);
}

parameter read_parameter(CXCursor cursor, const declared_text& text, std::size_t number) {
  parameter made;
  const auto type = clang_getCursorType(cursor);
  made.name = text.name_of_parameter(cursor, number);
  made.named = !made.name.empty();
  if (!made.named) made.name = unnamed_parameter(number);
  made.type = canonical(type);
  made.how = passing_of(type);
  made.movable =
      made.how == passing::rvalue || (made.how == passing::value && clang_Cursor_isNull(class_of(type)) == 0 &&
                                      clang_isConstQualifiedType(clang_getCanonicalType(type)) == 0);
  const auto written = text.declaration_of(cursor);
  if (written && !name_of(cursor).empty()) {
    made.declaration = *written;
  } else {
    made.declaration = fmt::format("{} {}", before_name(written.value_or(made.type)), made.name);
  }
  made.default_value = text.default_of(cursor);
  return made;
}

bool has_member(CXCursor class_cursor, std::initializer_list<std::string_view> names) {
  const auto members = children(class_cursor);
  return std::any_of(members.begin(), members.end(), [&](CXCursor each) {
    return std::find(names.begin(), names.end(), name_of(each)) != names.end();
  });
}

result_kind kind_of_result(CXType type) {
  const auto bare = clang_getCanonicalType(type);
  if (bare.kind == CXType_Void) return result_kind::nothing;
  if (is_reference(bare)) return result_kind::other;
  const auto found = class_of(bare);
  if (clang_Cursor_isNull(found) != 0) return result_kind::other;
  const auto name = qualified_name(template_of(found));
  return name == "std::optional" || name == "dlock::maybe_bool" ? result_kind::optional : result_kind::other;
}

void read_coroutine(signature& into, CXType result, const std::set<std::string>& coroutines) {
  const auto bare = clang_getCanonicalType(result);
  const auto found = is_reference(bare) ? clang_getNullCursor() : class_of(bare);
  if (clang_Cursor_isNull(found) != 0) return;
  const auto made_from = template_of(found);
  const auto name = qualified_name(made_from);
  into.future = name == "std::future" || name == "std::shared_future";
  const auto has = [&](std::initializer_list<std::string_view> names) {
    return has_member(made_from, names) || has_member(found, names);
  };
  if (name == "boost::asio::awaitable" || name == "asio::awaitable") {
    into.coroutine = coroutine_kind::asio;
  } else if (coroutines.contains(name) || has({"promise_type"})) {
    into.coroutine = coroutine_kind::own;
  } else if (has({"await_ready", "operator co_await"})) {
    into.coroutine = coroutine_kind::foreign;
  }
  if (into.coroutine != coroutine_kind::none && clang_Type_getNumTemplateArguments(bare) > 0) {
    into.awaited = kind_of_result(clang_Type_getTemplateArgumentAsType(bare, 0));
  }
}

std::string exception_of(CXCursor function, const declared_text& text) {
  switch (clang_getCursorExceptionSpecificationType(function)) {
    case CXCursor_ExceptionSpecificationKind_BasicNoexcept:
    case CXCursor_ExceptionSpecificationKind_DynamicNone: return "noexcept";
    case CXCursor_ExceptionSpecificationKind_ComputedNoexcept: return text.exception();
    default: return {};
  }
}

reference object_of(CXCursor function) {
  switch (clang_Type_getCXXRefQualifier(clang_getCursorType(function))) {
    case CXRefQualifier_LValue: return reference::lvalue;
    case CXRefQualifier_RValue: return reference::rvalue;
    case CXRefQualifier_None: break;
  }
  return reference::none;
}

}  // namespace

std::set<std::string> coroutine_templates(const translation_unit& unit) {
  std::set<std::string> found;
  each_below(unit.root(), [&](CXCursor each) {
    if (is_namespace(each)) return name_of(each) == "std" || clang_Cursor_isInlineNamespace(each) != 0;
    if (!is_class(each) || name_of(each) != "coroutine_traits") return false;
    for (const auto part : children(each)) {
      const auto entity = clang_getCursorReferenced(part);
      if (kind_of(part) == CXCursor_TemplateRef && name_of(entity) != "coroutine_traits") {
        found.insert(qualified_name(entity));
      }
    }
    return false;
  });
  return found;
}

signature read_signature(CXCursor function, const declared_text& text, const std::set<std::string>& coroutines) {
  signature made;
  const auto result = clang_getCursorResultType(function);
  made.name = name_of(function);
  made.result_type = canonical(result);
  made.result = text.result().value_or(before_name(made.result_type));
  if (kind_of(function) == CXCursor_ConversionFunction) {
    made.name = "operator " + before_name(made.result_type);
    made.result.clear();
  }
  made.result_is = kind_of_result(result);
  read_coroutine(made, result, coroutines);
  std::size_t number = 0;
  for (int at = 0; at < clang_Cursor_getNumArguments(function); ++at) {
    made.parameters.push_back(
        read_parameter(clang_Cursor_getArgument(function, static_cast<unsigned>(at)), text, ++number));
  }
  made.is_const = clang_CXXMethod_isConst(function) != 0;
  made.is_volatile = text.is_volatile();
  made.object = object_of(function);
  made.exception = exception_of(function, text);
  const auto parts = children(function);
  made.nodiscard = std::any_of(parts.begin(), parts.end(),
                               [](CXCursor each) { return kind_of(each) == CXCursor_WarnUnusedResultAttr; });
  made.variadic = clang_isFunctionTypeVariadic(clang_getCursorType(function)) != 0;
  return made;
}

}  // namespace dlock_gen
