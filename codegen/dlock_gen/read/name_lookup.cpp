// SPDX-License-Identifier: BSL-1.0
#include "read/name_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "clang/cursor.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

bool is_open_enum(CXCursor cursor) {
  return kind_of(cursor) == CXCursor_EnumDecl && clang_EnumDecl_isScoped(cursor) == 0;
}

/// Whether a name with or without "::" after it can mean the entity.
bool fits(CXCursor entity, bool before_scope) {
  const auto kind = kind_of(entity);
  return !before_scope || is_class(entity) || is_namespace(entity) || kind == CXCursor_EnumDecl ||
         kind == CXCursor_TypedefDecl || kind == CXCursor_TypeAliasDecl || kind == CXCursor_NamespaceAlias ||
         kind == CXCursor_TypeAliasTemplateDecl;
}

/// Whether it needs an object.
bool is_of_object(CXCursor entity) {
  if (kind_of(entity) == CXCursor_FieldDecl) return true;
  return kind_of(entity) == CXCursor_CXXMethod && clang_CXXMethod_isStatic(entity) == 0;
}

}  // namespace

void name_lookup::resolve(std::vector<annotation>& annotations, CXCursor members, CXCursor seen_by) {
  for (auto& each : annotations) {
    const auto tokens = split(each.arguments.text);
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      const bool follows = at > 0 && (tokens[at - 1].is("::") || tokens[at - 1].is(".") || tokens[at - 1].is("->"));
      if (tokens[at].kind != token_kind::name || follows) continue;
      const bool before_scope = at + 1 < tokens.size() && tokens[at + 1].is("::");
      const auto entity = find(tokens[at].text, members, before_scope);
      if (clang_Cursor_isNull(entity) != 0) continue;
      auto home = parent_of(entity);
      while (kind_of(home) == CXCursor_EnumDecl) home = parent_of(home);
      auto& meaning = each.names[std::string(tokens[at].text)];
      if (is_of_object(entity)) {
        meaning.clear();
      } else if (is_class(home) && is_inside_template(home)) {
        meaning = fmt::format("{}::{}", spelled_fully(seen_by), tokens[at].text);
      } else {
        meaning = spelled_fully(entity);
      }
    }
  }
}

CXCursor name_lookup::find(std::string_view name, CXCursor scope, bool before_scope) {
  for (auto at = scope; is_class(at) || is_namespace(at); at = parent_of(at)) {
    if (is_class(at)) {
      const auto found = find_in_class(name, at, before_scope);
      if (clang_Cursor_isNull(found) == 0) return found;
      continue;
    }
    const auto [begin, end] = names_in(at).equal_range(name);
    const auto found = std::find_if(begin, end, [&](const auto& each) { return fits(each.second, before_scope); });
    if (found != end) return found->second;
  }
  return clang_getNullCursor();
}

CXCursor name_lookup::find_in_class(std::string_view name, CXCursor members, bool before_scope) {
  const auto all = children(members);
  for (const auto each : all) {
    const auto kind = kind_of(each);
    if (clang_isDeclaration(kind) == 0 || kind == CXCursor_UsingDeclaration || kind == CXCursor_Constructor) continue;
    if (name_of(each) == name && fits(each, before_scope)) return each;
    if (!is_open_enum(each)) continue;
    for (const auto constant : children(each)) {
      if (name_of(constant) == name) return constant;
    }
  }
  for (const auto each : all) {
    if (kind_of(each) != CXCursor_CXXBaseSpecifier) continue;
    const auto base = class_of(clang_getCursorType(each));
    const auto base_members = clang_Cursor_isNull(base) != 0 ? base : members_of(base);
    if (clang_Cursor_isNull(base_members) != 0) continue;
    const auto found = find_in_class(name, base_members, before_scope);
    if (clang_Cursor_isNull(found) == 0) return found;
  }
  return clang_getNullCursor();
}

const name_lookup::name_table& name_lookup::names_in(CXCursor name_space) {
  const auto [known, is_new] = namespaces_.emplace(usr_of(name_space), name_table());
  if (is_new) read_parts(unit_.root(), false, usr_of(name_space), known->second);
  return known->second;
}

/// A namespace may be opened many times. `inside`: `parent` is a part of it.
void name_lookup::read_parts(CXCursor parent, bool inside, const std::string& usr, name_table& into) {
  for (const auto each : children(parent)) {
    const auto kind = kind_of(each);
    if (kind == CXCursor_LinkageSpec || kind == CXCursor_UnexposedDecl) read_parts(each, inside, usr, into);
    if (is_namespace(each) && usr.starts_with(usr_of(each))) read_parts(each, usr_of(each) == usr, usr, into);
    if (!inside || clang_isDeclaration(kind) == 0) continue;
    into.emplace(name_of(each), each);
    if (!is_open_enum(each)) continue;
    for (const auto constant : children(each)) into.emplace(name_of(constant), constant);
  }
}

}  // namespace dlock_gen
