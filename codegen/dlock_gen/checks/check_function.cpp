// SPDX-License-Identifier: BSL-1.0
#include "checks/check_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "source/diagnostics.hpp"

namespace dlock_gen {

namespace {

/// The place of its annotations, if they are its own.
location place_of(const function_model& function) {
  const bool own = !function.annotations.empty() && !function.home.inherited;
  return own ? function.annotations.front().where : function.where;
}
std::size_t width_of(const function_model& function) {
  const bool own = !function.annotations.empty() && !function.home.inherited;
  return own ? function.annotations.front().width() : function.shape.name.size();
}

/// Why a function of this kind can't be locked; empty if it can.
std::string why_not(const function_model& function) {
  const auto& shape = function.shape;
  const auto& name = shape.name;
  if (function.is_template) {
    return fmt::format(
        "{}() is a template, and dlock-gen needs the types of its parameters: annotate a function for each type "
        "instead",
        name);
  }
  if (function.is_constructor)
    return fmt::format("{}() is a constructor or destructor, which a generated class can't run under a lock", name);
  if (function.is_deleted) return fmt::format("{}() is deleted", name);
  if (function.is_consteval) return fmt::format("{}() is consteval, so it runs only in the compiler", name);
  if (function.is_immediate_object)
    return fmt::format("{}() has an explicit object parameter, which dlock-gen can't pass on", name);
  if (shape.variadic)
    return fmt::format("{}() takes any number of arguments by \"...\", which can't be passed on", name);
  if (shape.name.starts_with("operator") && !function.is_member() && function.is_operator) {
    return fmt::format("{} is an operator outside of a class, for which there is no name of a generated function",
                       name);
  }
  if (function.is_operator &&
      (name == "operator=" || name.starts_with("operator new") || name.starts_with("operator delete")))
    return fmt::format("{}() is called by the compiler itself, on objects without locks", name);
  if (shape.is_volatile) return fmt::format("{}() is volatile, which dlock-gen can't pass on", name);
  if (!function.contradicts.empty()) {
    return fmt::format("{}() has the annotations of {}() and of {}(): write here which keys it takes",
                       function.qualified, function.home.qualified, function.contradicts);
  }
  for (const auto& each : shape.parameters) {
    if (each.named && each.name.starts_with("dlock_"))
      return fmt::format("'{}' is a name of the generated code: give the parameter another one", each.name);
  }
  if (function.is_operator && shape.result.empty())
    return fmt::format("{}() is a conversion, which a program calls without naming it", name);
  if (shape.future) {
    return fmt::format(
        "{}() returns a std::future, so it goes on without the lock after it has returned: return the value, or a "
        "coroutine",
        name);
  }
  if (shape.coroutine == coroutine_kind::foreign) {
    return fmt::format(
        "{}() returns an awaitable that no coroutine can return, so the generated function can't await it under the "
        "lock: return a coroutine",
        name);
  }
  return {};
}

class lock_checker {
 public:
  lock_checker(const function_model& function, const class_model* owner, const std::vector<function_model>& others,
               diagnostics& out)
      : function_(function), shape_(function.shape), lock_(*function.lock), owner_(owner), others_(others), out_(out) {}

  void run() {
    if (owner_ != nullptr) check_member(owner_->form);
    check_exceptions();
    check_skip();
    check_verified();
    if (lock_.busy.action == busy_action::call) check_fallback();
  }

 private:
  void refuse(std::string text) { out_.error(place_of(function_), std::move(text), width_of(function_)); }

  void check_member(class_form form) {
    auto text = form == class_form::proxy ? why_not_by_proxy() : why_not_overridden(form);
    if (text.empty()) text = why_not_declared(form);
    if (!text.empty()) refuse_function(function_, *owner_, text, out_);
  }
  std::string why_not_by_proxy() const {
    if (function_.hidden) {
      return fmt::format("can't be called on a {}, which has another member of that name: rename one of them",
                         owner_->name);
    }
    if (function_.access != visibility::is_public)
      return "is not public, so a proxy can't call it: annotate the public function that does";
    return hands_out();
  }
  std::string hands_out() const {
    if (function_.hands_out == handed_out::nothing) return {};
    if (function_.hands_out == handed_out::unknown)
      return fmt::format("returns {}, which may be the object without its locks: write the type", shape_.result);
    return fmt::format("returns {}, an object whose functions run without their locks: return something else",
                       shape_.result);
  }
  /// In the other forms a caller may know only the class, so each annotated function must be virtual in it.
  std::string why_not_overridden(class_form form) const {
    constexpr const char* bypassed =
        "so a caller that knows only the class would call it without its lock: make it virtual, or write "
        "DLOCK_DEFAULTS(.form = proxy) in the class";
    if (function_.is_static) {
      return "is static in a class with virtual functions, so a caller that knows only the class would call it without "
             "its lock: make it a function outside of the class";
    }
    if (!function_.is_virtual)
      return fmt::format("is not virtual and {} has virtual functions, {}", owner_->name, bypassed);
    if (function_.is_final) {
      return "is final, so the generated class can't override it: remove final, or write "
             "DLOCK_DEFAULTS(.form = proxy) in the class";
    }
    if (function_.hidden) {
      return fmt::format(
          "can't be called by its name, which another class has as well: override it in {}, or write a "
          "using declaration for it there",
          owner_->name);
    }
    if (form == class_form::subclass && function_.access == visibility::is_private)
      return "is private, so a subclass can't call it: make it protected";
    if (form == class_form::subclass) return {};
    if (function_.access != visibility::is_public)
      return "is virtual and not public in an abstract class, so a wrapper can't call it: annotate the class that "
             "implements it";
    return hands_out();
  }
  std::string why_not_declared(class_form form) const {
    if (function_.dependent) {
      return fmt::format(
          "belongs to a template, whose types dlock-gen can't write: override it in {}, which needs no "
          "annotation again",
          owner_->name);
    }
    const auto& access = function_.inaccessible_is;
    if (access == visibility::is_private || (access == visibility::is_protected && form == class_form::proxy)) {
      return fmt::format("names '{}', which the generated class can't use: make it {}", function_.inaccessible,
                         form == class_form::proxy ? "public" : "protected");
    }
    return {};
  }

