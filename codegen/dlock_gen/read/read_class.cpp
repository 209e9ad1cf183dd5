// SPDX-License-Identifier: BSL-1.0

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "clang/cursor.hpp"
#include "read/name_lookup.hpp"
#include "read/read_function.hpp"

namespace dlock_gen {

namespace {

bool is_constructor(CXCursor cursor) {
  return kind_of(cursor) == CXCursor_Constructor || kind_of(cursor) == CXCursor_Destructor;
}

/// Names of bases that a class hides, each with the classes whose members of that name it shows again by `using`.
using hidden_names = std::map<std::string, std::set<std::string>>;

/// A class, or a base of it, as the class sees it.
struct part {
  CXCursor members{};  ///< the definition that they are read from
  std::string usr{};   ///< of the class, because a template's members belong to many classes
  visibility access = visibility::is_public;
  hidden_names hidden{};
  std::map<std::string, visibility> shown{};  ///< by `using`, with its access
  bool twice = false;                         ///< objects have more than one of it
};

/// A class and its bases, each after all that derive from it.
class hierarchy {
 public:
  explicit hierarchy(CXCursor definition) {
    visit({definition, usr_of(definition)}, true);
    std::reverse(order_.begin(), order_.end());
  }

  std::vector<const part*> parts() const {
    std::vector<const part*> all;
    for (const auto& usr : order_) all.push_back(&parts_.at(usr));
    return all;
  }
  const std::string& unreadable() const noexcept { return unreadable_; }

 private:
  void visit(const part& as_seen, bool is_virtual) {
    const auto [known, is_new] = parts_.emplace(as_seen.usr, as_seen);
    if (!is_new) {
      auto& before = known->second;
      before.access = std::min(before.access, as_seen.access);
      before.hidden.merge(hidden_names(as_seen.hidden));
      if (is_virtual) return;
      before.twice = true;
    }
    const auto below = seen_through(as_seen);
    for (const auto each : children(as_seen.members)) {
      if (kind_of(each) == CXCursor_CXXBaseSpecifier) visit_base(each, below);
    }
    if (is_new) order_.push_back(as_seen.usr);
  }

  void visit_base(CXCursor specifier, part below) {
    const auto base = class_of(clang_getCursorType(specifier));
    below.members = clang_Cursor_isNull(base) != 0 ? base : members_of(base);
    below.access = std::max(below.access, visibility_of(specifier));
    if (clang_Cursor_isNull(below.members) != 0) {
      unreadable_ = text_of(clang_getTypeSpelling(clang_getCursorType(specifier)));
      return;
    }
    below.usr = usr_of(base);
    visit(below, clang_isVirtualBase(specifier) != 0);
  }

  /// How the bases of a class are seen.
  static part seen_through(part seen) {
    for (const auto each : children(seen.members)) {
      if (clang_isDeclaration(kind_of(each)) == 0 || is_constructor(each) || name_of(each).empty()) continue;
      std::set<std::string> again;
      if (kind_of(each) == CXCursor_UsingDeclaration) {
        again = classes_of_using(each);
        seen.shown.emplace(name_of(each), visibility_of(each));
      }
      seen.hidden[name_of(each)].merge(again);
    }
    return seen;
  }
  /// The class that a using declaration names, and its bases.
  static std::set<std::string> classes_of_using(CXCursor declaration) {
    auto named = clang_getNullCursor();
    for (const auto each : children(declaration)) {
      if (kind_of(each) == CXCursor_TypeRef) named = clang_getCursorReferenced(each);
    }
    const auto found = clang_Cursor_isNull(named) != 0 ? named : class_of(clang_getCursorType(named));
    return clang_Cursor_isNull(found) != 0 ? std::set<std::string>{} : class_and_bases(found);
  }

  std::map<std::string, part> parts_{};
  std::vector<std::string> order_{};
  std::string unreadable_{};
};

/// Collects the functions of a class and its bases.
class member_collector {
 public:
  member_collector(const translation_unit& unit, CXCursor definition, const std::vector<scope>& target,
                   const std::set<std::string>& coroutines, name_lookup& names)
      : unit_(unit),
        definition_(definition),
        target_(target),
        coroutines_(coroutines),
        names_(names),
        family_(family_of(definition)) {}

