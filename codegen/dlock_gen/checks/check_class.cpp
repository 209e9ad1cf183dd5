// SPDX-License-Identifier: BSL-1.0
#include "checks/check_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace dlock_gen {

namespace {

class form_settler {
 public:
  form_settler(class_model& owner, diagnostics& out) : owner_(owner), out_(out) {}

  void run() {
    if (owner_.form == class_form::subclass) {
      settle_subclass();
    } else if (owner_.is_polymorphic) {
      settle_wrapper();
    }
  }

 private:
  void refuse(std::string text) { out_.error(owner_.where, std::move(text), owner_.name.size()); }
  void refuse(const function_model& function, std::string text) {
    out_.error(function.where, std::move(text), function.shape.name.size());
  }

  void settle_subclass() {
    if (owner_.is_final) refuse(fmt::format("{} is final: .form = subclass is not possible", owner_.name));
    if (owner_.is_abstract) {
      refuse(fmt::format("{} is abstract: .form = subclass needs the class that implements all", owner_.name));
    }
  }

  void settle_wrapper() {
    const bool locks_virtual = std::any_of(owner_.functions.begin(), owner_.functions.end(),
                                           [](const auto& each) { return each.lock && each.is_virtual; });
    owner_.derives = !owner_.is_final && owner_.default_constructible;
    if (!owner_.derives) {
      if (!locks_virtual) return;
      refuse(
          owner_.is_final
              ? fmt::format("{} is final, so no wrapper can override its virtual functions: remove final", owner_.name)
              : fmt::format(
                    "{} has no constructor without arguments that a wrapper could use: add a protected one, or write "
                    "DLOCK_DEFAULTS(.form = subclass)",
                    owner_.name));
      return;
    }
    for (const auto& each : owner_.functions) check_forwarding(each);
  }

  /// In a wrapper, what is not passed on would run on the wrapper's own part of the class.
  void check_forwarding(const function_model& function) {
    if (function.is_constructor || function.is_deleted || function.lock || !function.is_virtual) return;
    const bool is_public = function.access == visibility::is_public;
    if (is_public && function.is_final) {
      refuse(function,
             fmt::format("{}() is final, so a wrapper can't pass it on: write DLOCK_DEFAULTS(.form = subclass)",
                         function.shape.name));
    } else if (is_public && function.shape.variadic) {
      refuse(function,
             fmt::format("{}() takes any number of arguments by \"...\", so a wrapper can't pass it on: write "
                         "DLOCK_DEFAULTS(.form = subclass)",
                         function.shape.name));
    } else if (!is_public && function.is_pure) {
      refuse(function,
             fmt::format("{}() is pure and not public, so a wrapper can't pass it on: write DLOCK_DEFAULTS(.form = "
                         "subclass) in the class that implements it",
                         function.shape.name));
    }
  }

  class_model& owner_;
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
  }
  if (text.empty()) return true;
  out.error(owner.where, std::move(text), std::max<std::size_t>(1, owner.name.size()));
  return false;
}

void settle_form(class_model& owner, const class_plan& plan, diagnostics& out) {
  if (const auto* const name = find_option(plan.options, "name")) owner.generated = name->value.text;
  form_settler(owner, out).run();
}

}  // namespace dlock_gen