  void check_exceptions() {
    const auto& given = shape_.exception;
    if (!function_.is_virtual || given.empty() || given == "noexcept(false)") return;
    refuse(fmt::format(
        "{}() is virtual and {}: what overrides it must be so too, but taking a lock can throw (lock_timeout, "
        "store_error): remove {}",
        shape_.name, given, given));
  }

  void check_skip() {
    if (lock_.busy.action != busy_action::skip) return;
    const bool coroutine = shape_.coroutine != coroutine_kind::none;
    const auto given = coroutine ? shape_.awaited : shape_.result_is;
    if (given != result_kind::other) return;
    if (coroutine && shape_.coroutine != coroutine_kind::asio) return;  // the compiler knows the result of awaiting it
    if (!coroutine && !function_.is_virtual) return;
    out_.error(lock_.busy.where,
               fmt::format("{}() returns {}, which has no empty value for a skipped call: return {}, or write "
                           "DLOCK_ON_BUSY(call, ...)",
                           shape_.name, shape_.result,
                           coroutine ? "nothing or a std::optional" : fmt::format("std::optional<{}>", shape_.result)),
               macro_of(annotation_kind::on_busy).size());
    if (lock_.busy.of_class) out_.note(function_.where, "of this function", shape_.name.size());
  }

  void check_verified() {
    if (!lock_.verified || shape_.coroutine == coroutine_kind::none) return;
    refuse(
        fmt::format("{}() is a coroutine, which DLOCK_VERIFIED can't run: a transaction of ODB belongs to one thread",
                    shape_.name));
  }

  // ---- the function that is called instead --------------------------------------------------------------------------

  static std::string last_name(const std::string& name) {
    const auto at = name.rfind("::");
    return at == std::string::npos ? name : name.substr(at + 2);
  }
  bool same_parameters(const function_model& other) const {
    return std::equal(shape_.parameters.begin(), shape_.parameters.end(), other.shape.parameters.begin(),
                      other.shape.parameters.end(),
                      [](const auto& left, const auto& right) { return left.type == right.type; });
  }
  /// Why it can't be called instead; empty: it can.
  std::string misfit(const function_model& other) const {
    if (!same_parameters(other)) return "this one takes other arguments";
    if (other.shape.result_type != shape_.result_type) return fmt::format("this one returns {}", other.shape.result);
    if (shape_.is_const && !other.shape.is_const && !other.is_static) return "this one is not const";
    if (function_.is_static && !other.is_static) return "this one is not static";
    const bool derives = owner_ != nullptr && owner_->form == class_form::subclass;
    if (other.access == visibility::is_private || (!derives && other.access != visibility::is_public)) {
      return "the generated class can't call this one, which is not public";
    }
    if (other.usr == function_.usr) return "this is the function itself";
    if (!other.annotations.empty()) return "this one is annotated, and would run without its own lock";
    return {};
  }
  void check_fallback() {
    std::vector<const function_model*> named;
    std::vector<std::string> names;
    for (const auto& each : others_) {
      names.push_back(each.shape.name);
      if (each.shape.name == last_name(lock_.busy.function)) named.push_back(&each);
    }
    if (std::any_of(named.begin(), named.end(), [&](const auto* each) { return misfit(*each).empty(); })) return;
    const auto width = lock_.busy.function.size();
    if (named.empty()) {
      out_.error(
          lock_.busy.where,
          fmt::format("there is no function '{}'{}", lock_.busy.function, suggestion(lock_.busy.function, names)),
          width);
      return;
    }
    out_.error(
        lock_.busy.where,
        fmt::format("'{}' can't be called instead of {}(): it must be {} {}{}{}", lock_.busy.function, shape_.name,
                    shape_.result, last_name(lock_.busy.function), shape_.parameter_list(false), shape_.qualifiers()),
        width);
    for (const auto* const each : named) out_.note(each->where, misfit(*each), each->shape.name.size());
  }

  const function_model& function_;
  const signature& shape_;
  const lock_plan& lock_;
  const class_model* owner_;
  const std::vector<function_model>& others_;
  diagnostics& out_;
};

}  // namespace

void refuse_function(const function_model& function, const class_model& owner, const std::string& text,
                     diagnostics& out) {
  const bool elsewhere = place_of(function).file != owner.where.file;
  out.error(
      elsewhere ? owner.where : place_of(function),
      fmt::format("{}() {}", function.owner == "::" + owner.qualified ? function.shape.name : function.qualified, text),
      elsewhere ? owner.name.size() : width_of(function));
}

bool check_kind(const function_model& function, diagnostics& out) {
  auto text = why_not(function);
  if (text.empty()) return true;
  out.error(place_of(function), std::move(text), width_of(function));
  return false;
}

void check_lock(const function_model& function, const class_model* owner, const std::vector<function_model>& others,
                diagnostics& out) {
  lock_checker(function, owner, others, out).run();
}

}  // namespace dlock_gen