  void collect(const part& from) {
    for (const auto each : children(from.members)) {
      if (is_function(each)) add(each, from);
    }
  }
  std::vector<function_model> take() {
    hide_ambiguous();
    return std::move(found_);
  }

 private:
  /// The class, and those bases that have annotated functions.
  std::set<std::string> family_of(CXCursor definition) const {
    std::set<std::string> found{usr_of(definition)};
    add_annotated_bases(definition, found);
    return found;
  }
  bool add_annotated_bases(CXCursor members, std::set<std::string>& found) const {
    bool any = false;
    for (const auto each : children(members)) {
      any = any || (is_function(each) && !unit_.annotations_of(each).empty());
      if (kind_of(each) != CXCursor_CXXBaseSpecifier) continue;
      const auto base = class_of(clang_getCursorType(each));
      const auto base_members = clang_Cursor_isNull(base) != 0 ? base : members_of(base);
      if (clang_Cursor_isNull(base_members) != 0 || !add_annotated_bases(base_members, found)) continue;
      found.insert(usr_of(base));
      any = true;
    }
    return any;
  }

  void add(CXCursor function, const part& from) {
    auto annotations = unit_.annotations_of(function);
    names_.resolve(annotations, from.members, definition_);
    const auto name = key(from.usr, function);
    auto nearer = nearest_.find(name);
    if (nearer == nearest_.end()) nearer = nearest_.find(key({}, function));
    if (nearer == nearest_.end()) {
      auto made = read_function(unit_, function, target_, coroutines_);
      made.access = access_of(made, from);
      made.hidden = is_hidden(made.shape.name, from);
      made.hands_out = handed_out_by(function);
      nearer = nearest_.emplace(name, found_.size()).first;
      found_.push_back(std::move(made));
      cursors_.push_back(function);
    }
    const auto index = nearer->second;
    const auto overridden = keys_overridden_by(function);
    for (const auto& each : overridden) nearest_.emplace(each, index);
    if (annotations.empty()) return;
    inherit(index, function, std::move(annotations), from, name);
    if (sources_[index].contains(name)) sources_[index].insert(overridden.begin(), overridden.end());
  }

  /// Names a function of a class. In a template the function is the same for all classes that are made from it.
  static std::string key(const std::string& class_usr, CXCursor function) {
    const auto made_from = clang_getSpecializedCursorTemplate(function);
    return class_usr + "/" + usr_of(clang_Cursor_isNull(made_from) != 0 ? function : made_from);
  }
  /// For a template that derives from another one, libclang doesn't tell the class, so those functions also have a name
  /// without a class.
  static std::set<std::string> keys_overridden_by(CXCursor function) {
    std::set<std::string> keys;
    for (const auto each : overridden_by(function)) {
      keys.insert(key(usr_of(parent_of(each)), each));
      if (clang_Cursor_isNull(clang_getSpecializedCursorTemplate(each)) == 0) keys.insert(key({}, each));
    }
    return keys;
  }

  static visibility access_of(const function_model& function, const part& from) {
    const auto shown = from.shown.find(function.shape.name);
    return shown != from.shown.end() ? shown->second : std::max(function.access, from.access);
  }
  bool is_hidden(const std::string& name, const part& from) const {
    if (from.twice) return true;
    const auto known = from.hidden.find(name);
    return known != from.hidden.end() && !known->second.contains(from.usr);
  }

