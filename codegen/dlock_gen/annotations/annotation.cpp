// SPDX-License-Identifier: BSL-1.0
#include "annotations/annotation.hpp"

#include <array>
#include <utility>

namespace dlock_gen {

namespace {

constexpr std::array<std::pair<annotation_kind, std::string_view>, 5> macros{{
    {annotation_kind::locked, "DLOCK_LOCKED"},
    {annotation_kind::locked_row, "DLOCK_LOCKED_ROW"},
    {annotation_kind::on_busy, "DLOCK_ON_BUSY"},
    {annotation_kind::verified, "DLOCK_VERIFIED"},
    {annotation_kind::defaults, "DLOCK_DEFAULTS"},
}};

}  // namespace

std::string_view macro_of(annotation_kind kind) noexcept {
  for (const auto& [each, name] : macros) {
    if (each == kind) return name;
  }
  return {};
}

std::optional<annotation_kind> annotation_of_macro(std::string_view macro) noexcept {
  for (const auto& [kind, name] : macros) {
    if (name == macro) return kind;
  }
  return std::nullopt;
}

}  // namespace dlock_gen
