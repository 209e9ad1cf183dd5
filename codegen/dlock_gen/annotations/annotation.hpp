// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/source_file.hpp"

namespace dlock_gen {

enum class annotation_kind { locked, locked_row, on_busy, verified, defaults };

std::string_view macro_of(annotation_kind kind) noexcept;
std::optional<annotation_kind> annotation_of_macro(std::string_view macro) noexcept;

/// A macro of dlock/annotations.hpp as the author wrote it.
struct annotation {
  annotation_kind kind = annotation_kind::locked;
  located_text arguments{};  ///< the text in the parentheses
  location where{};          ///< of the macro's name
  /// The meanings of names in the parentheses at the annotation's place: "patience" is "::shop::patience". Members of
  /// the object have an empty text.
  std::map<std::string, std::string> names{};

  std::size_t width() const noexcept { return macro_of(kind).size(); }
};

}  // namespace dlock_gen
