// SPDX-License-Identifier: BSL-1.0
#include "catalogue/facts.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "catalogue/hand_written.hpp"
#include "checks/check_header.hpp"
#include "clang/cursor.hpp"
#include "read/read_function.hpp"
#include "read/read_header.hpp"

namespace dlock_gen {

listed_place listed_place::of(const location& where) {
  if (where.file == nullptr) return {};
  const auto [line, column] = where.at();
  return {where.file->path(), line, column, std::string(where.file->line(line))};
}

namespace {

std::string busy_text(const busy_plan& busy) {
  switch (busy.action) {
    case busy_action::skip: return "skip";
    case busy_action::call: return "call " + busy.function;
    case busy_action::fail: break;
  }
  return "throw";
}

/// Whether a call waits for a busy key. Assumed if its time is no literal.
bool waits(const lock_plan& lock) {
  const auto* const wait = find_option(lock.options, "wait");
  if (wait == nullptr) return lock.busy.action == busy_action::fail;
  const auto& text = wait->value.text;
  return text != "0s" && text != "0ms" && text != "0min" && text != "0h";
}

listed_lock listed(const function_model& function, bool wrapper) {
  listed_lock made;
  const auto& lock = *function.lock;
  made.function = function.described();
  made.place = listed_place::of(lock.where);
  for (const auto& each : lock.keys) made.keys.push_back({each.shown(), each.domain()});
  for (const auto& each : lock.options) made.options.emplace_back(each.name, each.value.text);
  made.busy = busy_text(lock.busy);
  if (lock.verified) made.verified = lock.verified->path.text();
  made.waits = waits(lock);
  made.wrapper = wrapper;
  return made;
}

bool is_generated(const std::string& file) { return file.ends_with(".locked.hpp"); }

/// Reads bodies. Bodies in a header are read once, with the first source that includes it.
class body_reader {
 public:
  body_reader(const translation_unit& unit, code_facts& into) : unit_(unit), into_(into) {}

  void read() {
    each_below(unit_.root(), [&](CXCursor each) {
      if (unit_.in_system_header(each)) return false;
      if (is_function(each)) {
        note_overridden(each);
        if (clang_isCursorDefinition(each) != 0) read_body(each);
        return false;
      }
      const auto kind = kind_of(each);
      return is_namespace(each) || is_class(each) || kind == CXCursor_LinkageSpec || kind == CXCursor_UnexposedDecl;
    });
  }

 private:
  void note_overridden(CXCursor function) {
    const auto usr = usr_of(function);
    for (const auto each : overridden_by(function)) {
      const auto base = usr_of(each);
      into_.overridden[usr].insert(base);
      into_.overriders[base].insert(usr);
    }
  }

  void read_body(CXCursor function) {
    const auto usr = usr_of(function);
    if (into_.functions.contains(usr) || qualified_name(function).starts_with("dlock::")) return;
    auto& made = into_.functions[usr];
    made.name = described(function);
    made.place = listed_place::of(unit_.where(function));
    made.generated = is_generated(made.place.file);
    read_calls(function, function, made);
  }
  /// `block` is the innermost block or condition around it, at whose end a lease in it is released.
  void read_calls(CXCursor parent, CXCursor block, listed_function& into) {
    for (const auto each : children(parent)) {
      const auto kind = kind_of(each);
      if (kind == CXCursor_CallExpr) read_call(each, block, into);
      const bool ends_leases = kind == CXCursor_CompoundStmt || kind == CXCursor_IfStmt;
      read_calls(each, ends_leases ? each : block, into);
    }
  }

  void read_call(CXCursor call, CXCursor block, listed_function& into) {
    const auto callee = clang_getCursorReferenced(call);
    if (clang_Cursor_isNull(callee) != 0) return;
    if (!into.generated) {
      if (auto lock = read_hand_written(unit_, call, callee)) {
        lock->function = into.name;
        lock->until = listed_place::of(unit_.end_of(runs_a_function(callee) ? call : block));
        into.locks.push_back(std::move(*lock));
        return;
      }
    }
    into.calls.push_back({usr_of(callee), described(callee), listed_place::of(unit_.begin_of(call)),
                          clang_Cursor_isDynamicCall(call) != 0, is_on_own_object(call)});
  }
  static bool is_on_own_object(CXCursor call) {
    const auto parts = children(call);
    if (parts.empty() || kind_of(parts.front()) != CXCursor_MemberRefExpr) return false;
    const auto object = children(parts.front());
    return object.empty() || kind_of(object.front()) == CXCursor_CXXThisExpr;
  }

  const translation_unit& unit_;
  code_facts& into_;
};

}  // namespace

void read_facts(const translation_unit& unit, code_facts& into, diagnostics& out) {
  auto headers = read_all_headers(unit);
  check_header(headers, read_candidates(unit, headers), out);
  headers.each_locked([&](const function_model& each, const class_model* owner) {
    into.annotated.emplace(each.usr, listed(each, owner == nullptr || owner->form != class_form::subclass));
  });
  body_reader(unit, into).read();
}

}  // namespace dlock_gen
