// SPDX-License-Identifier: BSL-1.0
#include "model/model.hpp"

#include <fmt/format.h>

namespace dlock_gen {

std::string parameter::forwarded() const { return movable ? fmt::format("std::move({})", name) : name; }

std::string signature::qualifiers() const {
  std::string all;
  if (is_const) all += " const";
  if (is_volatile) all += " volatile";
  if (object == reference::lvalue) all += " &";
  if (object == reference::rvalue) all += " &&";
  return all;
}

std::string signature::parameter_list(bool with_defaults) const {
  std::string all = "(";
  for (const auto& each : parameters) {
    if (all.size() > 1) all += ", ";
    all += each.declaration;
    if (with_defaults && !each.default_value.empty()) all += " = " + each.default_value;
  }
  return all + ")";
}

std::string signature::arguments() const {
  std::string all = "(";
  for (const auto& each : parameters) {
    if (all.size() > 1) all += ", ";
    all += each.forwarded();
  }
  return all + ")";
}

std::string signature::described() const {
  std::string all = name + "(";
  for (const auto& each : parameters) {
    if (!all.ends_with("(")) all += ", ";
    all += each.declaration;
  }
  return all + ")" + qualifiers();
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
