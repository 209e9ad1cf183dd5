// SPDX-License-Identifier: BSL-1.0
#include "model/lock_plan.hpp"

#include <fmt/format.h>

namespace dlock_gen {

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
