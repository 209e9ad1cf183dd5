// SPDX-License-Identifier: BSL-1.0

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "clang/cursor.hpp"
#include "read/read_function.hpp"

namespace dlock_gen {

namespace {

/// Walks from the class to its bases.
class member_collector {
 public:
  member_collector(const translation_unit& unit, const std::vector<scope>& target,
                   const std::set<std::string>& coroutines)
      : unit_(unit), target_(target), coroutines_(coroutines) {}

  void collect(CXCursor definition, visibility most) {
    if (!seen_.insert(usr_of(definition)).second) return;
    auto names = names_;  // those that hide what the bases have
    for (const auto each : children(definition)) {
      if (kind_of(each) == CXCursor_UsingDeclaration) shown_.insert(name_of(each));
      if (!is_function(each)) continue;
      if (!is_constructor(each)) names.insert(name_of(each));
      add(each, most);
    }
    std::swap(names_, names);
    for (const auto each : children(definition)) {
      if (kind_of(each) == CXCursor_CXXBaseSpecifier) collect_base(each, most);
    }
    std::swap(names_, names);
  }
  std::vector<function_model> take() { return std::move(found_); }

 private:
  static bool is_constructor(CXCursor cursor) {
    return kind_of(cursor) == CXCursor_Constructor || kind_of(cursor) == CXCursor_Destructor;
  }

  void collect_base(CXCursor specifier, visibility most) {
    const auto base = clang_getCursorDefinition(class_of(clang_getCursorType(specifier)));
    if (clang_Cursor_isNull(base) != 0) return;
    collect(base, std::max(most, visibility_of(specifier)));
  }

  void add(CXCursor function, visibility most) {
    const auto usr = usr_of(function);
    if (const auto nearer = nearest_.find(usr); nearer != nearest_.end()) {
      inherit(nearer->second, function);
    } else {
      auto made = read_function(unit_, function, target_, coroutines_);
      made.access = std::max(made.access, most);
      made.hidden = names_.contains(name_of(function)) && !shown_.contains(name_of(function));
      nearest_[usr] = found_.size();
      found_.push_back(std::move(made));
    }
    for (const auto& each : overridden_by(function)) nearest_.emplace(each, nearest_[usr]);
  }

  void inherit(std::size_t nearer, CXCursor from) {
    if (found_[nearer].annotations.empty()) found_[nearer].annotations = unit_.annotations_of(from);
  }

  const translation_unit& unit_;
  const std::vector<scope>& target_;
  const std::set<std::string>& coroutines_;
  std::vector<function_model> found_{};
  std::map<std::string, std::size_t> nearest_{};  ///< by USR: which of them stands for it
  std::set<std::string> names_{};
  std::set<std::string> shown_{};  ///< by a using declaration
  std::set<std::string> seen_{};
};

/// The classes around it and its own name, joined: "outer_inner".
std::string joined_name(CXCursor definition) {
  auto name = name_of(definition);
  for (auto at = parent_of(definition); is_class(at); at = parent_of(at)) name = name_of(at) + "_" + name;
  return name;
}

bool is_nameable(CXCursor definition) {
  for (auto at = definition; is_class(at); at = parent_of(at)) {
    const auto access = clang_getCXXAccessSpecifier(at);
    if (access == CX_CXXPrivate || access == CX_CXXProtected) return false;
    if (name_of(at).empty() || clang_Cursor_isAnonymous(at) != 0) return false;
  }
  return true;
}

bool inside_template(CXCursor definition) {
  for (auto at = definition; is_class(at); at = parent_of(at)) {
    const auto kind = kind_of(at);
    if (kind == CXCursor_ClassTemplate || kind == CXCursor_ClassTemplatePartialSpecialization) return true;
    if (clang_Cursor_isNull(clang_getSpecializedCursorTemplate(at)) == 0) return true;
  }
  return false;
}

/// Whether a class that derives from it can be made without arguments.
bool is_default_constructible(const std::vector<CXCursor>& members) {
  bool any = false;
  bool fits = false;
  for (const auto each : members) {
    const bool usable = clang_getCXXAccessSpecifier(each) != CX_CXXPrivate &&
                        clang_getCursorAvailability(each) != CXAvailability_NotAvailable;
    if (kind_of(each) == CXCursor_Destructor && !usable) return false;
    if (kind_of(each) != CXCursor_Constructor) continue;
    any = true;
    fits = fits || (usable && clang_CXXConstructor_isDefaultConstructor(each) != 0);
  }
  return fits || !any;
}

}  // namespace

class_model read_class(const translation_unit& unit, CXCursor definition, const std::set<std::string>& coroutines) {
  class_model made;
  made.name = name_of(definition);
  made.qualified = qualified_name(definition);
  made.generated = joined_name(definition) + "_locked";
  made.scopes = scopes_of(definition);
  made.where = unit.where(definition);
  made.offset = unit.begin_of(definition).offset;
  made.usr = usr_of(definition);
  made.is_template = inside_template(definition);
  made.is_final = has_child(definition, CXCursor_CXXFinalAttr);
  made.is_abstract = clang_CXXRecord_isAbstract(definition) != 0;
  made.is_nameable = is_nameable(definition);
  made.annotations = unit.annotations_of(definition);
  member_collector members(unit, made.scopes, coroutines);
  members.collect(definition, visibility::is_public);
  made.functions = members.take();
  made.is_polymorphic = std::any_of(made.functions.begin(), made.functions.end(),
                                    [](const auto& each) { return each.is_virtual && !each.is_constructor; });
  made.default_constructible = is_default_constructible(children(definition));
  return made;
}

bool is_annotated(const translation_unit& unit, CXCursor definition) {
  if (!unit.annotations_of(definition).empty()) return true;
  const auto members = children(definition);
  return std::any_of(members.begin(), members.end(),
                     [&](CXCursor each) { return is_function(each) && !unit.annotations_of(each).empty(); });
}

}  // namespace dlock_gen
