// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "source/diagnostics.hpp"
#include "source/source_file.hpp"

namespace dlock_gen {

/// The value of a string literal, and where each of its bytes is written.
struct literal {
  std::string text{};
  std::vector<location> places{};  ///< one for each byte, and that of the closing quote

  location at(std::size_t offset) const { return places[offset < places.size() ? offset : places.size() - 1]; }
};

/// Reads one or several adjacent literals. Returns nothing, after an error, for anything else.
std::optional<literal> read_literal(const located_text& from, diagnostics& out);

}  // namespace dlock_gen
