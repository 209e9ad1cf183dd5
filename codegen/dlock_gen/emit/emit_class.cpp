// SPDX-License-Identifier: BSL-1.0

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "emit/emit_function.hpp"

namespace dlock_gen {

namespace {

std::string_view key_word_of(visibility access) {
  switch (access) {
    case visibility::is_protected: return "protected";
    case visibility::is_private: return "private";
    case visibility::is_public: break;
  }
  return "public";
}

class class_writer {
 public:
  class_writer(code_writer& to, const class_model& from)
      : to_(to),
        from_(from),
        wraps_(from.form != class_form::subclass),
        derives_(from.form != class_form::proxy),
        original_("::" + from.qualified) {
    around_.locks = "*dlock_locks_";
    around_.object = wraps_ ? "dlock_inner_" : "this";
    around_.class_name = original_;
    around_.wraps = wraps_;
  }

  void write() {
    to_.line(fmt::format("/// {}, whose annotated functions run under their locks.", from_.qualified));
    to_.line(fmt::format("class {}{} {{", from_.generated, derives_ ? fmt::format(" : public {}", original_) : ""));
    to_.line(" public:");
    to_.indent();
    if (wraps_) {
      write_wrapper_constructors();
    } else {
      write_subclass_constructors();
      write_overloads();
    }
    for (const auto& each : from_.functions) write_function(each);
    if (wraps_) write_wrapped();
    go_to(visibility::is_private);
    write_members();
    to_.outdent();
    to_.line("};");
  }

 private:
  void go_to(visibility access) {
    if (access == access_) return;
    access_ = access;
    to_.outdent();
    to_.line();
    to_.line(fmt::format(" {}:", key_word_of(access)));
    to_.indent();
  }

  // ---- constructors -------------------------------------------------------------------------------------------------

  std::string parameters_behind_locks() const { return database_parameters(from_.databases, false); }
  std::string initializers() const {
    std::string all = "dlock_locks_(&dlock_locks)";
    for (const auto& each : from_.databases) {
      all += fmt::format(", {}(&{})", database_member(each), database_parameter(each));
    }
    return all;
  }
  std::string database_arguments() const {
    std::string all;
    for (const auto& each : from_.databases) all += ", " + database_parameter(each);
    return all;
  }

  void write_wrapper_constructors() {
    const auto databases = from_.databases.empty() ? std::string() : ", " + parameters_behind_locks();
    to_.line("/// Passes all calls on to `inner`, which must outlive this, as must the service.");
    write_wrapper_constructor(fmt::format("{}& inner", original_), "inner", databases);
    to_.line("/// The same of an object that this keeps. Throws std::invalid_argument for null.");
    write_wrapper_constructor(fmt::format("std::shared_ptr<{}> inner", original_), "std::move(inner)", databases);
  }
  void write_wrapper_constructor(const std::string& inner, const std::string& argument, const std::string& databases) {
    to_.line(fmt::format("{}({}, ::dlock::lock_service& dlock_locks{})", from_.generated, inner, databases));
    to_.line(fmt::format("    : dlock_inner_(::dlock::detail::wrapped_object({})), {} {{}}", argument, initializers()));
    to_.line(fmt::format("{}{}({}{})", databases.empty() ? "explicit " : "", from_.generated, inner, databases));
    to_.line(fmt::format("    : {}({}, ::dlock::default_service(){}) {{}}", from_.generated, argument,
                         database_arguments()));
  }

  void write_subclass_constructors() {
    to_.line("/// What follows the service goes to the constructor of the class. The service must outlive this.");
    to_.line("template <class... DlockArgs>");
    to_.line(fmt::format("explicit {}(::dlock::lock_service& dlock_locks{}, DlockArgs&&... dlock_args)",
                         from_.generated, from_.databases.empty() ? "" : ", " + parameters_behind_locks()));
    to_.line(fmt::format("    : {}(std::forward<DlockArgs>(dlock_args)...), {} {{}}", original_, initializers()));
  }

  // ---- functions ----------------------------------------------------------------------------------------------------

  /// A function of a subclass hides those of the same name.
  void write_overloads() {
    std::set<std::string> names;
    for (const auto& each : from_.functions) {
      if (each.lock) names.insert(each.shape.name);
    }
    for (const auto& name : names) {
      const auto& all = from_.functions;
      const bool others = std::any_of(all.begin(), all.end(), [&](const auto& each) {
        return each.shape.name == name && !each.lock && !each.hidden;
      });
      if (others) to_.line(fmt::format("using {}::{};", original_, name));
    }
  }

  void write_function(const function_model& function) {
    if (function.lock) {
      write_locked(function);
    } else if (wraps_ && passes_on(from_, function)) {
      write_forwarded(function);
    }
  }

  std::string declaration(const function_model& function, const std::string& result, bool locked) const {
    const auto& shape = function.shape;
    std::string all;
    if (shape.nodiscard) all += "[[nodiscard]] ";
    if (function.is_static && !locked) all += "static ";
    if (function.is_explicit) all += "explicit ";
    if (!result.empty()) all += result + " ";
    all += shape.name + shape.parameter_list(true) + shape.qualifiers();
    if (!shape.exception.empty() && (!locked || function.is_virtual)) all += " " + shape.exception;
    if (function.is_virtual && derives_) all += " override";
    return all;
  }

  void write_locked(const function_model& function) {
    if (function.access == access_) to_.line();
    go_to(function.access);
    to_.line("// " + in_one_line(joined(function.lock->keys, [](const key_plan& each) { return each.shown(); })));
    to_.line(declaration(function, changes_result(function) ? "auto" : function.shape.result, true) + " {");
    to_.indent();
    emit_locked_body(to_, function, around_);
    to_.outdent();
    to_.line("}");
  }

  void write_forwarded(const function_model& function) {
    go_to(visibility::is_public);
    const auto declared = declaration(function, function.shape.result, false);
    if (function.is_deleted) {
      to_.line(declared + " = delete;");
    } else {
      to_.line(fmt::format("{} {{ return {}; }}", declared, call_of(function, function.shape.name, around_)));
    }
  }

  // ---- members ------------------------------------------------------------------------------------------------------

  void write_wrapped() {
    go_to(visibility::is_public);
    to_.line();
    to_.line("/// The object itself: what is called on it is not locked.");
    to_.line(fmt::format("{}& dlock_wrapped() const noexcept {{ return *dlock_inner_; }}", original_));
  }
  void write_members() {
    if (wraps_) to_.line(fmt::format("std::shared_ptr<{}> dlock_inner_;", original_));
    to_.line("::dlock::lock_service* dlock_locks_;");
    for (const auto& each : from_.databases) to_.line(fmt::format("::odb::database* {};", database_member(each)));
  }

  code_writer& to_;
  const class_model& from_;
  bool wraps_;
  bool derives_;
  std::string original_;
  surroundings around_{};
  visibility access_ = visibility::is_public;
};

}  // namespace

void emit_class(code_writer& to, const class_model& from) { class_writer(to, from).write(); }

std::string database_parameters(const std::vector<std::string>& databases, bool comma_behind) {
  auto all = joined(databases, [](const std::string& each) { return "::odb::database& " + database_parameter(each); });
  if (comma_behind && !all.empty()) all += ", ";
  return all;
}

}  // namespace dlock_gen