  void inherit(std::size_t index, CXCursor from, std::vector<annotation> annotations, const part& in,
               const std::string& name) {
    auto& function = found_[index];
    auto& sources = sources_[index];
    if (!function.annotations.empty()) {
      if (!sources.contains(name)) function.contradicts = qualified_name(from);
      return;
    }
    sources.insert(name);
    function.home.inherited = clang_equalCursors(cursors_[index], from) == 0;
    if (function.home.inherited) rename_parameters(function, cursors_[index], from);
    function.annotations = std::move(annotations);
    function.home.qualified = qualified_name(from);
    function.home.of_class = unit_.annotations_of(in.members);
    names_.resolve(function.home.of_class, in.members, definition_);
  }
  /// Keys and options use the names of the annotated declaration. A template's declaration may have a pack where this
  /// one has parameters.
  void rename_parameters(function_model& function, CXCursor own, CXCursor annotated) {
    if (clang_Cursor_getNumArguments(own) != clang_Cursor_getNumArguments(annotated)) return;
    std::vector<std::string> names(static_cast<std::size_t>(clang_Cursor_getNumArguments(annotated)));
    for (std::size_t at = 0; at < names.size(); ++at) {
      names[at] = name_of(clang_Cursor_getArgument(annotated, static_cast<unsigned>(at)));
    }
    function.shape = read_function(unit_, own, target_, coroutines_, names).shape;
  }

  handed_out handed_out_by(CXCursor function) const {
    return is_constructor(function) ? handed_out::nothing : led_to_by(clang_getCursorResultType(function));
  }
  /// Whether a value of the type is, or leads to, an object of the class, of a class that is derived from it, or of a
  /// base with annotated functions.
  handed_out led_to_by(CXType type) const {
    type = clang_getCanonicalType(type);
    if (type.kind == CXType_Auto) return handed_out::unknown;  // bodies aren't read
    if (const auto pointee = clang_getPointeeType(type); pointee.kind != CXType_Invalid) {
      const auto found = led_to_by(pointee);
      return found == handed_out::copy ? handed_out::object : found;
    }
    for (const auto part : {clang_getArrayElementType(type), clang_getResultType(type)}) {
      if (part.kind != CXType_Invalid) return led_to_by(part);
    }
    const auto of = class_of(type);
    if (clang_Cursor_isNull(of) != 0) return handed_out::nothing;
    if (family_.contains(usr_of(of)) || class_and_bases(of).contains(usr_of(definition_))) return handed_out::copy;
    auto most = handed_out::nothing;
    for (int at = 0; at < clang_Type_getNumTemplateArguments(type); ++at) {
      const auto argument = clang_Type_getTemplateArgumentAsType(type, static_cast<unsigned>(at));
      if (argument.kind != CXType_Invalid) most = std::max(most, led_to_by(argument));
    }
    const auto name = qualified_name(template_of(of));
    const bool refers = name == "std::shared_ptr" || name == "std::weak_ptr" || name == "std::reference_wrapper";
    return refers && most == handed_out::copy ? handed_out::object : most;
  }

  /// Hides a name that two unrelated bases have, because it is ambiguous.
  void hide_ambiguous() {
    std::map<std::string, std::set<std::string>> owners;
    for (const auto& each : found_) {
      if (!each.hidden && !each.is_constructor) owners[each.shape.name].insert(each.owner);
    }
    for (std::size_t at = 0; at < found_.size(); ++at) {
      auto& each = found_[at];
      if (each.hidden || each.is_constructor || owners[each.shape.name].size() == 1) continue;
      each.hidden = !is_shown(each.shape.name);
    }
  }
  bool is_shown(const std::string& name) const {
    const auto own = children(definition_);
    return std::any_of(own.begin(), own.end(), [&](CXCursor each) {
      return kind_of(each) == CXCursor_UsingDeclaration && name_of(each) == name;
    });
  }

