// SPDX-License-Identifier: BSL-1.0
#include "read/read_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "clang/cursor.hpp"
#include "read/read_function.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

class header_reader {
 public:
  header_reader(const translation_unit& unit, diagnostics& out, bool all_files)
      : unit_(unit), out_(out), all_files_(all_files), coroutines_(coroutine_templates(unit)), names_(unit) {}

  header_model run() {
    made_.path = unit_.main().path();
    read_all(unit_.root());
    if (!all_files_) report_unread();
    return std::move(made_);
  }

 private:
  bool is_wanted(CXCursor cursor) const { return all_files_ ? !unit_.in_system_header(cursor) : unit_.in_main(cursor); }
  void read_all(CXCursor parent) {
    for (const auto each : children(parent)) {
      if (is_wanted(each)) {
        read(each);
      } else if (is_class(each) && clang_isCursorDefinition(each) != 0) {
        find_lock_columns(each);
      } else if (is_namespace(each) && !unit_.in_system_header(each)) {
        read_all(each);
      }
    }
  }
  void read(CXCursor cursor) {
    const auto kind = kind_of(cursor);
    if (is_class(cursor)) {
      read_class_of_author(cursor);
    } else if (is_function(cursor) && is_class(parent_of(cursor))) {
      read_definition_of_member(cursor);
    } else if (is_function(cursor)) {
      read_free_function(cursor);
    } else if (is_namespace(cursor) || kind == CXCursor_LinkageSpec || kind == CXCursor_UnexposedDecl) {
      read_all(cursor);
    } else {
      refuse_other(cursor);
    }
  }

  void read_class_of_author(CXCursor cursor) {
    if (clang_isCursorDefinition(cursor) == 0) {
      refuse(new_annotations(cursor), [&](const annotation& each) {
        return fmt::format("{} stands in a forward declaration of '{}': write it where the class is defined",
                           macro_of(each.kind), name_of(cursor));
      });
      return;
    }
    find_lock_columns(cursor);
    if (is_annotated(unit_, cursor)) {
      made_.classes.push_back(read_class(unit_, cursor, coroutines_, names_));
      note_read(made_.classes.back().annotations);
      for (const auto& each : made_.classes.back().functions) note_read(each.annotations);
    }
    for (const auto each : children(cursor)) {
      if (is_class(each)) {
        read_class_of_author(each);
      } else if (!is_function(each)) {
        refuse_other(each);
      }
    }
  }

  /// The definition of a member below its class has the annotations of the declaration in the class.
  void read_definition_of_member(CXCursor cursor) {
    refuse(new_annotations(cursor), [&](const annotation& each) {
      return fmt::format("{} stands above the definition of {}(): write it above the declaration in the class",
                         macro_of(each.kind), qualified_name(cursor));
    });
  }

  void read_free_function(CXCursor cursor) {
    const bool declared = !declared_.insert(usr_of(cursor)).second;
    const auto before = clang_getCanonicalCursor(cursor);
    const bool annotated = clang_equalCursors(before, cursor) == 0 && !unit_.annotations_of(before).empty();
    const auto added = new_annotations(cursor);
    if (added.empty()) return;
    if (declared || annotated) {
      refuse(added, [&](const annotation& each) {
        return fmt::format("{}() is declared before: write {} above its first declaration", qualified_name(cursor),
                           macro_of(each.kind));
      });
      return;
    }
    note_read(added);
    const auto scopes = scopes_of(cursor);
    made_.functions.push_back({read_function(unit_, cursor, scopes, coroutines_), scopes, {}});
    made_.functions.back().function.annotations = added;
    made_.functions.back().function.home.qualified = qualified_name(cursor);
  }

  /// The annotations that no earlier declaration has. The compiler passes annotations on to later declarations.
  std::vector<annotation> new_annotations(CXCursor cursor) {
    auto& known = known_[usr_of(cursor)];
    const auto add = [&](const std::vector<annotation>& all) {
      for (const auto& each : all) known.insert({each.where.file, each.where.offset});
    };
    const auto first = clang_getCanonicalCursor(cursor);
    if (clang_equalCursors(first, cursor) == 0) add(unit_.annotations_of(first));
    auto all = unit_.annotations_of(cursor);
    std::erase_if(all, [&](const annotation& each) { return known.contains({each.where.file, each.where.offset}); });
    add(all);
    return all;
  }

  /// Refuses annotations of variables, fields, and types without members, which can't run.
  void refuse_other(CXCursor cursor) {
    refuse(unit_.annotations_of(cursor), [&](const annotation& each) {
      return fmt::format("{} stands above {}, which is not a function", macro_of(each.kind), named(cursor));
    });
  }
  template <class Text>
  void refuse(const std::vector<annotation>& all, const Text& text) {
    note_read(all);
    for (const auto& each : all) out_.error(each.where, text(each), each.width());
  }
  static std::string named(CXCursor cursor) {
    const auto name = name_of(cursor);
    return name.empty() ? "a declaration" : fmt::format("'{}'", name);
  }

  void note_read(const std::vector<annotation>& annotations) {
    for (const auto& each : annotations) {
      if (each.where.file == &unit_.main()) read_.insert(each.where.offset);
    }
  }
  /// Reports annotations that the compiler attached to nothing, such as one in the body of a function.
  void report_unread() {
    for (const auto& each : unit_.annotation_macros()) {
      if (read_.contains(each.where.offset)) continue;
      out_.error(
          each.where,
          fmt::format(
              "{} belongs to no function: write it above the declaration of a function, before all its other words",
              macro_of(each.kind)),
          macro_of(each.kind).size());
    }
  }

