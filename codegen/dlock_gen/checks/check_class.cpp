// SPDX-License-Identifier: BSL-1.0
#include "checks/check_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace dlock_gen {

namespace {

constexpr std::string_view or_proxy = "or write DLOCK_DEFAULTS(.form = proxy) in the class";

class form_checker {
 public:
  form_checker(const class_model& owner, diagnostics& out) : owner_(owner), out_(out) {}

  void run() {
    if (owner_.form == class_form::wrapper) check_wrapper();
    if (owner_.form == class_form::subclass) check_subclass();
    for (const auto& each : owner_.functions) {
      if (each.is_constructor || each.is_deleted) continue;
      if (owner_.form == class_form::subclass) check_copies(each);
      if (each.lock) check_overloads(each);
    }
  }

 private:
  void refuse(std::string text) { out_.error(owner_.where, std::move(text), owner_.name.size()); }
  void refuse(const function_model& function, const std::string& text) {
    refuse_function(function, owner_, text, out_);
  }

  void check_wrapper() {
    if (!owner_.state.empty()) {
      refuse(
          fmt::format("{} is abstract and has data ({}), so a wrapper would have data of its own beside those of the "
                      "object: move them to the class that implements it, {}",
                      owner_.name, owner_.state, or_proxy));
      return;
    }
    for (const auto& each : owner_.functions) check_forwarding(each);
    if (!owner_.default_constructible) {
      refuse(fmt::format("{} has no constructor without arguments that a wrapper could use: add a protected one, {}",
                         owner_.name, or_proxy));
    }
  }
  void check_subclass() {
    if (owner_.is_final)
      refuse(fmt::format("{} is final, so it can't have a subclass: remove final, {}", owner_.name, or_proxy));
    if (!owner_.constructible) {
      refuse(fmt::format("{} has no constructor and destructor that a subclass can use: make them protected, {}",
                         owner_.name, or_proxy));
    }
  }

  /// A function that a wrapper doesn't pass on would run on the wrapper's own part of the class.
  void check_forwarding(const function_model& function) {
    if (function.is_constructor || function.is_deleted) return;
    if (!function.annotations.empty()) return;  // that is reported elsewhere
    const auto text = why_not_passed_on(function);
    if (!text.empty()) refuse(function, fmt::format("{}, {}", text, or_proxy));
  }
  static std::string why_not_passed_on(const function_model& function) {
    if (!function.is_virtual) {
      if (function.is_static || function.access != visibility::is_public || function.shape.name == "operator=")
        return {};
      return "is not virtual, so a wrapper can't pass it on: make it virtual, or a function outside of the class";
    }
    if (function.access != visibility::is_public)
      return "is virtual and not public, so a wrapper can't pass it on: annotate the class that implements it";
    if (function.shape.name == "operator=")
      return "is a virtual assignment, which a wrapper can't pass on: remove virtual";
    if (function.is_final) return "is final, so a wrapper can't pass it on: remove final";
    if (function.shape.variadic)
      return "takes any number of arguments by \"...\", so a wrapper can't pass it on: remove \"...\"";
    if (function.shape.is_volatile) return "is volatile, so a wrapper can't pass it on: remove volatile";
    if (function.is_consteval) return "is consteval, so a wrapper can't pass it on: remove consteval";
    if (function.hidden)
      return "can't be called by its name, which another class has as well: override it, or write a using declaration "
             "for it";
    if (function.dependent) {
      return "belongs to a template, whose types dlock-gen can't write: override it, with the types of this class";
    }
    if (function.inaccessible_is == visibility::is_private) {
      return fmt::format("names '{}', which is private, so a wrapper can't declare it: make that protected",
                         function.inaccessible);
    }
    if (function.hands_out != handed_out::nothing) {
      return fmt::format("returns {}, an object whose functions would run without their locks: return something else",
                         function.shape.result);
    }
    return {};
  }

  /// A copy of the object is one of the class, not of the subclass.
  void check_copies(const function_model& function) {
    if (function.hands_out != handed_out::copy || function.is_static || function.access != visibility::is_public)
      return;
    refuse(function,
           fmt::format("returns {}, an object whose functions run without their locks: return something else, {}",
                       function.shape.result, or_proxy));
  }

  /// Functions of the generated class hide the class's functions of the same name, or overload them.
  void check_overloads(const function_model& locked) {
    if (owner_.form == class_form::wrapper) return;  // it has them all
    for (const auto& each : owner_.functions) {
      if (each.lock || each.hidden || each.shape.name != locked.shape.name) continue;
      if (owner_.form == class_form::subclass && each.access == visibility::is_private) {
        refuse(locked, "has a private overload, so a subclass can't show the others: rename it");
      } else if (owner_.form == class_form::proxy && each.access == visibility::is_public &&
                 !can_pass_on(owner_, each)) {
        refuse(locked, "has an overload that a proxy can't pass on, so a call of that would take this one: rename it");
      }
    }
  }

  const class_model& owner_;
  diagnostics& out_;
};

}  // namespace

bool check_kind(const class_model& owner, diagnostics& out) {
  std::string text;
  if (owner.is_template) {
    text = fmt::format(
        "{} is a template, and dlock-gen needs the types of its functions: annotate a class that is not a template",
        owner.name);
  } else if (!owner.is_nameable) {
    text = fmt::format("{} has no name outside of its class, so the generated class can't use it",
                       owner.name.empty() ? "this class" : owner.name);
  } else if (!owner.unreadable.empty()) {
    text = fmt::format("dlock-gen can't read the members of {}, a base class of {}: annotate a class without that base",
                       owner.unreadable, owner.name);
  }
  if (text.empty()) return true;
  out.error(owner.where, std::move(text), std::max<std::size_t>(1, owner.name.size()));
  return false;
}

void settle_form(class_model& owner, const class_plan& plan) {
  if (const auto* const name = find_option(plan.options, "name")) owner.generated = name->value.text;
  if (find_option(plan.options, "form") != nullptr || !owner.is_polymorphic) {
    owner.form = class_form::proxy;
  } else {
    owner.form = owner.is_abstract ? class_form::wrapper : class_form::subclass;
  }
}

void check_form(const class_model& owner, diagnostics& out) { form_checker(owner, out).run(); }

}  // namespace dlock_gen
