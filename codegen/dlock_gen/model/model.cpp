// SPDX-License-Identifier: BSL-1.0
#include "model/model.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlock_gen {

std::string parameter::forwarded() const { return movable ? fmt::format("std::move({})", name) : name; }

std::string unnamed_parameter(std::size_t number) { return fmt::format("dlock_arg{}", number); }

std::string signature::qualifiers() const {
  std::string all;
  if (is_const) all += " const";
  if (is_volatile) all += " volatile";
  if (object == reference::lvalue) all += " &";
  if (object == reference::rvalue) all += " &&";
  return all;
}

std::string signature::parameter_list(bool with_defaults) const {
  const auto text = [&](const parameter& each) {
    return with_defaults && !each.default_value.empty() ? each.declaration + " = " + each.default_value
                                                        : each.declaration;
  };
  return "(" + joined(parameters, text) + ")";
}

std::string signature::arguments() const {
  return "(" + joined(parameters, [](const parameter& each) { return each.forwarded(); }) + ")";
}

std::string signature::described() const { return name + parameter_list(false) + qualifiers(); }

std::string function_model::described() const { return qualified + shape.described().substr(shape.name.size()); }

bool can_pass_on(const class_model& owner, const function_model& function) {
  const auto& shape = function.shape;
  const bool of_the_class =
      shape.name == "operator=" || shape.name.starts_with("operator new") || shape.name.starts_with("operator delete");
  if (of_the_class || function.is_constructor || function.access != visibility::is_public) return false;
  if (function.is_template || function.is_consteval || function.is_immediate_object) return false;
  if (shape.variadic || shape.is_volatile || function.hidden || function.dependent) return false;
  if (owner.form == class_form::wrapper) return function.is_virtual;  // it inherits the others
  return function.hands_out == handed_out::nothing && function.inaccessible.empty();
}

bool passes_on(const class_model& owner, const function_model& function) {
  return can_pass_on(owner, function) &&
         (owner.form == class_form::wrapper ||
          std::all_of(owner.functions.begin(), owner.functions.end(), [&](const function_model& each) {
            return each.shape.name != function.shape.name || each.access != visibility::is_public || each.hidden ||
                   each.lock || can_pass_on(owner, each);
          }));
}

void header_model::each_locked(
    const std::function<void(const function_model& function, const class_model* owner)>& visit) const {
  for (const auto& owner : classes) {
    for (const auto& each : owner.functions) {
      if (each.lock) visit(each, &owner);
    }
  }
  for (const auto& each : functions) {
    if (each.function.lock) visit(each.function, nullptr);
  }
}

namespace {

std::string without_colons(const std::string& name) { return name.starts_with("::") ? name.substr(2) : name; }

}  // namespace

std::string key_plan::domain() const {
  return row ? fmt::format("row of {}", without_colons(row->entity)) : text.domain();
}

std::string key_plan::shown() const {
  return row ? fmt::format("row of {}: {}", without_colons(row->entity), row->id.text()) : text.text;
}

}  // namespace dlock_gen