  void find_lock_columns(CXCursor class_cursor) {
    if (unit_.in_system_header(class_cursor)) return;
    for (const auto each : children(class_cursor)) {
      const auto name = name_of(each);
      if (kind_of(each) != CXCursor_FieldDecl || (name != "lock" && name != "lock_")) continue;
      const auto type = class_of(clang_getCursorType(each));
      if (clang_Cursor_isNull(type) != 0) continue;
      const auto type_name = qualified_name(type);
      if (type_name != "dlock::lock_columns" && type_name != "dlock::expiring_lock_columns") continue;
      made_.lockable.push_back({spelled_fully(class_cursor), unit_.where(class_cursor).file->path()});
    }
  }

  const translation_unit& unit_;
  diagnostics& out_;
  bool all_files_;
  std::set<std::string> coroutines_;
  name_lookup names_;
  std::map<std::string, std::set<std::pair<const source_file*, std::size_t>>> known_{};  ///< by USR: its annotations
  std::set<std::string> declared_{};                                                     ///< free functions, by USR
  std::set<std::size_t> read_{};
  header_model made_{};
};

bool is_class_key(const token& word) { return word.is("class") || word.is("struct") || word.is("union"); }

bool declares_type(const std::vector<token>& all, std::size_t at) {
  if (!is_class_key(all[at]) && !all[at].is("enum")) return false;
  for (; at < all.size() && !all[at].is("("); ++at) {
    if (all[at].is("{") || all[at].is(";") || all[at].is(":")) return true;
    if (all[at].is("alignas") || all[at].is("__attribute__")) at = closing(all, at + 1);
  }
  return false;
}

/// The first word behind the annotations that begin at `offset`, and the word before them.
struct neighbours {
  token before{};
  token behind{};
  bool declares_type = false;  ///< class x {, enum x; not struct x* function()
};
neighbours neighbours_of(const source_file& file, std::size_t offset) {
  neighbours found;
  const auto all = split(file.text());
  auto at = index_at(all, offset);
  if (at > 0) found.before = all[at - 1];
  while (at < all.size()) {
    if (all[at].is("[[")) {
      at = closing(all, at) + 1;
    } else if (annotation_of_macro(all[at].text) && at + 1 < all.size() && all[at + 1].is("(")) {
      at = closing(all, at + 1) + 1;
    } else {
      break;
    }
  }
  if (at == all.size()) return found;
  found.behind = all[at];
  found.declares_type = declares_type(all, at);
  return found;
}

std::string misplaced(const macro_use& macro, const neighbours& words) {
  const auto name = macro_of(macro.kind);
  if (macro.kind == annotation_kind::defaults || is_class_key(words.before)) return {};
  for (const std::string_view word : {"virtual", "static", "inline", "constexpr", "explicit", "extern", "friend"}) {
    if (words.before.is(word))
      return fmt::format("{} stands behind '{}': write it before all other words of the declaration", name, word);
  }
  if (words.behind.is("template")) {
    return fmt::format(
        "{} stands above a template, and dlock-gen needs the types of its parameters: annotate a function for each "
        "type "
        "instead",
        name);
  }
  if (words.declares_type) {
    return fmt::format(
        "{} can't stand above a type: write it above the methods; DLOCK_DEFAULTS gives options to all of them", name);
  }
  return {};
}

}  // namespace

header_model read_header(const translation_unit& unit, diagnostics& out) {
  return header_reader(unit, out, false).run();
}

header_model read_all_headers(const translation_unit& unit) {
  diagnostics ignored;  // dlock-gen reports it when it generates from that header
  return header_reader(unit, ignored, true).run();
}

std::vector<function_model> read_candidates(const translation_unit& unit, const header_model& header) {
  std::set<std::string> names;
  for (const auto& each : header.functions) {
    for (const auto& annotation : each.function.annotations) {
      if (annotation.kind != annotation_kind::on_busy) continue;
      const auto words = split(annotation.arguments.text);
      if (!words.empty()) names.emplace(words.back().text);
    }
  }
  std::vector<function_model> found;
  if (names.empty()) return found;
  const auto coroutines = coroutine_templates(unit);
  each_below(unit.root(), [&](CXCursor each) {
    if (is_namespace(each)) return !unit.in_system_header(each);
    if (kind_of(each) == CXCursor_FunctionDecl && names.contains(name_of(each))) {
      found.push_back(read_function(unit, each, scopes_of(each), coroutines));
      found.back().annotations = unit.annotations_of(each);
    }
    return kind_of(each) == CXCursor_LinkageSpec || kind_of(each) == CXCursor_UnexposedDecl;
  });
  return found;
}

bool report_misplaced_macros(const translation_unit& unit, diagnostics& out) {
  bool any = false;
  for (const auto& each : unit.annotation_macros()) {
    const auto words = neighbours_of(unit.main(), each.where.offset);
    auto text = misplaced(each, words);
    if (each.kind == annotation_kind::defaults && is_class_key(words.behind)) {
      text =
          "DLOCK_DEFAULTS stands between 'class' and the name: class DLOCK_DEFAULTS(.ttl = 30s) order_service { ... };";
    }
    if (text.empty()) continue;
    any = true;
    out.error(each.where, text, macro_of(each.kind).size());
  }
  return any;
}

}  // namespace dlock_gen