  const translation_unit& unit_;
  CXCursor definition_;
  const std::vector<scope>& target_;
  const std::set<std::string>& coroutines_;
  name_lookup& names_;
  std::set<std::string> family_;
  std::vector<function_model> found_{};
  std::vector<CXCursor> cursors_{};                         ///< of the functions that were found
  std::map<std::string, std::size_t> nearest_{};            ///< by key: the index of the nearest one
  std::map<std::size_t, std::set<std::string>> sources_{};  ///< by key: what its annotations stand above, and overrides
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

bool is_usable(CXCursor member) {
  return clang_getCXXAccessSpecifier(member) != CX_CXXPrivate &&
         clang_getCursorAvailability(member) != CXAvailability_NotAvailable;
}

/// Whether a class that derives from it can be made without arguments.
bool is_default_constructible(CXCursor class_members) {
  bool any = false;
  bool written = false;  // such a constructor has a body, which knows how to make the bases
  bool fits = false;
  for (const auto each : children(class_members)) {
    if (kind_of(each) != CXCursor_Constructor) continue;
    any = true;
    if (!is_usable(each) || clang_CXXConstructor_isDefaultConstructor(each) == 0) continue;
    fits = true;
    written = clang_CXXMethod_isDefaulted(each) == 0;
  }
  if (any && !fits) return false;
  if (written) return true;
  const auto all = children(class_members);
  return std::all_of(all.begin(), all.end(), [](CXCursor each) {
    if (kind_of(each) != CXCursor_CXXBaseSpecifier) return true;
    const auto base = class_of(clang_getCursorType(each));
    const auto members = clang_Cursor_isNull(base) != 0 ? base : members_of(base);
    return clang_Cursor_isNull(members) != 0 || is_default_constructible(members);
  });
}
/// Whether a class that derives from it can be made, and ended, at all.
bool is_constructible(CXCursor definition) {
  bool any = false;
  bool fits = false;
  for (const auto each : children(definition)) {
    if (kind_of(each) == CXCursor_Destructor && !is_usable(each)) return false;
    const bool is_template = kind_of(each) == CXCursor_FunctionTemplate && name_of(each) == name_of(definition);
    if (kind_of(each) != CXCursor_Constructor && !is_template) continue;
    any = true;
    fits = fits || is_usable(each);
  }
  return fits || !any;
}

/// A data member of its own, or of a class without a name in it.
std::string data_member_of(CXCursor class_members) {
  for (const auto each : children(class_members)) {
    if (kind_of(each) == CXCursor_FieldDecl) return qualified_name(class_members) + "::" + name_of(each);
    if (is_class(each) && clang_Cursor_isAnonymousRecordDecl(each) != 0) {
      if (auto found = data_member_of(each); !found.empty()) return found;
    }
  }
  return {};
}

}  // namespace

class_model read_class(const translation_unit& unit, CXCursor definition, const std::set<std::string>& coroutines,
                       name_lookup& names) {
  class_model made;
  made.name = name_of(definition);
  made.qualified = qualified_name(definition);
  made.generated = joined_name(definition) + "_locked";
  made.scopes = scopes_of(definition);
  made.where = unit.where(definition);
  made.offset = unit.begin_of(definition).offset;
  made.usr = usr_of(definition);
  made.is_template = is_inside_template(definition);
  made.is_final = has_child(definition, CXCursor_CXXFinalAttr);
  made.is_abstract = clang_CXXRecord_isAbstract(definition) != 0;
  made.is_nameable = is_nameable(definition);
  made.annotations = unit.annotations_of(definition);
  const hierarchy parts(definition);
  member_collector members(unit, definition, made.scopes, coroutines, names);
  for (const auto* const each : parts.parts()) {
    members.collect(*each);
    if (made.state.empty()) made.state = data_member_of(each->members);
  }
  made.functions = members.take();
  made.unreadable = parts.unreadable();
  made.is_polymorphic = std::any_of(made.functions.begin(), made.functions.end(),
                                    [](const auto& each) { return each.is_virtual && !each.is_constructor; });
  made.default_constructible = is_default_constructible(definition);
  made.constructible = is_constructible(definition);
  return made;
}

bool is_annotated(const translation_unit& unit, CXCursor definition) {
  if (!unit.annotations_of(definition).empty()) return true;
  const auto members = children(definition);
  return std::any_of(members.begin(), members.end(),
                     [&](CXCursor each) { return is_function(each) && !unit.annotations_of(each).empty(); });
}

}  // namespace dlock_gen
